"""Simulated annotators: how much must be read until a tagger is nearly as good as with all labels.

    python benchmarks/annotate.py [--corpora NAME,…] [--ways NAME,…] [--seeds N] [--sentences N] [--output DIR]

An annotator who knows the labels of the corpus works as `loglin annotate` lets people work: sentences are chosen by the
model learnt so far, what is asked for is labelled, the model is continued. After every round, which adds a fifth to the
sentences read, F1 is measured on the test part. Counted are sentences and tokens that were read until F1 first is 90,
95 and 99 % of that of a model of all labels; means over seeds, which draw the first 20 sentences. With --output, writes
annotate.json, annotate.md and annotate.svg there; ways and corpora that were not asked for are kept from the files that
are there. The two CoNLL corpora are found through LOGLIN_DATA; the ingredients are made.

random      sentences at random, all tokens
token       the sentence with the least certain token first, all tokens
entropy     the sentence of largest entropy first, all tokens
partial     as token; read are only tokens less certain than 0.95, and spans that they touch, whole. The other tokens
            stay undecided and are learnt as partial labels
sure        as partial, but the other tokens are learnt as the model labels them, as if they had been accepted unread
dictionary  as partial, with a dictionary of the 500 commonest words of the corpus and the types that they have, and 300
            sentences nobody has read, by the mixture criterion; rounds add a half
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loglin import Tagger
from loglin.annotate.pool import Item, numbered, sentence
from loglin.annotate.rules import Rules
from loglin.annotate.spans import Phrases
from loglin.annotate.tagging import THRESHOLD, Tagging, doubts
from loglin.annotate.work import Work
from loglin.corpus.formats import named
from loglin.corpus.tagged import read_labeled
from loglin.demo.ingredients import generate
from output import parser_of, report

GOALS = (0.90, 0.95, 0.99)
FIRST = 20  # sentences of the first round, drawn at random
LISTED = 500  # words of the dictionary
NOTATION = Phrases()
Text = tuple[list[list[str]], list[list[str]]]  # words, labels


@dataclass(frozen=True)
class Way:
    """How sentences are chosen, and what of them is read."""

    measure: str | None  # of doubt; None: at random
    partial: bool = False
    trusts: bool = False  # what is not asked for is learnt as the model labels it
    dictionary: bool = False
    growth: float = 0.2

    @property
    def certain(self) -> float:
        """The certainty from which a token is not read."""
        return THRESHOLD if self.partial else np.inf


WAYS = {
    "random": Way(None),
    "token": Way("token"),
    "entropy": Way("entropy"),
    "partial": Way("token", partial=True),
    "sure": Way("token", partial=True, trusts=True),
    "dictionary": Way("token", partial=True, dictionary=True, growth=0.5),
}


def read(path: str, scheme: str | None = None) -> Text:
    text = read_labeled(str(Path(os.environ["LOGLIN_DATA"]) / path), named("conll"), scheme=scheme)
    return text.inputs.strings(0), text.sequences()


def ingredients(n: int, split: str) -> Text:
    lines = generate(n, seed=0, split=split)
    return [[word for word, _ in line] for line in lines], [[label for _, label in line] for line in lines]


CORPORA = {
    "conll2003": (
        "CoNLL-2003 entities",
        lambda: (read("conll2003/eng.train", "iob1:iob2"), read("conll2003/eng.testa", "iob1:iob2")),
    ),
    "conll2000": ("CoNLL-2000 chunks", lambda: (read("conll2000/train.txt"), read("conll2000/test.txt"))),
    "ingredients": ("ingredients", lambda: (ingredients(2000, "train"), ingredients(500, "test"))),
}


# ---------------------------------------------------------------------- one annotator


class Annotator:
    """Knows the right labels; reads what it is asked for."""

    def __init__(self, text: Text, way: Way, seed: int):
        self.way, self.gold = way, [NOTATION.spans(labels) for labels in text[1]]
        self.items = numbered("the corpus", map(sentence, text[0]))
        types = NOTATION.types(label for labels in text[1] for label in labels)
        self.task = Tagging(types, NOTATION, self._rules(text), mixture=way.dictionary)
        self.unread = [item.number for item in self.items]
        random.Random(seed).shuffle(self.unread)
        self.work, self.model, self.tokens = Work(), None, 0

    def _rules(self, text: Text) -> Rules:
        """The commonest words with the types that they have in the corpus, or none."""
        if not self.way.dictionary:
            return Rules(NOTATION)
        seen = Counter(word for words in text[0] for word in words)
        common = dict.fromkeys(word for word, _ in seen.most_common(LISTED))
        types: dict[tuple[str, ...], set[str]] = {(word,): set() for word in common}
        for words, labels in zip(*text, strict=True):
            for word, label in zip(words, labels, strict=True):
                if word in common:
                    types[word,].add(label[2:] or label)
        return Rules(NOTATION, {words: frozenset(some) for words, some in types.items()})

    def round(self) -> None:
        """Read some more sentences, and learn."""
        done = len(self.work.answers)
        n = max(5, int(done * self.way.growth)) if done else FIRST
        if self.model is not None and self.way.measure:
            doubt = doubts(self.model, [list(self.items[i].tokens) for i in self.unread], self.way.measure)
            self.unread = [self.unread[i] for i in np.argsort(-doubt, kind="stable").tolist()]
        chosen, self.unread = self.unread[:n], self.unread[n:]
        for answer in self.answers([self.items[number] for number in chosen]):
            self.work.add(answer)
        self.model = self.task.learn(self.items, self.work, self.model)

    def answers(self, items: list[Item]) -> list[dict[str, Any]]:
        """What is said of items: the spans that what is asked for touches."""
        certainty = [np.zeros(len(item.tokens)) for item in items]
        said: list[list[str]] = [[] for _ in items]
        if self.model is not None and self.way.partial:
            X = [list(item.tokens) for item in items]
            certainty, said = [rows.max(axis=1) for rows in self.model.predict_proba(X)], self.model.predict(X)
        return [self._answer(*one) for one in zip(items, certainty, said, strict=True)]

    def _answer(self, item: Item, certainty: np.ndarray, said: list[str]) -> dict[str, Any]:
        asked = set(np.flatnonzero(certainty < self.way.certain).tolist())
        spans = [span for span in self.gold[item.number] if not asked.isdisjoint(range(span.start, span.stop))]
        covered = {t for span in spans for t in range(span.start, span.stop)}
        self.tokens += len(asked | covered)
        undecided = sorted(set(range(len(item.tokens))) - asked - covered)
        if self.way.trusts and said:
            left = set(undecided)
            spans += [span for span in NOTATION.spans(said) if left.issuperset(range(span.start, span.stop))]
            undecided = []
        return {"do": "answer", "item": item.number} | self.task.checked(
            item, {"spans": [list(span) for span in spans], "undecided": undecided}
        )


def simulated(text: Text, test: Text, full: float, way: Way, seed: int) -> list[tuple[int, int, float]]:
    """Sentences and tokens read, and F1, after every round until F1 is near that of all labels."""
    annotator = Annotator(text, way, seed)
    curve: list[tuple[int, int, float]] = []
    while annotator.unread and (not curve or curve[-1][2] < GOALS[-1] * full):
        annotator.round()
        assert annotator.model is not None
        curve.append((len(annotator.work.answers), annotator.tokens, annotator.model.evaluate(*test).f1))
    return curve


# ---------------------------------------------------------------------- tables


def reached(curve: list, goal: float) -> tuple[int, int] | None:
    """Sentences and tokens read when F1 first was at a goal."""
    return next(((sentences, tokens) for sentences, tokens, f1 in curve if f1 >= goal), None)


def of_goals(curves: list[list], full: float) -> list[list[float] | None]:
    """For every goal the mean sentences and tokens over seeds; None where one never reached it."""
    found: list[list[float] | None] = []
    for goal in GOALS:
        ends = [end for curve in curves if (end := reached(curve, goal * full)) is not None]
        found.append(np.mean(ends, axis=0).tolist() if len(ends) == len(curves) else None)
    return found


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"<!-- written by benchmarks/annotate.py -->\n# Simulated annotators\n\n{__doc__.split(chr(10), 4)[4].strip()}"
    ]
    lines[0] = lines[0].replace("\nrandom      ", "\n```\nrandom      ", 1) + "\n```"
    for name, found in result.items():
        n, tokens = found["sentences"], found["tokens"]
        lines += [
            "",
            f"## {CORPORA[name][0]}",
            "",
            f"{n:,} sentences, {tokens:,} tokens; a model of all labels has F1 {100 * found['full']:.2f}. "
            "Sentences · tokens read, and how many times fewer tokens than at random.",
            "",
            "| way | seeds | " + " | ".join(f"{goal:.0%}" for goal in GOALS) + " |",
            "|---|---|" + "---|" * len(GOALS),
        ]
        at_random = found["goals"].get("random")
        for way in WAYS:
            if way in found["goals"]:
                cells = [_cell(c, at_random and at_random[i]) for i, c in enumerate(found["goals"][way])]
                lines.append(f"| `{way}` | {len(found['curves'][way])} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", "![F1 by tokens read](annotate.svg)", ""])


def _cell(found: list[float] | None, at_random: list[float] | None) -> str:
    if found is None:
        return "not reached"
    fewer = f" · {at_random[1] / found[1]:.1f} ×" if at_random else ""
    return f"{found[0]:,.0f} · {found[1]:,.0f}{fewer}"


def plotted(result: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "loglin"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(result), figsize=(4.2 * len(result), 3.6), squeeze=False)
    for axis, (name, found) in zip(axes[0], result.items(), strict=True):
        for way in WAYS:
            for curve in found["curves"].get(way, [])[:1]:
                axis.plot([tokens for _, tokens, _ in curve], [100 * f1 for *_, f1 in curve], label=way, linewidth=1.2)
        axis.axhline(95 * found["full"], color="gray", linewidth=0.6, linestyle=":")
        axis.set(
            xscale="log", title=CORPORA[name][0], xlabel="tokens read", ylabel="F1", ylim=(50 * found["full"], None)
        )
    axes[0][-1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--corpora", help=f"of {', '.join(CORPORA)}; default: all")
    parser.add_argument("--ways", help=f"of {', '.join(WAYS)}; default: all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sentences", type=int, help="only so many sentences of each training part")
    given = parser.parse_args()
    old = given.output / "annotate.json" if given.output else None
    result = json.loads(old.read_text()) if old and old.exists() else {}
    for name in given.corpora.split(",") if given.corpora else CORPORA:
        (X, y), test = CORPORA[name][1]()
        text = X[: given.sentences], y[: given.sentences]
        full = full_score(text, test)
        found = result.setdefault(name, {"goals": {}, "curves": {}})
        found |= {"full": full, "sentences": len(text[0]), "tokens": sum(map(len, text[0]))}
        for way in given.ways.split(",") if given.ways else WAYS:
            curves = [simulated(text, test, full, WAYS[way], seed) for seed in range(given.seeds)]
            found["curves"][way], found["goals"][way] = curves, of_goals(curves, full)
            print(name, way, found["goals"][way], file=sys.stderr, flush=True)
            report(given.output, "annotate", markdown({k: result[k] for k in CORPORA if k in result}), result)
    if given.output:
        plotted({k: result[k] for k in CORPORA if k in result}, given.output / "annotate.svg")


def full_score(text: Text, test: Text) -> float:
    """F1 of a model of all labels."""
    return Tagger(threads=1).fit(*text).evaluate(*test).f1


if __name__ == "__main__":
    sys.exit(main())
