"""Damaged model files of every kind: loaded and used, they are refused with a sentence or give sane answers.

A case is a whole model with one to three changes of what it says: values of the manifest, arrays, the safetensors
header, or plain bytes. The checksum is made right again, since otherwise nothing behind it would be tried.

    python tests/fuzz/models.py 20000 --seed 1
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import math
import random
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import loglin
from loglin.cli.main import cli
from loglin.errors import LoglinError
from loglin.models import files
from support.model_files import with_checksum, with_header
from support.small_models import BAGS, MADE, TEXT, X

SECONDS = 20  # the most that a case may take
ODD: list = [
    None, True, False, 0, 1, -1, 2, 3, 7, -5, 255, 65536, 2**31, 2**62, 2**63, 2**70, 10**400, 0.5, 1.5, -0.0, 1e308,
    math.nan, math.inf, -math.inf, "", "x", "\ud800", "a\0b", "é" * 3, "U0:" + "%x[0,0]" * 400 + "\nB", "%x[0,0]",
    'U0:%t[0,0,"' + "(" * 200 + ")" * 200 + '"]', "U0:%x[0,0]\nU1:%x[0,70]", "B", "first", "crf", "scaled", "local",
    [], [[]], ["x"], [1], ["x", "x"], [math.nan], ["\ud800"], [None], {}, {"x": 1}, {"options": 1}, list(range(300)),
]  # fmt: skip
TYPES = (np.float64, np.float32, np.float16, np.int64, np.int32, np.uint16, np.uint8)


@dataclass(frozen=True)
class Case:
    kind: str  # a name in MADE
    change: str  # for people
    content: bytes  # of the file


@dataclass(frozen=True)
class Failure:
    case: Case
    what: str


# ---------------------------------------------------------------------- cases


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Damaged files without end."""
    wholes = _wholes()
    names = list(wholes)
    while True:
        name = names[rng.integers(len(names))]
        content, changes = wholes[name], []
        for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
            way = _WAYS[rng.choice(len(_WAYS), p=_SHARES)]
            with contextlib.suppress(ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError):
                content, change = way(rng, content)  # which an earlier change may have made impossible
                changes.append(change)
        yield Case(name, ", ".join(changes), content)


def _whole_files() -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in MADE.items():
            path = Path(folder) / "m"
            make().save(path)
            section = files.read(path)
            files.write(path, replace(section, manifest=_timeless(section.manifest)))
            yield name, path.read_bytes()


def _timeless(value: object) -> object:
    """A manifest without what differs from run to run."""
    if isinstance(value, dict):
        return {k: 0.0 if "seconds" in k or "memory" in k else _timeless(v) for k, v in value.items()}
    return [_timeless(v) for v in value] if isinstance(value, list) else value


def _pick(rng: np.random.Generator, among: list) -> object:
    return among[int(rng.integers(len(among)))]


def _places(value: object, place: tuple = ()) -> list[tuple]:
    """Where something stands in a manifest."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(p for key, inside in items for p in _places(inside, (*place, key)))]


def _manifest(rng: np.random.Generator, content: bytes) -> tuple[bytes, str]:
    """Another value, or none, somewhere in the manifest."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    manifest = json.loads(header["__metadata__"]["loglin"])
    *above, key = _pick(rng, [p for p in _places(manifest) if p])
    inside = manifest
    for part in above:
        inside = inside[part]
    old, way = inside[key], rng.random()
    if way < 0.1:
        del inside[key]
    elif way < 0.2 and isinstance(old, list):
        old.insert(0, copy.deepcopy(_pick(rng, old)))
    elif way < 0.3 and isinstance(old, str):
        cut = int(rng.integers(len(old) + 1))
        inside[key] = old[:cut] + str(_pick(rng, [o for o in ODD if isinstance(o, str)])) + old[cut:]
    elif way < 0.4 and isinstance(old, int):
        inside[key] = int(old) + int(rng.integers(-3, 4))
    else:
        inside[key] = copy.deepcopy(_pick(rng, ODD))
    header["__metadata__"]["loglin"] = json.dumps(manifest)
    return with_header(json.dumps(header, separators=(",", ":")), content), f"{'.'.join(map(str, [*above, key]))}"


def _arrays(rng: np.random.Generator, content: bytes) -> tuple[bytes, str]:
    """Other values, another type or another size of an array."""
    with tempfile.NamedTemporaryFile() as stream:
        stream.write(content)
        stream.flush()
        section = files.read(stream.name)
        name = _pick(rng, sorted(section.arrays))
        array, way = section.arrays[name].copy(), rng.random()
        if way < 0.5 and len(array):
            places = rng.integers(len(array), size=rng.integers(1, 4))
            with np.errstate(all="ignore"):  # half precision
                array[places] = [_number(rng, array) for _ in places]
        elif way < 0.6:
            with np.errstate(all="ignore"):
                array = array.astype(_pick(rng, list(TYPES)))
        elif way < 0.7:
            array = array.view(np.uint8).view(_pick(rng, list(TYPES)))
        elif way < 0.8:
            array = array[: rng.integers(len(array) + 1)]
        elif way < 0.9:
            array = np.append(array, array[: rng.integers(len(array) + 1)])
        else:
            rng.shuffle(array)
        section.arrays[name] = array
        return b"".join(files._pieces(files.manifest_text(section), section.arrays)), f"array {name}"


def _number(rng: np.random.Generator, array: np.ndarray) -> object:
    if array.dtype.kind == "f":
        return _pick(rng, [0.0, -1.0, 1.0, 2.0, 1e-300, 1e4, 1e30, 1e300, -1e300, -700.0, np.nan, np.inf, -np.inf])
    bounds = np.iinfo(array.dtype)
    near = [int(array.min()), int(array.max()), int(array.max()) + 1, len(array), bounds.min, bounds.max, 0, 1, -1, 200]
    return np.clip(_pick(rng, near), bounds.min, bounds.max)


def _header(rng: np.random.Generator, content: bytes) -> tuple[bytes, str]:
    """Another entry of the safetensors header."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    name = _pick(rng, list(header))
    way = rng.random()
    if way < 0.2:
        del header[name]
    elif way < 0.4:
        header[name] = _pick(rng, ODD)
    elif way < 0.5:
        header[str(_pick(rng, list(header)))] = header.pop(name)
    else:
        key = _pick(rng, list(header[name]))
        odd = [*ODD, [0, 8], [8, 0], [-8, 0], [0, 2**62], ["0", "8"], [0.0, 8.0], "F32", "BF16", "I32", [2**61], [-1]]
        header[name][key] = _pick(rng, odd)
    return with_header(json.dumps(header, separators=(",", ":")), content), f"header {name}"


def _bytes(rng: np.random.Generator, content: bytes) -> tuple[bytes, str]:
    """Bytes flipped, cut off or doubled."""
    changed, at = bytearray(content), int(rng.integers(len(content)))
    way = rng.random()
    if way < 0.7:
        for _ in range(int(rng.integers(1, 5))):
            changed[rng.integers(len(changed))] ^= int(rng.integers(1, 256))
    elif way < 0.85:
        del changed[at:]
    else:
        changed[at:at] = changed[at : at + int(rng.integers(1, 64))]
    return with_checksum(bytes(changed)), f"bytes near {at}"


_WAYS, _SHARES = (_manifest, _arrays, _header, _bytes), (0.4, 0.35, 0.1, 0.15)


# ---------------------------------------------------------------------- use


def use(path: Path, kind: str) -> None:
    """Load a model and ask it all there is to ask; what is not refused must be sane."""
    try:
        model = loglin.load(path)
    except LoglinError:
        return
    for ask in _QUESTIONS[type(model).__name__]:
        with contextlib.suppress(LoglinError):
            ask(model, kind)
    for given in ([], ["--json"], ["--verify"]):
        with contextlib.suppress(LoglinError), contextlib.redirect_stdout(io.StringIO()):
            cli.main(["inspect", str(path), *given], standalone_mode=False)
    with contextlib.suppress(LoglinError):
        model.save(path.with_suffix(".again"))


def are_shares(numbers, whole: bool = True) -> None:
    """Probabilities: of all outcomes, or of some."""
    found = np.asarray(list(numbers), float)
    assert np.isfinite(found).all(), f"probabilities {found}"
    assert ((found >= 0) & (found <= 1 + 1e-6)).all(), f"probabilities {found}"
    assert found.sum() <= 1 + 1e-6, f"probabilities sum to {found.sum()}"
    assert not whole or found.sum() >= 1 - 1e-6, f"probabilities sum to {found.sum()}"


def _tagged(tagger, kind) -> None:
    assert [len(y) for y in tagger.predict(X)] == [len(x) for x in X]
    tagger.explain(X[0], 0)


def _tag_probabilities(tagger, kind) -> None:
    for rows in tagger.predict_proba(X):
        for row in rows:
            are_shares(row)
    for best in tagger.predict_nbest(X, 3):
        are_shares((p for _, p in best), whole=False)
    for found in tagger.entities(X):
        for entity in found:
            are_shares([entity.probability], whole=False)


def _examples(kind):
    if kind == "matrix":
        return np.array([[1.0, 2], [0, 3]])
    return ["u", "v"] if kind == "candidates" else BAGS


def _classified(model, kind) -> None:
    if kind == "candidates":
        model.features = lambda x, c: [str(c)]
    given = {"candidates": [["a", "b"], ["b", "c"]]} if kind == "candidates" else {}
    model.predict(_examples(kind), **given)
    found = model.predict_proba(_examples(kind), **given)
    several = model.model_.decoding.get("steps") == "independent"
    for row in found:
        for part in [[p] for p in row] if several else [row]:
            are_shares(part, whole=not several)
    model.explain(_examples(kind)[0], **({"candidates": ["a", "b"]} if given else {}))


def _words(model, kind) -> None:
    assert math.isfinite(model.perplexity(TEXT)) or model.perplexity(TEXT) == math.inf
    model.scores(TEXT[:2])
    are_shares((p for _, p in model.next("the", 10**6)))
    model.explain("the", "cat")
    model.sample(2, seed=0, max_length=20)


def _parsed(parser, kind) -> None:
    sentences = [["the", "dog", "slept"], ["a", "cat", "saw", "the", "dog"], ["xyz"]]
    parser.parse(sentences)
    for parses in parser.parse_nbest(sentences, 3):
        are_shares((p.probability for p in parses if p.probability is not None), whole=False)
    for *_, p in parser.marginals(sentences[1]):
        are_shares([p], whole=False)
    parser.explain(sentences[0], (0, 2))
    parser.sample(sentences[0], 2, seed=0)


_QUESTIONS = {
    "Tagger": (_tagged, _tag_probabilities),
    "MaxEnt": (_classified,),
    "NaiveBayes": (_classified,),
    "LanguageModel": (_words,),
    "Parser": (_parsed,),
}


# ---------------------------------------------------------------------- runs


def _late(number: int, frame: object) -> None:
    raise TimeoutError(f"more than {SECONDS} seconds")


def failure_of(case: Case, path: Path) -> Failure | None:
    """What is wrong with the answer to a case, or None."""
    path.write_bytes(case.content)
    before = signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            use(path, case.kind)
    except Exception:
        return Failure(case, traceback.format_exc())
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return None


@cache
def _wholes() -> dict[str, bytes]:
    return dict(_whole_files())


def case(rng: random.Random) -> None:
    """One case, as run.py has them."""
    damaged = next(cases(np.random.default_rng(rng.getrandbits(64))))
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        path = Path(folder) / "m"
        path.write_bytes(damaged.content)
        use(path, damaged.kind)


KINDS = {"models": case}


def run(n: int, seed: int = 0) -> Iterator[Failure]:
    """The failures among n cases."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        for _, case in zip(range(n), cases(np.random.default_rng(seed)), strict=False):
            if failure := failure_of(case, path):
                yield failure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for files that fail")
    given = parser.parse_args()
    seen: dict[str, int] = {}
    for failure in run(given.n, given.seed):
        lines = failure.what.strip().splitlines()
        sign = " ".join(lines[-1].split()[:3]) + next((x for x in reversed(lines) if x.strip().startswith("File")), "")
        seen[sign] = seen.get(sign, 0) + 1
        if seen[sign] == 1:
            print(f"--- {failure.case.kind}: {failure.case.change}\n{failure.what}", flush=True)
            if given.keep:
                given.keep.mkdir(exist_ok=True)
                (given.keep / f"{len(seen)}").write_bytes(failure.case.content)
    for sign, count in seen.items():
        print(count, sign)
    sys.exit(bool(seen))


if __name__ == "__main__":
    main()
