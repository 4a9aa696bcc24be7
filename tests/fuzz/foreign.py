"""Damaged models of other programs: read and used, they are refused with a sentence or give sane answers."""

from __future__ import annotations

import contextlib
import random
import re
from functools import cache
from pathlib import Path

import numpy as np

from fuzz import prepared
from fuzz.models import are_shares
from loglin import LoglinError, Tagger
from loglin.features.extract import TemplateExtractor
from loglin.models import foreign

PEERS = Path(__file__).parents[1] / "models" / "peers"
COLUMNS = [[("two", "NUM", "x"), ("cups", "NN", "x"), ("zz", "NN", "")], [("1/2", "QQ", "")], []]
BAGS = [[["w=a", "NN"], {"w=b": 2.0}, []], [["two", "NUM"]], []]
NUMBERS = [0, 1, 2, 3, 4, 7, 8, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 10**30]


@cache
def wholes() -> dict[str, bytes]:
    """Files that the programs have written, and one that we write for CRFsuite."""
    found = {p.name: p.read_bytes() for p in sorted(PEERS.iterdir()) if p.suffix in (".crfpp", ".wapiti")}
    found["plain.crfpp.txt"] = (PEERS / "plain.crfpp.txt").read_bytes()
    bags = Tagger(max_iter=3).fit([[["w=a", "NN"], {"w=b": 2.0}], [["w=ü"]]], [["X", "Ü"], ["X"]])
    path = prepared.place("whole.crfsuite")
    foreign.export(bags.model_, "crfsuite", path)
    return found | {"bags.crfsuite": path.read_bytes()}


def _damaged(rng: random.Random, content: bytes) -> bytes:
    changed, at, way = bytearray(content), rng.randrange(max(len(content), 1)), rng.random()
    if way < 0.3:
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(changed))] ^= rng.randint(1, 255)
    elif way < 0.6:  # a number, more often one of the header
        at = 4 * rng.randrange(12 if rng.random() < 0.5 else max(len(content) // 4, 1))
        width = rng.choice([4, 4, 8])
        number = rng.choice([*NUMBERS, len(content), len(content) - at, rng.randrange(len(content) + 1)])
        changed[at : at + width] = (number % (1 << 8 * width)).to_bytes(width, "little")
    elif way < 0.8:  # a number in digits
        places = list(re.finditer(rb"-?\d+", content[at : at + 400])) or [None]
        if match := rng.choice(places):
            text = rng.choice([*map(str, NUMBERS), "-1", "", "nan", "inf", "1e999", "0x", "x", " 5", "1_0"]).encode()
            changed[at + match.start() : at + match.end()] = text
    elif way < 0.9:
        del changed[at : rng.choice([len(changed), at + rng.randint(1, 30)])]
    else:
        other = rng.randrange(len(content))
        changed[at:at] = content[other : other + rng.randint(1, 200)]
    return bytes(changed)


def case(rng: random.Random) -> None:
    """A file damaged in one to three places."""
    content = rng.choice(list(wholes().values()))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        content = _damaged(rng, content or b"x")
    if rng.random() < 0.2:
        path = prepared.place("given")
        path.write_bytes(content)
        use(Tagger.load(path))
    else:
        use(Tagger.from_model(foreign.loads(content, encoding=rng.choice(["utf-8"] * 9 + ["latin-1"]))))


def use(tagger: Tagger) -> None:
    """Ask a tagger all there is to ask, write it in every way, and read what was written."""
    model = tagger.model_
    texts: list = BAGS
    if isinstance(model.extractor, TemplateExtractor):
        texts = [[token[: model.extractor.templates.columns] or ("a",) for token in s] for s in COLUMNS]
        if model.extractor.templates.columns > 3:
            return
    assert [len(y) for y in tagger.predict(texts)] == [len(s) for s in texts]
    for rows in tagger.predict_proba(texts):
        for row in rows:
            are_shares(row)
    tagger.explain(texts[0], 1)
    for to in foreign.exports():
        with contextlib.suppress(LoglinError):
            foreign.export(model, to, prepared.place("written"))
            if to != "json":
                again = foreign.load(prepared.place("written"))
                assert np.isfinite(again.weights).all()
                assert again.labels == model.labels
    model.save(prepared.place("saved"))
    assert Tagger.load(prepared.place("saved")).predict(texts) == tagger.predict(texts)


KINDS = {"foreign": case}
