"""loglin tag --raw: raw text, a sentence a line, as the service answers it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from loglin.cli import options as shared
from loglin.errors import LoglinError

LINES_AT_ONCE = 1000
_OTHERS = {"decoding": "--decoding", "beam": "--beam", "vectors": "--vectors"}  # of tokens that are given


def tag_raw(
    model: str, file: str, output: str | None, asked: dict[str, Any], as_json: bool, given: dict[str, Any]
) -> None:
    """Write every line's tokens with their labels, or as JSON all that is asked for."""
    from loglin.corpus.crfsuite import line_blocks
    from loglin.corpus.files import batches
    from loglin.serve.limits import Refusal
    from loglin.serve.requests import Item

    asked = {name: value for name, value in asked.items() if value}
    if asked and not as_json:
        raise LoglinError("tokens and labels leave no room for probabilities or several answers; add --json")
    if wrong := [option for name, option in _OTHERS.items() if given[name] is not None]:
        raise LoglinError(f"--raw goes without {wrong[0]}; leave out one of them")
    shared.check_output(output, file, model)
    tagging = _tagging(model, given)

    def pieces() -> Iterator[bytes]:
        for block in line_blocks(file, given["encoding"], b"\n", tokens=False):
            for lines in batches((line for _, line in block if line.strip()), LINES_AT_ONCE):
                items = [Item("text", line) for line in lines]
                answers = tagging.answers(items, {"entities": True} | asked if as_json else {})
                written = _as_json if as_json else _as_columns
                yield "".join(written(*pair) for pair in zip(lines, answers, strict=True)).encode()

    try:
        shared.write_pieces(output, pieces())
    except Refusal as refusal:
        raise LoglinError(f"{file}: {refusal}") from None


def _tagging(path: str, given: dict[str, Any]) -> Any:
    from loglin.cli.tagging import require_tagger
    from loglin.models.chain import Model
    from loglin.serve.answers import Tagging
    from loglin.serve.limits import Limits

    found = Tagging(require_tagger(Model.load(path), path), path, Limits(tokens=shared.LARGEST), given["threads"])
    if given["constrain"] is not None:
        found.tagger.constrain = given["constrain"]
    return found


def _as_json(line: str, answer: dict[str, Any]) -> str:
    return json.dumps({"text": line} | answer, ensure_ascii=False) + "\n"


def _as_columns(line: str, answer: dict[str, Any]) -> str:
    tokens = zip(answer["tokens"], answer["labels"], strict=True)
    return "".join(f"{token}\t{label}\n" for token, label in tokens) + "\n"
