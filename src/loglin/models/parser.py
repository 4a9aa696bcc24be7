"""A trained parser in one file: how trees are encoded, grammar, lexicon, templates, weights.

    sentences ──► token and span attributes, what the lexicon says ──► TreeDesign ──► scores of rules, leaves and roots

The score of a tree is that of a base (a PCFG, or only its lexicon and roots) plus w·f; see structures/tree_scores.py.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex
from loglin.features.span_index import SpanIndex
from loglin.features.spans import SpanDesign, SpanExtractor
from loglin.generative.lexicon import Lexicon
from loglin.grammars.grammar import Grammar
from loglin.grammars.normal_form import restored
from loglin.grammars.transforms import TreeCoder
from loglin.kernels.forest_scores import Scores
from loglin.models.chain import VERSION, arrays_named, read_arrays, write_arrays
from loglin.structures.forest import Forests
from loglin.structures.tree_scores import Base, TreeDesign, TreeIndex, scores_with, token_matrix

LOCAL = {"global": 0, "local": 1, "nota": 2}  # how rules score: as they are, normalized, with none of the above


@dataclass
class ParserModel:
    coder: TreeCoder | None  # None: the grammar is from a file, with rules of any length
    index: TreeIndex
    base: Base
    lexicon: Lexicon
    weights: np.ndarray
    tokens: TemplateExtractor | None = None
    spans: SpanExtractor | None = None
    decoding: str = "global"
    record: dict = field(default_factory=dict)
    as_terminals: bool = False  # templates see words as the lexicon reads them, rare ones as signatures

    @property
    def grammar(self) -> Grammar:
        return self.index.grammar

    def design(self, sentences: Sequence[Sequence[str]]) -> TreeDesign:
        """The attributes of sentences, and what the lexicon says of their words."""
        corpus = words_seen(sentences, self.lexicon, self.as_terminals)
        tokens = None if self.tokens is None else self.tokens.transform(corpus)
        spans = None if self.spans is None else self.spans.transform(corpus)
        return tree_design(corpus, self.lexicon, tokens, spans)

    def scores(self, sentences: Sequence[Sequence[str]]) -> Scores:
        return scores_with(self.index, self.base, self.design(sentences), self.weights, LOCAL[self.decoding])

    def forests(self, sentences: Sequence[Sequence[str]]) -> Forests:
        return Forests.of_sentences(self.grammar, self.index.tags, [len(s) for s in sentences])

    def decoded(self, tree: Tree) -> Tree:
        """The tree that people know for one in the grammar's normal form."""
        return restored(tree) if self.coder is None else self.coder.decode(tree)

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike) -> None:
        """Write the model; on failure an older file of that name is left as it was."""
        g, index = self.grammar, self.index
        header: dict = {
            "version": VERSION,
            "task": "parse",
            "coder": None if self.coder is None else self.coder.to_dict(),
            "symbols": g.symbols,
            "decoding": self.decoding,
            "as_terminals": self.as_terminals,
            "record": self.record,
        }
        arrays = {"binary": g.binary.reshape(-1), "unary": g.unary.reshape(-1), "tags": index.tags}
        arrays |= {"base.rules": self.base.rules, "base.roots": self.base.roots, "weights": self.weights}
        spans, tokens = index.spans, index.tokens
        arrays |= {"span.ptr": spans.ptr, "span.targets": spans.targets}
        arrays |= {"split.ptr": spans.split_ptr, "split.rules": spans.split_rules}
        arrays |= {"token.ptr": tokens.ptr, "token.labels": tokens.labels}
        header["lexicon"], lexicon = self.lexicon.to_arrays()
        arrays |= {f"lexicon.{name}": array for name, array in lexicon.items()}
        for kind, extractor in (("tokens", self.tokens), ("spans", self.spans)):
            if extractor is not None:
                header[kind], found = extractor.to_arrays()
                arrays |= {f"{kind}.{name}": array for name, array in found.items()}
        write_arrays(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike) -> ParserModel:
        """Open a model file; a damaged or foreign one is refused with a sentence."""
        arrays, header = read_arrays(path)
        if header.get("task") != "parse":
            raise LoglinError(f"{path} holds no parser; train one with loglin parse-train")
        try:
            model = cls._of(header, arrays)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise LoglinError(f"{path} is no complete parser: {error}; train it again") from error
        if not model._is_consistent():
            raise LoglinError(f"{path} is damaged: its tables do not fit together; train it again")
        return model

    @classmethod
    def _of(cls, header: dict, arrays: dict[str, np.ndarray]) -> ParserModel:
        grammar = Grammar(header["symbols"], arrays["binary"].reshape(-1, 3), arrays["unary"].reshape(-1, 2))
        spans = SpanIndex(
            grammar.n_rules,
            grammar.n_symbols,
            *(arrays[name] for name in ("span.ptr", "span.targets", "split.ptr", "split.rules")),
        )
        tags = arrays["tags"]
        tokens = token_index(len(tags), arrays["token.ptr"], arrays["token.labels"])
        return cls(
            None if header["coder"] is None else TreeCoder.from_dict(header["coder"]),
            TreeIndex(grammar, tags, spans, tokens),
            Base(arrays["base.rules"], arrays["base.roots"]),
            Lexicon.from_arrays(header["lexicon"], arrays_named(arrays, "lexicon.")),
            arrays["weights"],
            TemplateExtractor.from_arrays(header["tokens"], arrays_named(arrays, "tokens."))
            if "tokens" in header
            else None,
            SpanExtractor.from_arrays(header["spans"], arrays_named(arrays, "spans.")) if "spans" in header else None,
            header["decoding"],
            header["record"],
            header["as_terminals"],
        )

    def _is_consistent(self) -> bool:
        """Numbers that kernels will follow stay inside their arrays."""
        g, index = self.grammar, self.index
        N, K = g.n_symbols, len(index.tags)
        n_tokens = self.tokens.n_attributes if self.tokens is not None else 0
        n_spans = (self.spans.n_attributes, self.spans.n_split_attributes) if self.spans is not None else (0, 0)
        rising, labels = np.diff(index.tokens.ptr), index.tokens.labels
        return (
            isinstance(self.record, dict)
            and self.decoding in LOCAL
            and isinstance(self.as_terminals, bool)
            and g.is_consistent()
            and index.tags.dtype == np.int32
            and K > 0
            and 0 <= int(index.tags.min()) <= int(index.tags.max()) < N
            and bool((np.diff(index.tags) > 0).all())
            and self.lexicon.is_consistent()
            and np.array_equal(self.lexicon.tags, index.tags)
            and all(a.dtype == np.float64 for a in (self.base.rules, self.base.roots, self.weights))
            and (len(self.base.rules), len(self.base.roots), len(self.weights)) == (g.n_rules, N, index.n_features)
            and not any(bool((np.isnan(a) | (a == np.inf)).any()) for a in (self.base.rules, self.base.roots))
            and bool(np.isfinite(self.weights).all())
            and index.spans.is_consistent()
            and (len(index.spans.ptr) - 1, len(index.spans.split_ptr) - 1) == n_spans
            and index.tokens.ptr.dtype == np.int64
            and labels.dtype == np.uint16
            and len(index.tokens.ptr) == n_tokens + 1
            and int(index.tokens.ptr[0]) == 0
            and int(index.tokens.ptr[-1]) == len(labels)
            and bool((rising >= 0).all())
            and (not len(labels) or int(labels.max()) < K)
            and (self.tokens is None or self.tokens.is_consistent())
            and (self.spans is None or self.spans.is_consistent())
        )


def token_index(n_tags: int, ptr: np.ndarray | None = None, labels: np.ndarray | None = None) -> FeatureIndex:
    """An index of (token attribute, tag) pairs alone; of none, without lists."""
    none = np.empty(0, np.int32)
    ptr = np.zeros(1, np.int64) if ptr is None else ptr
    labels = np.empty(0, np.uint16) if labels is None else labels
    return FeatureIndex(n_tags, ptr, labels, np.zeros(1, np.int64), none, none, np.empty(0, np.int64))


def words_seen(sentences: Sequence[Sequence[str]], lexicon: Lexicon, as_terminals: bool) -> Corpus:
    """Sentences as templates see them."""
    return from_sentences([lexicon.read(words) for words in sentences] if as_terminals else sentences)


def tree_design(corpus: Corpus, lexicon: Lexicon, tokens: Design | None, spans: SpanDesign | None) -> TreeDesign:
    """What the criteria on trees read of sentences."""
    words = corpus.sentences()
    first = np.zeros(corpus.n_tokens, bool)
    first[corpus.offsets[:-1][np.diff(corpus.offsets) > 0]] = True
    leaves = lexicon.scores([word for sentence in words for (word, *_) in sentence], first.tolist())
    n, nothing = corpus.n_tokens, np.empty((0, 0), np.int32)
    matrix = sp.csr_matrix((n, 0)) if tokens is None else token_matrix(tokens)
    if spans is None:
        return TreeDesign(matrix, nothing, nothing, leaves)
    return TreeDesign(matrix, spans.attributes, spans.splits, leaves)
