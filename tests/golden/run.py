"""Record the numbers of all cases, or compare those of the installed loglin with a record.

    python tests/golden/run.py record FILE
    python tests/golden/run.py check FILE [--exact] [--only PATTERN]

Only the public face of loglin is used, so that any version can be compared. --exact compares digests, which hold on
one kind of processor; otherwise objectives and checksums of weights must agree to 1e-6 and predictions must be equal.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))

from golden import data
from golden.cases import CASES, Fitted
from loglin import LanguageModel, LoglinError, MaxEnt, NaiveBayes, Parser

TOLERANCE = 1e-6


def digest(arrays: list[np.ndarray]) -> str:
    """The first 16 hexadecimal digits of the sha256 of numbers as float64."""
    found = hashlib.sha256()
    for array in arrays:
        # float32 numbers are float64 numbers too, and −0 is 0
        found.update(np.ascontiguousarray(np.asarray(array, np.float64) + 0.0).tobytes())
        found.update(str(np.shape(array)).encode())
    return found.hexdigest()[:16]


def checksum(arrays: list[np.ndarray]) -> tuple[float, float]:
    """A weighted sum of all numbers that tells their order, and the sum of their sizes, which bounds it."""
    flat = np.concatenate([np.zeros(0), *(np.ravel(np.asarray(a, np.float64)) for a in arrays)])
    flat = np.where(np.isfinite(flat), flat, 0.0)
    return math.fsum(flat * (1 + np.arange(len(flat)) % 7) / 7), math.fsum(np.abs(flat))


def predicted(fitted: Fitted) -> tuple[list[str], list[np.ndarray]]:
    """What an estimator predicts, each as a short text, and the numbers behind it."""
    estimator, inputs, arguments = fitted
    if isinstance(estimator, LanguageModel):
        ranked = [estimator.next(history, k=100) for history in data.HISTORIES]
        numbers = [estimator.scores(inputs), *(np.array([p for _, p in row]) for row in ranked)]
        return [" ".join(word for word, _ in row[:3]) for row in ranked], numbers
    if isinstance(estimator, Parser):
        parses = estimator.parse(inputs)
        whole = [sentence for sentence, parse in zip(inputs, parses, strict=True) if parse.complete]
        spans = [sorted(_spans(estimator, sentence)) for sentence in whole]
        numbers = [np.array([parse.score for parse in parses])]
        return [str(parse.tree) for parse in parses], [*numbers, *(np.array([row[-1] for row in s]) for s in spans)]
    found = estimator.predict(inputs, **arguments)
    if not isinstance(estimator, MaxEnt | NaiveBayes):
        return [" ".join(map(str, row)) for row in found], list(estimator.predict_proba(inputs))
    texts = [_compact(value) for value in (found.tolist() if isinstance(found, np.ndarray) else found)]
    try:
        numbers = estimator.predict_proba(inputs, **arguments)
    except LoglinError:
        numbers = estimator.decision_function(inputs)
    return texts, list(numbers) if isinstance(numbers, list) else [np.asarray(numbers)]


def _spans(parser: Parser, sentence: list[str]) -> list[tuple]:
    """The probabilities of all constituents, none for a sentence that only other tags give a tree."""
    try:
        return parser.marginals(sentence, 0.0)
    except LoglinError:
        return []


def _compact(value: Any) -> str:
    return "+".join(sorted(map(str, value))) if isinstance(value, set) else str(value)


def numbers_of(name: str) -> dict[str, Any]:
    """The golden numbers of a case, or the sentence that refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted = CASES[name]()
        except LoglinError as error:
            return {"error": str(error)}
        texts, probabilities = predicted(fitted)
    estimator = fitted.estimator
    language = isinstance(estimator, LanguageModel)
    record = estimator.record_ if language else estimator.model_.record
    weights = [] if language else [estimator.model_.weights]
    total, size = checksum(weights)
    p_total, p_size = checksum(probabilities)
    return {
        "objective": repr(float(record["objective"])) if "objective" in record else None,
        "iterations": record.get("iterations"),
        "stopped": record.get("stopped"),
        "n_weights": record.get("n_features") if language else int(np.size(weights[0])),
        "weights": digest(weights),
        "checksum": [total, size],
        "probabilities": digest(probabilities),
        "p_checksum": [p_total, p_size],
        "predictions": texts,
    }


def differences(found: dict[str, Any], wanted: dict[str, Any], exact: bool) -> list[str]:
    """What differs between the numbers of a case and those recorded; empty where nothing does."""
    if "error" in found or "error" in wanted:
        return [] if found == wanted else [f"error: {wanted.get('error')!r} → {found.get('error')!r}"]
    parts = []
    if exact:
        same = ("objective", "iterations", "stopped", "n_weights", "weights", "probabilities", "predictions")
        parts += [f"{key}: {wanted[key]} → {found[key]}" for key in same if found[key] != wanted[key]]
        return parts
    if found["n_weights"] != wanted["n_weights"]:
        parts.append(f"n_weights: {wanted['n_weights']} → {found['n_weights']}")
    old, new = (None if v["objective"] is None else float(v["objective"]) for v in (wanted, found))
    if (old is None) != (new is None) or (old is not None and not math.isclose(old, new, rel_tol=TOLERANCE)):
        parts.append(f"objective: {old} → {new}")
    for key in ("checksum", "p_checksum"):
        (a, size), (b, _) = wanted[key], found[key]
        if abs(a - b) > TOLERANCE * max(size, TOLERANCE):
            parts.append(f"{key}: {a!r} → {b!r}")
    zero = wanted["n_weights"] and wanted["checksum"][1] < TOLERANCE  # weights that leave every prediction a tie
    if not zero and found["predictions"] != wanted["predictions"]:
        pairs = zip(wanted["predictions"], found["predictions"], strict=False)
        parts.append("predictions: " + next((f"{a} → {b}" for a, b in pairs if a != b), "another number of them"))
    return parts


def check(recorded: dict[str, Any], exact: bool, names: list[str]) -> int:
    """Print a line for every case that differs, and return how many do."""
    wrong = 0
    for name in names:
        if name not in recorded:
            print(f"{name}: not in the record")
            continue
        parts = differences(numbers_of(name), recorded[name], exact)
        if parts:
            wrong += 1
            print(f"{name}: {'; '.join(parts)}"[:600], flush=True)
    return wrong


def main() -> None:
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument("command", choices=["record", "check"])
    command.add_argument("file")
    command.add_argument("--exact", action="store_true", help="compare digests of all bits")
    command.add_argument("--only", default="", metavar="PATTERN", help="cases whose names this pattern finds")
    given = command.parse_args()
    names = [name for name in CASES if re.search(given.only, name)]
    began = time.perf_counter()
    if given.command == "record":
        lines = []
        for name in names:
            start = time.perf_counter()
            lines.append(f"{json.dumps(name)}: {json.dumps(numbers_of(name), ensure_ascii=False)}")
            if (seconds := time.perf_counter() - start) > 1:
                print(f"{name}: {seconds:.1f} s", flush=True)
        Path(given.file).write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{len(names)} cases in {time.perf_counter() - began:.0f} s")
        return
    wrong = check(json.loads(Path(given.file).read_text()), given.exact, names)
    print(f"{wrong} of {len(names)} cases differ, {time.perf_counter() - began:.0f} s")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
