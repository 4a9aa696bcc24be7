"""Counts of successive labels and of emitted values, and a hidden Markov model's probabilities from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loglin.corpus.columns import Corpus, from_sentences
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.oov import OOV
from loglin.features.template import parse_templates

OOV_CHOICES = ("first", "unseen")


def histories(codes: np.ndarray, offsets: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
    """The two labels before each token, ``start`` where there is none: (tokens,) each, the farther one first."""
    position = np.arange(len(codes)) - np.repeat(offsets[:-1], np.diff(offsets))
    before = np.where(position >= 1, np.roll(codes, 1), start)
    return np.where(position >= 2, np.roll(codes, 2), start), before


def final_states(codes: np.ndarray, offsets: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
    """The last two labels of each sentence, ``start`` where there is none: (sentences,) each."""
    padded, lengths = np.append(codes, start), np.diff(offsets)
    last = np.where(lengths >= 1, offsets[1:] - 1, len(codes))
    return padded[np.where(lengths >= 2, last - 1, len(codes))], padded[last]


def transition_counts(codes: np.ndarray, offsets: np.ndarray, n_labels: int, order: int) -> np.ndarray:
    """How often c follows (a, b), STOP and START included: (H, S, L + 1) as in generative/paths.py."""
    S = n_labels + 1
    a, b = histories(codes, offsets, n_labels)
    ends = final_states(codes, offsets, n_labels)
    a, b = np.concatenate([a, ends[0]]), np.concatenate([b, ends[1]])
    c = np.concatenate([codes, np.full(len(offsets) - 1, n_labels)])
    a = a if order == 2 else np.zeros_like(a)
    H = S if order == 2 else 1
    return np.bincount((a * S + b) * S + c, minlength=H * S * S).reshape(H, S, S).astype(float)


def smoothed_transitions(counts: np.ndarray, weight: float) -> np.ndarray:
    """t(c | a, b) = (n(a, b, c) + λ) / (n(a, b) + λ (L + 1)); rows that cannot occur stay zero."""
    added = np.full(counts.shape, weight)
    if len(counts) > 1:
        added[:-1, -1] = 0  # nothing stands before START but START
    return normalized(counts + added)


def smoothed_emissions(counts: np.ndarray, weight: float, prior: str) -> np.ndarray:
    """e(x | s) from counts n(s, x): (L, V).

    uniform: (n(s, x) + λ) / (n(s) + λ V)      unigram: (n(s, x) + λ p(x)) / (n(s) + λ), a Dirichlet prior of
    mass λ, with p the column's own distribution, in which a value never seen counts once.
    """
    if prior == "uniform":
        return normalized(counts + weight)
    unigram = np.maximum(counts.sum(axis=0), 1)
    return normalized(counts + weight * unigram / unigram.sum())


def normalized(counts: np.ndarray) -> np.ndarray:
    """The counts divided by the sums of their rows; rows of zeros stay zero."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)


def log_of(probabilities: np.ndarray) -> np.ndarray:
    """The logarithms of probabilities, −∞ of those that are zero."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def emission_templates(columns: Sequence[int], oov: str) -> str:
    """The template text whose attributes are the emitted values: one template per column."""
    option = "#! oov=first\n" if oov == "first" else ""
    return "".join(f"U{k}:%x[0,{c}]\n" for k, c in enumerate(columns)) + option


def emission_extractor(corpus: Corpus, columns: Sequence[int], oov: str) -> tuple[TemplateExtractor, np.ndarray]:
    """An extractor fitted to the corpus, and the number of each token's values in each column: (tokens, K)."""
    if not corpus.n_tokens:
        raise LoglinError(f"{corpus.source} has no tokens; a base model is counted from some")
    extractor = TemplateExtractor(parse_templates(emission_templates(columns, oov), "the base model"))
    ids = extractor.fit(corpus, fold=False).tokens.ids.reshape(-1, len(columns))
    return extractor, ids - np.array([table.base for table in extractor.tables])


def oov_numbers(extractor: TemplateExtractor) -> list[int]:
    """The number of <oov> among each column's values: one behind the last if training had none."""
    found = []
    for template, table in zip(extractor.templates.templates, extractor.tables, strict=True):
        code = extractor.vocabularies[template.items[0].view].code(OOV)
        where = np.flatnonzero(table.keys == code)
        found.append(int(where[0]) if len(where) else len(table.keys))
    return found


def value_counts(extractor: TemplateExtractor) -> list[int]:
    """How many values each column has, <oov> included."""
    return [max(len(t.keys), n + 1) for t, n in zip(extractor.tables, oov_numbers(extractor), strict=True)]


def extractor_of_values(values: Sequence[Sequence[str]]) -> TemplateExtractor:
    """An extractor whose column k has just these values, in their order."""
    longest = max(map(len, values))
    rows = list(zip(*([*v, *[v[-1]] * (longest - len(v))] for v in values), strict=True))
    return emission_extractor(from_sentences([rows]), range(len(values)), "unseen")[0]


def check_options(order: int, oov: str, prior: str, smoothing: float, transition_smoothing: float) -> None:
    choices = {"order": (order, (1, 2)), "oov": (oov, OOV_CHOICES), "prior": (prior, ("uniform", "unigram"))}
    for name, (value, allowed) in choices.items():
        if value not in allowed:
            raise LoglinError(f"a base model has no {name} {value!r}; choose {allowed[0]!r} or {allowed[1]!r}")
    for name, weight in (("smoothing", smoothing), ("transition_smoothing", transition_smoothing)):
        if not 0 <= weight < np.inf:
            raise LoglinError(f"{name} is {weight}; give a number of at least 0, which is added to counts")


def are_probabilities(table: np.ndarray) -> bool:
    """Whether no entry is negative and no row sums to more than one."""
    return (
        table.dtype == np.float64
        and bool(np.isfinite(table).all())
        and bool((table >= 0).all())
        and bool((table.sum(axis=-1) < 1 + 1e-6).all())
    )


def checked_columns(corpus: Corpus, columns: Sequence[int] | None) -> list[int]:
    """Column numbers from 0, all columns if none are named."""
    chosen = list(range(len(corpus.columns)) if columns is None else columns)
    for c in chosen:
        corpus.column(c)
    chosen = [c % len(corpus.columns) for c in chosen]
    if not chosen or len(set(chosen)) < len(chosen):
        raise LoglinError(f"a base model cannot emit the columns {chosen}; name at least one, and none twice")
    return chosen


def checked_codes(corpus: Corpus, codes: np.ndarray, n_labels: int) -> np.ndarray:
    """Label codes (tokens,) as int64, every one a label."""
    codes = np.asarray(codes, np.int64)
    if codes.shape != (corpus.n_tokens,):
        raise LoglinError(f"{corpus.source} has {corpus.n_tokens} tokens but {codes.shape} labels; give one per token")
    wrong = np.flatnonzero((codes < 0) | (codes >= n_labels))
    if len(wrong):
        s, t = place(corpus, int(wrong[0]))
        raise LoglinError(
            f"{corpus.source}: sentence {s}, token {t} has no certain label (code {codes[wrong[0]]}), but a base "
            "model is counted from certain ones; leave out sentences with partial labels"
        )
    return codes


def place(corpus: Corpus, token: int) -> tuple[int, int]:
    """The sentence of a token, and its position there."""
    sentence = int(np.searchsorted(corpus.offsets, token, side="right")) - 1
    return sentence, token - int(corpus.offsets[sentence])


def drawn_values(emissions: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A value for every label, with the probabilities of its row: (tokens,) int32."""
    drawn = np.zeros(len(codes), np.int32)
    uniforms = rng.random(len(codes))
    for label, row in enumerate(np.cumsum(emissions, axis=1)):
        of_label = codes == label
        found = np.searchsorted(row, uniforms[of_label] * row[-1], side="right")
        drawn[of_label] = np.minimum(found, len(row) - 1)
    return drawn
