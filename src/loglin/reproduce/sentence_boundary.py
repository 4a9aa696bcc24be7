"""Does a sentence end at this . ? or ! ? Maximum entropy on text rebuilt from the treebank and the Brown corpus.

sentences of tokens ──► words as written, with the last of each sentence known ──► candidates ──► attributes ──► MaxEnt

A candidate is a word that ends in . ? or ! (closing quotes and brackets behind it allowed). No line or sentence
ends are seen, only words with blanks between them. Attributes as in Reynar and Ratnaparkhi (1997) and Mikheev (2000).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from loglin.corpus import datasets
from loglin.estimators.maxent import MaxEnt
from loglin.evaluation.significance import mcnemar
from loglin.features.functions import evaluate
from loglin.reproduce.table import Progress, Row, Table

GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
QUICK = 3  # a quick run has one third of the sentences
MARKS = (".", "?", "!")
CLOSING, OPENING = "\"')]}", "\"'([{"
# Penn's and Brown's tokens that were written otherwise, that lean on the word before, or on the word behind
_WRITTEN = {"``": '"', "''": '"', "`": "'", "-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}"}
_LEFT = {*".,:;?!%)}]", "''", "'", "-RRB-", "-RCB-", "n't", "'s", "'S", "'re", "'ve", "'ll", "'d", "'m"}
_RIGHT = {"``", "`", "(", "{", "[", "$", "#", "-LRB-", "-LCB-"}
# Reynar and Ratnaparkhi (1997): with lists of titles and company names, and without
PUBLISHED = {
    ("WSJ", "maximum entropy, all"): 98.8,
    ("WSJ", "maximum entropy, portable"): 98.0,
    ("Brown", "maximum entropy, all"): 97.9,
    ("Brown", "maximum entropy, portable"): 97.5,
}
REMARKS = [
    "The published figures (Reynar and Ratnaparkhi 1997) are of other, larger parts of the Wall Street Journal and of "
    "all of Brown: the data differ, and so do the candidates; they are for orientation.",
    "“Portable” has the candidate's part before and behind its mark, the words around and whether each is a known "
    "abbreviation; “all” adds capitals, length, numbers, quotes, and whether the next word is also written small. "
    "Abbreviations are the words that end in a period inside a sentence of the training text; a training candidate "
    "does not count itself. Words are those of the corpus joined as written (“U.S.” and its sentence's period make "
    "one). l2 is chosen on the last tenth of the training candidates.",
]


# ---------------------------------------------------------------------- text


def written(tokens: Iterable[str]) -> list[str]:
    """The words of a sentence as they were written, with blanks between them."""
    words: list[str] = []
    last, leans = "", False  # the token before, and whether what follows leans on it
    for token in tokens:
        text = _WRITTEN.get(token, token)
        if words and token in _LEFT:
            # the period of an abbreviation also ends the sentence; Brown doubles ?, ! and ;
            if not (token == last or (token == "." and last.endswith("."))):
                words[-1] += text
        elif words and leans:
            words[-1] += text
        else:
            words.append(text)
        last, leans = token, token in _RIGHT
    return words


class Candidate(NamedTuple):
    before: str  # the word before, "" at the very beginning
    word: str
    behind: str
    ends: bool  # a sentence ends here

    @property
    def core(self) -> str:
        """The word up to its mark."""
        return self.word.rstrip(CLOSING).lstrip(OPENING)


def candidates(sentences: Sequence[Sequence[str]]) -> list[tuple[int, Candidate]]:
    """The candidates of written sentences, each with the number of its sentence."""
    flat = [(word, i == len(words) - 1, s) for s, words in enumerate(sentences) for i, word in enumerate(words)]
    flat = [("", False, -1), *flat, ("", False, -1)]
    return [
        (s, Candidate(before, word, behind, ends))
        for ((before, *_), (word, ends, s)), (_, (behind, *_)) in pairwise(pairwise(flat))
        if word.rstrip(CLOSING).endswith(MARKS)
    ]


class BoundaryText(NamedTuple):
    training: list[Candidate]
    test: list[Candidate]
    small: frozenset[str]  # words that the training text also writes small

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], is_test: Callable[[int], bool]) -> BoundaryText:
        """Sentences of tokens; the numbers of those to test on are told by a function."""
        words = [written(tokens) for tokens in sentences]
        found = candidates(words)
        small = {_bare(w) for s, sentence in enumerate(words) if not is_test(s) for w in sentence if w.islower()}
        return cls([c for s, c in found if not is_test(s)], [c for s, c in found if is_test(s)], frozenset(small))


def _bare(word: str) -> str:
    return word.strip(OPENING + CLOSING + ",;:.?!")


# ---------------------------------------------------------------------- attributes


class Lists:
    """What the training text tells about words: abbreviations, and words that are also written small."""

    def __init__(self, training: Sequence[Candidate], small: frozenset[str]):
        self.inside = Counter(c.core for c in training if not c.ends and c.core.endswith("."))
        self.small = small

    def is_abbreviation(self, word: str, itself: int = 0) -> bool:
        """Whether it ends in a period inside a sentence, ``itself`` occurrences not counted."""
        return self.inside[word.rstrip(CLOSING).lstrip(OPENING)] > itself


def portable(c: Candidate, lists: Lists, known: bool) -> list[str]:
    """``known`` says that the candidate is one of those from which the lists were made."""
    core = c.core
    found = [f"prefix={core[:-1]}", f"suffix={c.word[len(c.word.rstrip(CLOSING)) :]}", f"mark={core[-1:]}"]
    found += [f"before={c.before}", f"behind={c.behind}"]
    if lists.is_abbreviation(core, itself=int(known and not c.ends)):
        found.append("abbreviation")
    found += [f"abbreviation {name}" for name in ("before", "behind") if lists.is_abbreviation(getattr(c, name))]
    return found


def all_attributes(c: Candidate, lists: Lists, known: bool) -> list[str]:
    found = portable(c, lists, known)
    prefix, behind = c.core[:-1], c.behind.lstrip(OPENING)
    behind_is = evaluate("short-shape", (), behind[:2]) if behind else "end of text"
    shape = evaluate("short-shape", (), prefix)
    here = "abbreviation" if "abbreviation" in found else "other"
    found += [f"behind is {behind_is}", f"{here}, behind is {behind_is}", f"{prefix.lower()}, behind is {behind_is}"]
    found += [f"shape={shape}", f"{shape}, behind is {behind_is}", f"length={min(len(prefix), 8)}"]
    found += [f"behind as word={_bare(behind).lower()}", f"before is {evaluate('short-shape', (), c.before)}"]
    if behind != c.behind:
        found.append("opening quote behind")
    if "." in prefix:
        found.append("period inside")
    if behind[:1].isupper():
        small = _bare(behind).lower() in lists.small
        found += [f"behind also small: {small}", f"{here}, behind also small: {small}"]
    return found


Attributes = Callable[[Candidate, Lists, bool], list[str]]
SETS: dict[str, Attributes] = {"portable": portable, "all": all_attributes}


# ---------------------------------------------------------------------- one text


class Found(NamedTuple):
    ends: list[bool]
    note: str


def decided(text: BoundaryText, attributes: Attributes, grid: Sequence[float], threads: int | None) -> Found:
    """The decisions for the test candidates, of a model whose l2 is best on the last tenth of the training ones."""
    training, cut = text.training, len(text.training) * 9 // 10

    def fitted(part: Sequence[Candidate], l2: float) -> Callable[[Sequence[Candidate]], list[bool]]:
        lists = Lists(part, text.small)
        model = MaxEnt(l2=l2, tol=1e-6, threads=threads).fit(
            [attributes(c, lists, True) for c in part], [c.ends for c in part]
        )
        return lambda other: [bool(x) for x in model.predict([attributes(c, lists, False) for c in other])]

    held = {l2: accuracy(training[cut:], fitted(training[:cut], l2)(training[cut:])) for l2 in grid}
    best = max(held, key=lambda l2: (held[l2], l2))
    return Found(fitted(training, best)(text.test), f"l2 = {best:g}, held-out {held[best]:.2f}")


def accuracy(part: Sequence[Candidate], ends: Sequence[bool]) -> float:
    return 100 * sum(c.ends == e for c, e in zip(part, ends, strict=True)) / len(part)


def rows_of(name: str, text: BoundaryText, grid: Sequence[float], threads: int | None) -> tuple[list[Row], str]:
    """The rows of a text, and what a test says of all attributes against the abbreviation list."""
    lists, test = Lists(text.training, text.small), text.test
    outputs = {
        "always": Found([True] * len(test), ""),
        "unless a known abbreviation": Found([not lists.is_abbreviation(c.core) for c in test], ""),
    }
    outputs |= {f"maximum entropy, {kind}": decided(text, SETS[kind], grid, threads) for kind in SETS}
    rows = []
    for kind, found in outputs.items():
        wrong = f"{sum(c.ends != e for c, e in zip(test, found.ends, strict=True))} of {len(test):,} wrong"
        note = "; ".join(filter(None, (wrong, found.note)))
        rows.append(Row(f"{name}, {kind}", "accuracy", PUBLISHED.get((name, kind)), accuracy(test, found.ends), note))
    first, second = (outputs[kind].ends for kind in ("maximum entropy, all", "unless a known abbreviation"))
    result = mcnemar([[c.ends for c in test]], [first], [second], "token")
    return rows, (
        f"{name}: {len(text.training):,} training candidates. All attributes against the abbreviation list, McNemar's "
        f"test: {result.only_first} and {result.only_second} right alone, p = {result.p:.2g}."
    )


def load(quick: bool) -> dict[str, BoundaryText]:
    """Of the treebank 3,000 and 914 sentences; of Brown, whose genres follow each other, every tenth hundred tests."""
    parts: dict[str, tuple[str, Callable[[int], bool]]] = {
        "WSJ": ("treebank", lambda s: s >= (1000 if quick else 3000)),
        "Brown": ("brown", lambda s: s // 100 % 10 == 9),
    }
    texts = {}
    for name, (corpus, is_test) in parts.items():
        sentences = [[token[0] for token in sentence] for sentence in datasets.load(corpus).sentences()]
        texts[name] = BoundaryText.of(sentences[: len(sentences) // QUICK] if quick else sentences, is_test)
    return texts


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    return make_table(load(quick), GRID[1::2] if quick else GRID, progress, threads)


def make_table(texts: dict[str, BoundaryText], grid: Sequence[float], progress: Progress, threads: int | None) -> Table:
    rows: list[Row] = []
    remarks = []
    for name, text in texts.items():
        found, verdict = rows_of(name, text, grid, threads)
        rows += found
        remarks.append(verdict)
        progress(verdict)
    title = "Sentence boundaries: maximum entropy on rebuilt text (after Reynar and Ratnaparkhi 1997, Mikheev 2000)"
    return Table("sentence-boundary", title, rows, [*remarks, *REMARKS])
