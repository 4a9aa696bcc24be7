"""Hidden Markov models over labels that emit the columns of each token: the base model q0 of M-estimation.

    q0(x, y) = Π_t t(y_t | y_{t-2}, y_{t-1}) Π_k e_k(x_{t,k} | y_t) · t(STOP | y_{n-1}, y_n)           (Eq. 8)

The columns are independent given the label. START and STOP are silent. Order 1 looks one label back.
Estimated by counting; every sum over all sentences is exact, see generative/paths.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from loglin.corpus.columns import Column, Corpus
from loglin.corpus.sections import Section
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.oov import OOV
from loglin.generative import counting, paths
from loglin.structures.chain import Chain

Parts = tuple[np.ndarray, np.ndarray, np.ndarray | None]
Legal = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class HMM:
    """A hidden Markov model of labels and of the columns of their tokens, of order 1 or 2."""

    labels: list
    order: int
    extractor: TemplateExtractor  # one template U{k}:%x[0,c] per emitted column; its attributes are the values
    transition: np.ndarray  # (H, S, L + 1): t[a, b, c], sources end with START, successors with STOP
    emissions: list[np.ndarray]  # (L, V_k) per emitted column

    # ------------------------------------------------------------------ estimates

    @classmethod
    def fit(
        cls,
        corpus: Corpus,
        codes: np.ndarray,
        labels: list,
        *,
        order: int = 2,
        columns: Sequence[int] | None = None,
        smoothing: float = 1.0,
        prior: str = "uniform",
        transition_smoothing: float = 0.0,
        oov: str = "first",
    ) -> HMM:
        """A model of smoothed relative frequencies in labelled text.

        ``smoothing`` λ is added to the count of every emission (prior "uniform") or is the mass of a Dirichlet
        prior around the column's own distribution ("unigram"); ``transition_smoothing`` to that of every
        successor. With oov "first" the first occurrence of every value is read as <oov>; with "unseen" <oov>
        has the count 0.
        """
        counting.check_options(order, oov, prior, smoothing, transition_smoothing)
        codes = counting.checked_codes(corpus, codes, len(labels))
        columns = counting.checked_columns(corpus, columns)
        counts = counting.transition_counts(codes, corpus.offsets, len(labels), order)
        extractor, values = counting.emission_extractor(corpus, columns, oov)
        emissions = []
        for k, size in enumerate(counting.value_counts(extractor)):
            seen = np.bincount(codes * size + values[:, k], minlength=len(labels) * size).reshape(-1, size)
            emissions.append(counting.smoothed_emissions(seen, smoothing, prior))
        transition = counting.smoothed_transitions(counts, transition_smoothing)
        return cls(list(labels), order, extractor, transition, emissions)

    @classmethod
    def locally_uniform(
        cls,
        corpus: Corpus,
        codes: np.ndarray,
        labels: list,
        *,
        columns: Sequence[int] | None = None,
        oov: str = "first",
        legal: Legal | None = None,
    ) -> HMM:
        """A model in which every label that can follow is as likely as any other and as STOP (Eq. 15).

        What can follow is given as ``legal`` (corpus/schemes.py), or is what the data show; an empty sentence is
        always possible. Emissions do not depend on the label: add-one estimates of the columns' values.
        """
        counting.check_options(1, oov, "uniform", 1.0, 0.0)
        codes = counting.checked_codes(corpus, codes, len(labels))
        columns = counting.checked_columns(corpus, columns)
        L = len(labels)
        if legal is None:
            follows = counting.transition_counts(codes, corpus.offsets, L, 1) > 0
        else:
            pairs, first, last = legal
            follows = np.block([[pairs, last[:, None]], [first[None], np.ones((1, 1), bool)]])[None]
        follows[0, L, L] = True
        extractor, values = counting.emission_extractor(corpus, columns, oov)
        emissions = []
        for k, size in enumerate(counting.value_counts(extractor)):
            seen = np.bincount(values[:, k], minlength=size)
            emissions.append(np.tile(counting.smoothed_emissions(seen, 1.0, "uniform"), (L, 1)))
        return cls(list(labels), 1, extractor, counting.normalized(follows.astype(float)), emissions)

    @classmethod
    def of(
        cls, labels: list, transition: np.ndarray, emissions: Sequence[np.ndarray], values: Sequence[Sequence[str]]
    ) -> HMM:
        """A model of given probabilities: transition (S, L + 1) or (S, S, L + 1), emissions (L, len(values[k])) each.

        A last emission column may be added for <oov>, otherwise other values are impossible.
        """
        t = np.array(transition, float)
        t = t[None] if t.ndim == 2 else t
        tables = [np.atleast_2d(np.array(e, float)) for e in emissions]
        missing = [max(len(v) + 1 - e.shape[1], 0) for e, v in zip(tables, values, strict=True)]
        tables = [np.pad(e, ((0, 0), (0, m))) for e, m in zip(tables, missing, strict=True)]
        hmm = cls(list(labels), 1 if len(t) == 1 else 2, counting.extractor_of_values(values), t, tables)
        if not hmm.is_consistent():
            raise LoglinError(
                f"the probabilities do not fit {len(labels)} labels and {[len(v) for v in values]} values; give "
                "(L + 1, L + 1) transitions with START and STOP last, and rows that sum to at most one"
            )
        return hmm

    def with_labels(self, labels: Sequence) -> HMM:
        """The same model with its labels in another order."""
        if sorted(map(str, labels)) != sorted(map(str, self.labels)):
            raise LoglinError(f"the base model has the labels {self.labels}, the data {list(labels)}; give the same")
        order = np.array([self.labels.index(label) for label in labels])
        ends = np.append(order, len(order))  # START, or STOP, stays last
        histories = ends if self.order == 2 else np.zeros(1, int)
        transition = self.transition[np.ix_(histories, ends, ends)]
        return replace(self, labels=list(labels), transition=transition, emissions=[e[order] for e in self.emissions])

    # ------------------------------------------------------------------ what is emitted

    @property
    def oov(self) -> str:
        return "first" if self.extractor.templates.oov == "first" else "unseen"

    @property
    def columns(self) -> list[int]:
        return [template.items[0].column for template in self.extractor.templates.templates]

    @cached_property
    def values(self) -> list[Vocabulary]:
        """The values of each emitted column, <oov> included, in the order of its emissions."""
        found = []
        for c, table in zip(self.columns, self.extractor.tables, strict=True):
            strings = self.extractor.vocabularies[c, "x", ()].strings
            found.append(Vocabulary.of([strings[k] for k in table.keys.tolist()]))
        sizes = counting.value_counts(self.extractor)
        return [v.merged(Vocabulary.of([OOV]))[0] if len(v) < n else v for v, n in zip(found, sizes, strict=True)]

    def emitted(self, corpus: Corpus) -> np.ndarray:
        """The number of every token's value in each emitted column, unknown ones as <oov>: (tokens, K)."""
        ids = self.extractor.transform(corpus).tokens.ids.reshape(corpus.n_tokens, len(self.columns))
        numbers = counting.oov_numbers(self.extractor)
        for k, (table, unknown) in enumerate(zip(self.extractor.tables, numbers, strict=True)):
            ids[:, k] = np.where(ids[:, k] < 0, unknown, ids[:, k] - table.base)
        return ids

    def emission_scores(self, corpus: Corpus) -> np.ndarray:
        """Σ_k log e_k(x_{t,k} | c): (tokens, labels)."""
        scores = np.zeros((corpus.n_tokens, len(self.labels)))
        values = self.emitted(corpus)
        for k, table in enumerate(self.emissions):
            scores += counting.log_of(table.T)[values[:, k]]
        return scores

    # ------------------------------------------------------------------ sentences

    def steps(self) -> np.ndarray:
        """log t with START and STOP as labels L and L + 1, as lattices have them: (1 or L + 2, L + 2, L + 2)."""
        L, (H, S) = len(self.labels), self.transition.shape[:2]
        W = np.full((H if H == 1 else S + 1, S + 1, S + 1), -np.inf)
        W[:H, :S, :L], W[:H, :S, L + 1] = (
            counting.log_of(self.transition[:, :, :L]),
            counting.log_of(self.transition[:, :, L]),
        )
        return W

    def chain_parts(self, corpus: Corpus) -> Iterator[Parts]:
        """For each sentence scores, transitions and trigrams with Chain(…).score(y) = log q0(x, y)."""
        L, t = len(self.labels), counting.log_of(self.transition)
        scores, offsets = self.emission_scores(corpus), corpus.offsets.tolist()
        some = np.diff(corpus.offsets) > 0
        first, last = corpus.offsets[:-1][some], corpus.offsets[1:][some] - 1
        scores[first] += t[-1, L, :L]
        if self.order == 1:
            scores[last] += t[0, :L, L]
        else:
            scores[first[first == last]] += t[L, :L, L]  # START, c, STOP
        second, final, inner = t[-1, :L, :L], t[:L, :L, L], np.ascontiguousarray(t[:L, :L, :L])
        for b, e in pairwise(offsets):
            n = max(e - b - 1, 0)
            if self.order == 1:
                yield scores[b:e], np.broadcast_to(inner[0], (n, L, L)), None
                continue
            transitions = np.zeros((n, L, L))
            transitions[:1] += second
            transitions[-1:] += final
            yield scores[b:e], transitions, inner

    def chains(self, corpus: Corpus) -> Iterator[Chain]:
        """The distribution q0(y | x) of each sentence, up to its normalization."""
        return (Chain(*parts) for parts in self.chain_parts(corpus))

    def log_probability(self, corpus: Corpus, codes: np.ndarray) -> np.ndarray:
        """log q0(x, y) of each sentence: (sentences,)."""
        codes = counting.checked_codes(corpus, codes, len(self.labels))
        steps, stops = self._label_scores(corpus, codes)
        tokens = steps + self.emission_scores(corpus)[np.arange(len(codes)), codes]
        sentence = np.repeat(np.arange(corpus.n_sentences), np.diff(corpus.offsets))
        return stops + np.bincount(sentence, tokens, corpus.n_sentences)

    def predict(self, corpus: Corpus) -> np.ndarray:
        """The most probable labels of every token: (tokens,)."""
        codes = np.empty(corpus.n_tokens, np.int64)
        for s, chain in enumerate(self.chains(corpus)):
            try:
                codes[corpus.offsets[s] : corpus.offsets[s + 1]] = chain.best()[0]
            except LoglinError:
                raise LoglinError(
                    f"{corpus.source}: sentence {s} has probability zero under the base model; smooth it"
                ) from None
        return codes

    def check_support(self, corpus: Corpus, codes: np.ndarray) -> None:
        """Refuse data that are impossible under the base model, naming the first such token."""
        codes = counting.checked_codes(corpus, codes, len(self.labels))
        steps, stops = self._label_scores(corpus, codes)
        emitted, names = self.emitted(corpus), [str(label) for label in self.labels]
        problems: list[tuple[int, str]] = []
        for k, table in enumerate(self.emissions):
            for token in np.flatnonzero(table[codes, emitted[:, k]] == 0)[:1].tolist():
                column = corpus.columns[self.columns[k]]
                value = column.vocabulary[int(column.codes[token])]
                problems.append((token, f"{value!r} in column {self.columns[k]} with label {names[codes[token]]!r}"))
        problems += [(t, f"label {names[codes[t]]!r} there") for t in np.flatnonzero(steps == -np.inf)[:1].tolist()]
        for s in np.flatnonzero(stops == -np.inf)[:1].tolist():
            last = int(corpus.offsets[s + 1]) - 1
            if last < corpus.offsets[s]:
                raise LoglinError(f"{corpus.source}: sentence {s} is empty, which has probability zero; leave it out")
            problems.append((last, f"an end behind label {names[codes[last]]!r}"))
        if problems:
            token, what = min(problems)
            s, t = counting.place(corpus, token)
            raise LoglinError(
                f"{corpus.source}: sentence {s}, token {t}: the base model gives {what} probability zero; smooth it"
            )

    def _label_scores(self, corpus: Corpus, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log t into each token's label (tokens,), and to STOP (sentences,)."""
        t, L = counting.log_of(self.transition), len(self.labels)
        a, b = counting.histories(codes, corpus.offsets, L)
        y, z = counting.final_states(codes, corpus.offsets, L)
        if self.order == 1:
            a, y = np.zeros_like(a), np.zeros_like(y)
        return t[a, b, codes], t[y, z, L]

    def sample(self, n: int, rng: np.random.Generator, longest: int = 1000) -> tuple[Corpus, np.ndarray]:
        """n independent sentences and their labels."""
        L = len(self.labels)
        ends = np.cumsum(self.transition, axis=2)
        a, b, drawn = np.full(n, L), np.full(n, L), []
        while (b >= 0).any():
            running = b >= 0  # −1 behind STOP
            row = ends[a[running] if self.order == 2 else 0, b[running]]
            c = (rng.random(len(row))[:, None] * row[:, -1:] >= row[:, :-1]).sum(axis=1)
            a, b = b, np.full(n, -1)
            b[running] = np.where(c < L, c, -1)
            drawn.append(b)
            if len(drawn) > longest:
                raise LoglinError(f"a sampled sentence has more than {longest} tokens; give a larger longest")
        table = np.stack([*drawn, np.full(n, -1)], axis=1)
        codes, lengths = table[table >= 0], (table >= 0).sum(axis=1)
        columns = [Column(np.zeros(len(codes), np.int32), Vocabulary.of(["_"])) for _ in range(max(self.columns) + 1)]
        for k, c in enumerate(self.columns):
            columns[c] = Column(counting.drawn_values(self.emissions[k], codes, rng), self.values[k])
        return Corpus(columns, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), "sample"), codes

    # ------------------------------------------------------------------ sums over all sentences

    @cached_property
    def sums(self) -> paths.PathSums:
        return paths.solve(self.transition, self._state_name)

    def visits(self) -> np.ndarray:
        """The expected number of tokens of a sentence with each label: (labels,)."""
        return self.sums.into.sum(axis=0)[:-1]

    def expected_length(self) -> float:
        return float(self.visits().sum())

    def gaps(self) -> np.ndarray:
        """G = Σ_{n≥1} tⁿ, weights of all paths between two states: (S, S), or (S, S, S, S) in order 2."""
        full = self.sums.gaps()
        return full[0, :, 0] if self.order == 1 else full

    def expected_gap(
        self,
        first,
        second,
        first_values: Mapping[int, str] | None = None,
        second_values: Mapping[int, str] | None = None,
    ) -> float:
        """Expected times that label ``second`` follows ``first`` at any distance (§4.1.1, features with gaps).

        With values {column: value}, only tokens that emit them count.
        """
        r, s = self._code(first), self._code(second)
        targets = np.zeros(self.sums.reached.shape)
        targets[:, s] = self._emission(s, second_values)
        ways = self.sums.into[:, r] @ self.sums.before(targets)[:, r]
        return float(ways * self._emission(r, first_values))

    def _emission(self, label: int, values: Mapping[int, str] | None) -> float:
        probability = 1.0
        for c, value in (values or {}).items():
            if c not in self.columns:
                raise LoglinError(f"the base model does not emit column {c}; it emits {self.columns}")
            k = self.columns.index(c)
            code = self.values[k].code(value)
            code = self.values[k].code(OOV) if code < 0 else code
            probability *= self.emissions[k][label, code]
        return probability

    def _code(self, label) -> int:
        if label not in self.labels:
            raise LoglinError(f"the base model has no label {label!r}; it has {', '.join(map(str, self.labels))}")
        return self.labels.index(label)

    def _state_name(self, a: int, b: int) -> str:
        names = [*map(repr, self.labels), "START"]
        return names[b] if self.order == 1 else f"{names[a]}, {names[b]}"

    # ------------------------------------------------------------------ the model file

    def to_section(self) -> Section:
        arrays = {f"emission.{k}": table.ravel() for k, table in enumerate(self.emissions)}
        manifest = {"labels": self.labels, "order": self.order, "columns": self.columns, "oov": self.oov}
        section = Section(manifest, arrays | {"transition": self.transition.ravel()})
        return section.with_part("values", self.extractor.to_section())

    @classmethod
    def from_section(cls, section: Section) -> HMM:
        labels, order = section.labels("labels"), section.choice("order", (1, 2))
        columns, oov = section.names("columns", int), section.choice("oov", counting.OOV_CHOICES)
        section.require(len(labels) > 0, "labels", "is empty")
        section.require(len(columns) > 0 and all(c >= 0 for c in columns), "columns", "holds no columns")
        values = section.part("values")
        template = counting.emission_templates(columns, oov).rstrip("\n")
        values.require(values.value("template", str) == template, "template", "is none of a hidden Markov model")
        S = len(labels) + 1
        transition = section.array("transition", np.float64).reshape(S if order == 2 else 1, S, S)
        emissions = [section.array(f"emission.{k}", np.float64).reshape(S - 1, -1) for k in range(len(columns))]
        hmm = cls(labels, order, TemplateExtractor.from_section(values), transition, emissions)
        section.require(hmm.is_consistent(), "transition, emission and values", "hold no probabilities of its labels")
        return hmm

    def is_consistent(self) -> bool:
        """Whether the tables have shapes that fit the labels and values, and rows of probabilities."""
        S = len(self.labels) + 1
        return (
            all(isinstance(label, str | int | float) for label in self.labels)
            and self.transition.shape == (S if self.order == 2 else 1, S, S)
            and len(self.emissions) == len(self.extractor.tables)
            and all(
                len(table.keys) and int(table.keys.max()) < len(self.extractor.vocabularies[c, "x", ()])
                for c, table in zip(self.columns, self.extractor.tables, strict=True)
            )
            and [e.shape for e in self.emissions] == [(S - 1, n) for n in counting.value_counts(self.extractor)]
            and all(counting.are_probabilities(a) for a in (self.transition, *self.emissions))
        )
