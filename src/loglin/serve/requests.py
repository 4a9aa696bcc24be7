"""What stands in a request: items to answer, each with one key, and what is asked about them.

{"text": "Two cups flour"}                        raw text
{"tokens": ["Two", "cups", "flour"]}              tokens
{"batch": [{"text": "…"}, {"tokens": […]}]}       several, answered in their order
{"text": "…", "entities": true, "nbest": 3}       with options, which the query may give too
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import parse_qsl

from loglin.corpus.jsonlines import check_surrogates, reason
from loglin.errors import LoglinError
from loglin.serve.limits import Limits, Refusal

LONGEST_LIST = 100  # of the best answers


@dataclass(frozen=True)
class Option:
    """Something that may be asked about an item."""

    kind: str  # for errors and the OpenAPI page
    schema: Mapping[str, Any]
    fits: Callable[[Any], bool]


FLAG = Option("true or false", {"type": "boolean"}, lambda x: type(x) is bool)
COUNT = Option(
    f"a whole number from 1 to {LONGEST_LIST}",
    {"type": "integer", "minimum": 1, "maximum": LONGEST_LIST},
    lambda x: type(x) is int and 1 <= x <= LONGEST_LIST,
)
POSITION = Option("a whole number", {"type": "integer"}, lambda x: type(x) is int)
SPAN = Option(
    "two whole numbers, [begin, end]",
    {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
    lambda x: type(x) is list and len(x) == 2 and all(type(n) is int for n in x),
)
WORD = Option("a string", {"type": "string"}, lambda x: type(x) is str)


@dataclass(frozen=True)
class Item:
    key: str  # what is given: text, tokens, features, candidates
    value: Any


Asked = tuple[tuple[str, Any], ...]  # options that are not as they are by default, sorted


def object_of(body: bytes | bytearray | memoryview, place: str = "the body") -> dict[str, Any]:
    """The JSON object that a body holds."""
    try:
        text = bytes(body).decode()
    except UnicodeDecodeError as error:
        raise Refusal(400, f"{place} is no UTF-8 from byte {error.start} on; send JSON in UTF-8") from None
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise Refusal(400, f"{place} has brackets that are nested too deep; send a flatter object") from None
    except ValueError as error:
        raise Refusal(400, f"{place} is not JSON ({reason(error)}); send one object, such as {{{EXAMPLE}}}") from None
    if not isinstance(value, dict):
        raise Refusal(422, f"{place} is {_shown(value)}; send an object, such as {{{EXAMPLE}}}")
    if "\\u" in text:
        try:
            check_surrogates(value, place)
        except LoglinError as error:
            raise Refusal(400, str(error)) from None
    return value


EXAMPLE = '"text": "…"'


def _refuse_constant(name: str) -> None:
    raise Refusal(400, f"{name} is no number of JSON; send finite numbers")


def _shown(value: Any) -> str:
    """A value as errors show it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:40]}…"


def items_of(value: dict[str, Any], keys: Iterable[str], limits: Limits) -> tuple[list[Item], bool]:
    """The items of a request, and whether it is a batch."""
    if "batch" not in value:
        return [item_of(value, keys, limits)], False
    batch = value["batch"]
    if not isinstance(batch, list):
        raise Refusal(422, f'"batch" is {_shown(batch)}; give a list of objects, such as {{{EXAMPLE}}}')
    if len(batch) > limits.batch:
        raise Refusal(
            413, f'"batch" has {len(batch):,} items, more than {limits.batch:,}; send fewer, or a stream of NDJSON'
        )
    if also := [key for key in keys if key in value]:
        raise Refusal(422, f'the body has both "batch" and "{also[0]}"; give one of them')
    return [_of_batch(one, n, keys, limits) for n, one in enumerate(batch)], True


def _of_batch(one: Any, number: int, keys: Iterable[str], limits: Limits) -> Item:
    if not isinstance(one, dict):
        raise Refusal(422, f"item {number} of the batch is {_shown(one)}; give an object, such as {{{EXAMPLE}}}")
    if unknown := sorted(one.keys() - set(keys)):
        raise Refusal(422, f'item {number} of the batch has "{unknown[0]:.40}"; it may have one of {", ".join(keys)}')
    return item_of(one, keys, limits, f"item {number} of the batch")


def item_of(value: dict[str, Any], keys: Iterable[str], limits: Limits, place: str = "the body") -> Item:
    """The item in an object: the one of some keys that it has."""
    given = [key for key in keys if key in value]
    if len(given) != 1:
        what = f"has both {given[0]} and {given[1]}" if given else f"has none of {', '.join(keys)}"
        raise Refusal(422, f"{place} {what}; give one, such as {{{EXAMPLE}}}")
    (key,) = given
    found = value[key]
    _CHECKS[key](found, f'{place}: "{key}"', limits)
    return Item(key, found)


def _check_text(value: Any, place: str, limits: Limits) -> None:
    if type(value) is not str:
        raise Refusal(422, f"{place} is {_shown(value)}; give a string")


def _check_tokens(value: Any, place: str, limits: Limits) -> None:
    if type(value) is not list:
        raise Refusal(422, f"{place} is {_shown(value)}; give a list of tokens")
    check_length(len(value), limits, place)
    kinds = set(map(type, value))
    if kinds <= {str} or (kinds == {list} and set(map(type, chain.from_iterable(value))) <= {str}):
        return
    for number, token in enumerate(value):
        if type(token) is str:
            continue
        if type(token) is not list or not all(type(field) is str for field in token):
            _check_attributes(token, f"{place}, token {number}", "a string, a list of strings or an object")


def _check_features(value: Any, place: str, limits: Limits) -> None:
    if type(value) is not list or not all(type(name) is str for name in value):
        _check_attributes(value, place, "a list of strings, or an object of numbers and strings")


def _check_candidates(value: Any, place: str, limits: Limits) -> None:
    if type(value) is not dict or not value:
        raise Refusal(422, f"{place} is {_shown(value)}; give an object from each candidate to its features")
    for name, features in value.items():
        _check_features(features, f"{place}, {name[:40]!r}", limits)


def _check_attributes(value: Any, place: str, wanted: str) -> None:
    if type(value) is not dict:
        raise Refusal(422, f"{place} is {_shown(value)}; give {wanted}")
    for name, one in value.items():
        if type(one) not in (str, bool, int, float) or (type(one) is int and abs(one) > 1 << 53):
            raise Refusal(422, f"{place}: the attribute {name[:40]!r} is {_shown(one)}; give a number or a string")


_CHECKS = {
    "text": _check_text,
    "tokens": _check_tokens,
    "features": _check_features,
    "candidates": _check_candidates,
}


def check_length(tokens: int, limits: Limits, place: str) -> None:
    """Refuse a sentence that is too long."""
    if tokens > limits.tokens:
        raise Refusal(413, f"{place} has {tokens:,} tokens, more than {limits.tokens:,}; send shorter sentences")


# ---------------------------------------------------------------------- options


def asked_of(given: Mapping[str, Any], options: Mapping[str, Option], known: Iterable[str] = ("model",)) -> Asked:
    """The options among some values; a key that is neither an option nor known otherwise is refused."""
    found = []
    for name, value in given.items():
        if name in options:
            if not options[name].fits(value):
                raise Refusal(422, f'"{name}" is {_shown(value)}; give {options[name].kind}')
            if value is not False:
                found.append((name, tuple(value) if type(value) is list else value))
        elif name not in known:
            raise Refusal(422, f'there is no "{name[:40]}" here; there are {", ".join([*known, *options])}')
    return tuple(sorted(found))


def of_query(query: bytes) -> dict[str, Any]:
    """The values of a query, those that look like numbers or truths as such."""
    if not query:
        return {}
    try:
        pairs = parse_qsl(query.decode(), keep_blank_values=True, errors="strict", max_num_fields=20)
    except ValueError:
        raise Refusal(400, "the query is no UTF-8 or has too many fields; write ?name=value&…") from None
    return {name: value if name in ("model", "word") else _plain(value) for name, value in pairs}


def _plain(value: str) -> Any:
    if value in ("true", "false"):
        return value == "true"
    if "," in value:
        return [_plain(part) for part in value.split(",")]
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else value
