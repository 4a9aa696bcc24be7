"""The paths of the service in words and schemas, for /openapi.json."""

from __future__ import annotations

import json
from typing import Any

from loglin.serve.answers import WAYS
from loglin.serve.worker import EXPLAIN

_SUMMARIES = {
    "tag": "Label the tokens of sentences",
    "classify": "Classify texts or examples",
    "parse": "Parse sentences into trees",
    "next": "The likeliest next words",
    EXPLAIN: "Why a model answers as it does",
}
_KEYS: dict[str, Any] = {
    "text": {"type": "string", "description": "Raw text, split by the tokenizer of the model."},
    "tokens": {
        "type": "array",
        "items": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "object"}]},
        "description": "Tokens: strings, lists of columns, or attributes.",
    },
    "features": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object"}]},
    "candidates": {"type": "object", "description": "Each candidate with its features."},
}
_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_STATUSES = {
    400: "The body is no JSON in UTF-8.",
    401: "The token is missing or wrong.",
    404: "No such model.",
    408: "The body did not come in time.",
    413: "Too many bytes, tokens or items.",
    415: "Another content type than JSON or NDJSON.",
    422: "Something in the body is not as it must be.",
    503: "Too many requests wait.",
}


def quoted(text: str) -> str:
    """A string of JSON."""
    return json.dumps(text, ensure_ascii=False)


def of_verb(verb: str) -> dict[str, Any]:
    """What OpenAPI says of a path; without ``verb`` being read by FastAPI, which would check bodies a second time."""
    ways = [way for way in WAYS if verb in (EXPLAIN, way.verb)]
    options = {
        name: dict(option.schema)
        for way in ways
        for name, option in (way.explaining if verb == EXPLAIN else way.options).items()
    }
    keys = {key: value for key, value in _KEYS.items() if any(key in _keys_of(way) for way in ways)}
    items = {"type": "object", "properties": keys}
    properties = keys | options
    content: dict[str, Any] = {}
    if verb != EXPLAIN:
        properties = properties | {"batch": {"type": "array", "items": items}}
        content["application/x-ndjson"] = {"schema": items}
    content["application/json"] = {"schema": {"type": "object", "properties": properties}}
    answer = {"application/json": {"schema": {"type": "object"}}}
    parameters = [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in ({"model": {"type": "string"}} | options).items()
    ]
    return {
        "summary": _SUMMARIES[verb],
        "openapi_extra": {"parameters": parameters, "requestBody": {"required": True, "content": content}},
        "responses": {200: {"content": answer}}
        | {
            s: {"description": text, "content": {"application/json": {"schema": _ERROR}}}
            for s, text in _STATUSES.items()
        },
    }


def _keys_of(way: Any) -> tuple[str, ...]:
    """Everything that items of a kind of model may be given as; those of classifiers depend on the model."""
    return tuple(getattr(way, "keys", ("text", "features", "candidates")))
