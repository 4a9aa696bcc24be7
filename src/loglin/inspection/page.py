"""The inspector as one file that works on its own: style, code, what is in the model, and answers to examples."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loglin.corpus import schemes
from loglin.errors import LoglinError
from loglin.estimators.tagger import Tagger
from loglin.inspection.contents import contents

FOLDER = Path(__file__).parents[1] / "serve" / "static"
EXAMPLES = 40  # sentences whose answers are in the file
VOTES = 10  # of a token
LARGEST = 3_000_000  # bytes
_IMPORT = re.compile(r'^import \{ (?P<names>[\w, ]+) \} from "\./(?P<module>\w+\.js)";\n', re.M)


def page(value: dict[str, Any]) -> bytes:
    """The inspector with a report in it."""
    html = (FOLDER / "index.html").read_text(encoding="utf-8")
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    told = [f"<style>\n{(FOLDER / name).read_text(encoding='utf-8')}</style>" for name in ("base.css", "inspector.css")]
    html = re.sub(r'<link rel="stylesheet".*\n', "", html)
    html = re.sub(r'<script type="module".*\n', "", html)
    html = html.replace("</head>", "\n".join(told) + "\n</head>")
    script = (
        f'<script type="application/json" id="report">{text}</script>\n<script type="module">\n{bundled()}</script>\n'
    )
    return html.replace("</body>", f"{script}</body>").encode()


def bundled(first: str = "inspector.js") -> str:
    """A module with all that it imports, in one text, each behind what it needs."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        text = (FOLDER / name).read_text(encoding="utf-8")
        for found in _IMPORT.finditer(text):
            add(found["module"])
        done[name] = re.sub(r"^export ", "", _IMPORT.sub("", text), flags=re.M)

    add(first)
    return "\n".join(done.values())


def report(
    tagger: Tagger, name: str, examples: Sequence[list], evaluation: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What a page says of a tagger: the sentences of the first mistakes, or examples, with all their answers."""
    sentences = list(examples)
    if evaluation is not None:
        chosen: dict[int, int] = {}
        for one in evaluation["mistakes"]:
            number = one.pop("sentence")
            if number not in chosen and len(chosen) < EXAMPLES:
                chosen[number] = len(chosen)
            one["example"] = chosen.get(number)
        sentences = [examples[number] for number in chosen]
    found = {
        "model": name,
        "contents": contents(tagger.model_),
        "examples": [answered(tagger, tokens) for tokens in sentences[:EXAMPLES] if len(tokens)],
        "evaluation": evaluation,
    }
    if len(json.dumps(found, ensure_ascii=False).encode()) > LARGEST:
        raise LoglinError("the report would be larger than 3 MB; give a shorter evaluation file")
    return found


def answered(tagger: Tagger, tokens: list) -> dict[str, Any]:
    """All that the page shows of a sentence: entities, readings, the votes of every token."""
    words = [str(token[0] if isinstance(token, tuple | list) else token) for token in tokens]
    labels = tagger.predict([tokens])[0]
    rows, names = tagger.predict_proba([tokens])[0], tagger.classes_
    certainty = [round(float(row[names.index(y)]), 4) for row, y in zip(rows, labels, strict=True)]
    chunks = schemes.detect([str(y) for y in names]) is not None
    entities = tagger.entities([tokens])[0] if chunks else []
    return {
        "text": " ".join(words),
        "tokens": words,
        "labels": [str(y) for y in labels],
        "certainty": certainty,
        "entities": [
            {"type": e.type, "start": e.start, "stop": e.stop, "probability": round(e.probability, 4)} for e in entities
        ],
        "nbest": [
            {"labels": [str(y) for y in one], "probability": round(p, 4)}
            for one, p in tagger.predict_nbest([tokens], 3)[0]
        ],
        "explanations": [_explained(tagger, tokens, t) for t in range(len(tokens))],
    }


def _explained(tagger: Tagger, tokens: list, position: int) -> dict[str, Any]:
    """Why a token has its label, between the two labels that matter most."""
    found = tagger.explain(tokens, position)
    ranked = sorted(found.probabilities, key=found.probabilities.get, reverse=True)  # type: ignore[arg-type]
    best: list = list(dict.fromkeys([found.label, *ranked]))[:2]
    votes: list[dict[str, Any]] = [
        {"feature": vote.feature, "votes": {str(y): round(vote.votes[y], 3) for y in best if y in vote.votes}}
        for vote in found.votes
    ]
    votes.sort(key=lambda vote: -max((abs(w) for w in vote["votes"].values()), default=0.0))
    return {
        "token": found.token,
        "label": str(found.label),
        "probabilities": {str(y): round(found.probabilities[y], 4) for y in best},
        "transitions": {str(y): round(found.transitions[y], 3) for y in best if y in found.transitions},
        "following": {str(y): round(found.following[y], 3) for y in best if y in found.following},
        "votes": [vote for vote in votes[:VOTES] if vote["votes"]],
    }
