"""Names in Spanish news: the script of spanish-names.md."""

import os
from pathlib import Path

from loglin import Tagger

folder = Path(os.environ["LOGLIN_DATA"]) / "conll2002_es"


def read(name, most):
    """The first sentences of a file, tokens as (word, part of speech), and their labels."""
    text = (folder / name).read_text(encoding="utf-8")
    lines = [[line.split() for line in part.split("\n")] for part in text.strip().split("\n\n")[:most]]
    return [[tuple(row[:2]) for row in part] for part in lines], [[row[-1] for row in part] for part in lines]


X, y = read("train.txt", 1000)
X_test, y_test = read("testa.txt", 300)
print(len(X), "sentences to learn from")

tagger = Tagger(constrain="bio").fit(X, y)
scores = tagger.evaluate(X_test, y_test)
print(f"F1 is above 50: {scores.f1 > 0.5}")

from loglin.evaluation.significance import compare

other = Tagger(criterion="margin", constrain="bio").fit(X, y)
verdict = compare(y_test, tagger.predict(X_test), other.predict(X_test), names=("crf", "margin")).verdict()
print(type(verdict).__name__)

found = tagger.predict(X_test)
wrong = [i for i, (a, b) in enumerate(zip(found, y_test, strict=True)) if a != b]
print(tagger.show([X_test[wrong[0]]], [y_test[wrong[0]]]))
