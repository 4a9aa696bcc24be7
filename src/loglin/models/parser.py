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

from loglin.corpus.columns import Corpus, first_tokens, from_sentences
from loglin.corpus.labels import check_number
from loglin.corpus.sections import Section
from loglin.corpus.shown import Shown
from loglin.corpus.trees import Tree
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
from loglin.models import files
from loglin.models.kinds import PARSE, Kind, load, save
from loglin.structures.forest import Forests
from loglin.structures.tree_scores import Base, TreeDesign, TreeIndex, scores_with, token_matrix

LOCAL = {"global": 0, "local": 1, "nota": 2}  # how rules score: as they are, normalized, with none of the above


@dataclass
class ParserModel(Shown):
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

    @property
    def kind(self) -> Kind:
        return PARSE

    def save(self, path: str | os.PathLike) -> None:
        """Write the model; on failure an older file of that name is left as it was."""
        save(path, self.to_section())

    def to_section(self) -> Section:
        """The model as a file has it."""
        g, index = self.grammar, self.index
        header = {
            "version": files.VERSION,
            "task": self.kind.name,
            "coder": None if self.coder is None else self.coder.to_dict(),
            "symbols": g.symbols,
            "decoding": self.decoding,
            "as_terminals": self.as_terminals,
            "record": self.record,
        }
        arrays = {"binary": g.binary.reshape(-1), "unary": g.unary.reshape(-1), "tags": index.tags}
        arrays |= {"base.rules": self.base.rules, "base.roots": self.base.roots, "weights": self.weights}
        arrays |= {"token.ptr": index.tokens.ptr, "token.labels": index.tokens.labels}
        section = Section(header, arrays | index.spans.to_arrays())
        for name, part in (("lexicon", self.lexicon), ("tokens", self.tokens), ("spans", self.spans)):
            if part is not None:
                section = section.with_part(name, part.to_section())
        return section

    @classmethod
    def load(cls, path: str | os.PathLike) -> ParserModel:
        """Open a model file; a damaged or foreign one is refused with a sentence."""
        return load(path, "parser.ParserModel")

    @classmethod
    def from_section(cls, section: Section, kind: Kind = PARSE) -> ParserModel:
        grammar = Grammar(
            section.names("symbols"),
            section.array("binary", np.int32).reshape(-1, 3),
            section.array("unary", np.int32).reshape(-1, 2),
        )
        section.require(grammar.is_consistent(), "binary, unary or symbols", "are no rules in their order")
        tags = section.rising("tags", np.int32, grammar.n_symbols)
        section.require(len(tags) > 0, "tags", "is empty")
        words, brackets = section.optional("tokens"), section.optional("spans")
        tokens = TemplateExtractor.from_section(words) if words else None
        spans = SpanExtractor.from_section(brackets) if brackets else None
        labels = section.numbers("token.labels", np.uint16, len(tags))
        ptr = section.cuts("token.ptr", len(labels), tokens.n_attributes if tokens else 0)
        sizes = (spans.n_attributes, spans.n_split_attributes) if spans else (0, 0)
        span_index = SpanIndex.from_section(section, (grammar.n_rules, grammar.n_symbols), sizes)
        index = TreeIndex(grammar, tags, span_index, token_index(len(tags), ptr, labels))
        base, lexicon = section.part("base"), Lexicon.from_section(section.part("lexicon"))
        section.require(np.array_equal(lexicon.tags, tags), "lexicon.tags", "are not those of the grammar")
        return cls(
            None if section.get("coder") is None else TreeCoder.from_dict(section.get("coder")),
            index,
            Base(base.log_probabilities("rules", grammar.n_rules), base.log_probabilities("roots", grammar.n_symbols)),
            lexicon,
            section.finite("weights", index.n_features),
            tokens,
            spans,
            section.choice("decoding", LOCAL),
            section.record(),
            section.value("as_terminals", bool),
        )


def token_index(n_tags: int, ptr: np.ndarray | None = None, labels: np.ndarray | None = None) -> FeatureIndex:
    """An index of (token attribute, tag) pairs alone; of none, without lists."""
    check_number(n_tags)
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
    leaves = lexicon.scores(
        [word for sentence in words for (word, *_) in sentence], first_tokens(corpus.offsets).tolist()
    )
    n, nothing = corpus.n_tokens, np.empty((0, 0), np.int32)
    matrix = sp.csr_matrix((n, 0)) if tokens is None else token_matrix(tokens)
    if spans is None:
        return TreeDesign(matrix, nothing, nothing, leaves)
    return TreeDesign(matrix, spans.attributes, spans.splits, leaves)
