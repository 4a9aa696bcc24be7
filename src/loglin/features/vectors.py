"""Dense vectors that tokens carry: as users give them, and what a model knows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from loglin.corpus.embeddings import Embeddings
from loglin.corpus.sections import Section, of_vocabulary
from loglin.errors import LoglinError
from loglin.features.design import Design, Vectors
from loglin.features.template import Item, TemplateSet, parse_templates

LARGEST = 1e15  # |number|, so that squares stay finite in single precision
NAME = "vector"  # of the group, and before the number of a dimension


@dataclass
class Scale:
    """Mean and deviation by which dimensions are standardized; both empty where numbers are taken as they are."""

    mean: np.ndarray  # (dimensions,) float32, or empty
    deviation: np.ndarray  # (dimensions,) float32, none of them 0, or empty

    @classmethod
    def of(cls, rows: np.ndarray, counts: np.ndarray | None = None) -> Scale:
        """The scale of rows (rows, dimensions), each of which counts so often."""
        mean = np.average(rows, axis=0, weights=counts).astype(np.float64)
        deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=counts))
        same = deviation <= 1e-6 * np.abs(mean)  # but for rounding
        return cls(mean.astype(np.float32), np.where(same | (deviation == 0), 1.0, deviation).astype(np.float32))

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.mean) / self.deviation if len(self.mean) else rows

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"mean": self.mean, "deviation": self.deviation}

    @classmethod
    def from_section(cls, section: Section, size: int) -> Scale:
        known = len(section.array("mean", np.float32))
        section.require(known in (0, size), "mean", "is not one a dimension")
        mean, deviation = (section.finite(name, known, np.float32) for name in ("mean", "deviation"))
        section.require(bool(np.all(deviation > 0)), "deviation", "is not above 0")
        return cls(mean, deviation)


AS_THEY_ARE = Scale(*np.empty((2, 0), np.float32))


@dataclass
class Given:
    """Vectors that users give with their tokens."""

    size: int
    scale: Scale
    title: ClassVar[str] = NAME

    def vectors(self, design: Design, rows: np.ndarray | None) -> Vectors:
        """The vectors of a text's tokens."""
        assert rows is not None
        return Vectors(design.n_attributes, self.scale.of_rows(rows))


@dataclass
class Looked:
    """Vectors of the words that a template looks at, such as U00:%vector[0,0,glove]."""

    title: str  # the template
    item: Item
    table: Embeddings
    scale: Scale

    @property
    def size(self) -> int:
        return self.table.rows.shape[1]

    def places(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        """The distinct rows of the table that tokens have, and for every token its place among them, -1 for none."""
        corpus, offset = design.corpus, self.item.offset
        if corpus is None or not 0 <= self.item.column < len(corpus.columns):
            return np.empty(0, np.int64), np.full(design.n_tokens, -1, np.int64)
        column = corpus.columns[self.item.column]
        used, place = np.unique(self.table.find(column.vocabulary), return_inverse=True)
        known = int(used.searchsorted(0))  # the first that is not -1
        own = (place - known)[column.codes]
        sentence = np.repeat(np.arange(corpus.n_sentences), np.diff(corpus.offsets))
        there = np.arange(len(own)) + offset
        inside = (there >= 0) & (there < len(own))
        there = np.where(inside, there, 0)
        inside &= sentence[there] == sentence
        return used[known:], np.where(inside, own[there], -1)

    def vectors(self, design: Design, rows: np.ndarray | None) -> Vectors:
        """The vectors of a text's tokens: zero for words that the table lacks, and outside sentences."""
        used, place = self.places(design)
        known = self.scale.of_rows(self.table.rows[used])
        zero = np.zeros((1, self.size), np.float32)
        of_token = np.where(place < 0, len(used), place).astype(np.int32)
        return Vectors(design.n_attributes, np.concatenate([known, zero]), of_token)


@dataclass
class VectorSpace:
    """Which vectors a model looks at; their dimensions are attributes, group by group, behind the extractor's."""

    groups: tuple[Given | Looked, ...]

    @property
    def size(self) -> int:
        """The dimensions of all groups."""
        return sum(group.size for group in self.groups)

    @property
    def given(self) -> Given | None:
        """The vectors that come with tokens."""
        return next((group for group in self.groups if isinstance(group, Given)), None)

    @classmethod
    def of(
        cls, design: Design, rows: np.ndarray | None, templates: TemplateSet | None, tables: Mapping, standardize: bool
    ) -> VectorSpace | None:
        """The space of a training corpus: of given vectors (tokens, dimensions), and of templates' tables."""
        groups: list[Given | Looked] = []
        if rows is not None:
            groups.append(Given(rows.shape[1], Scale.of(rows) if standardize and len(rows) else AS_THEY_ARE))
        asked = () if templates is None else templates.vectors
        for name in tables.keys() - {t.items[0].arguments[0] for t in asked}:
            raise LoglinError(
                f"no template looks at the embeddings {name!r}; write %vector[0,0,{name}], or leave them out"
            )
        for template in asked:
            item = template.items[0]
            if item.arguments[0] not in tables:
                raise LoglinError(
                    f"{template.text!r} names vectors {item.arguments[0]!r}; give embeddings={{{item.arguments[0]!r}: "
                    f"FILE}}, or --embeddings {item.arguments[0]}=FILE"
                )
            group = Looked(template.text, item, tables[item.arguments[0]], AS_THEY_ARE)
            used, place = group.places(design)
            if standardize and len(used):
                counts = np.bincount(place[place >= 0], minlength=len(used))
                group.scale = Scale.of(group.table.rows[used], counts)
            groups.append(group)
        return cls(tuple(groups)) if groups else None

    def design(self, design: Design, rows: np.ndarray | None) -> Design:
        """A design of text whose tokens carry these vectors too; ``rows`` are the given ones."""
        for group in self.groups:
            more = group.vectors(design, rows)
            size = design.n_attributes + group.size
            design = replace(design, n_attributes=size, vectors=(*design.vectors, more))
        return design

    def name(self, dimension: int) -> str:
        """The attribute of a dimension as people read it."""
        for group in self.groups:
            if dimension < group.size:
                return f"{group.title}[{dimension}]"
            dimension -= group.size
        raise IndexError(dimension)

    def numbers_in(self, other: VectorSpace | None) -> np.ndarray:
        """For every dimension its number in another space, -1 if it has none: (dimensions,)."""
        first, theirs = 0, {}
        for group in () if other is None else other.groups:
            theirs[group.title, group.size] = first
            first += group.size
        found = [(theirs.get((g.title, g.size)), g.size) for g in self.groups]
        return np.concatenate([np.full(n, -1) if b is None else b + np.arange(n) for b, n in found])

    # ------------------------------------------------------------------ the model file

    def to_section(self) -> Section:
        tables = {id(g.table): g.table for g in self.groups if isinstance(g, Looked)}
        number = {key: n for n, key in enumerate(tables)}
        manifest: dict[str, Any] = {"groups": len(self.groups), "tables": len(tables)}
        section = Section(manifest)
        for n, table in enumerate(tables.values()):
            arrays = of_vocabulary("", table.words) | {"rows": table.rows.reshape(-1)}
            section = section.with_part(f"table{n}", Section({"size": table.rows.shape[1]}, arrays))
        for n, group in enumerate(self.groups):
            about: dict[str, Any] = {"size": group.size}
            if isinstance(group, Looked):
                about = {"template": group.title, "table": number[id(group.table)]}
            section = section.with_part(f"group{n}", Section(about, group.scale.to_arrays()))
        return section

    @classmethod
    def from_section(cls, section: Section) -> VectorSpace:
        tables = []
        for n in range(section.whole("tables", least=0)):
            part = section.part(f"table{n}")
            words, size = part.vocabulary(), part.whole("size")
            rows = part.finite("rows", len(words) * size, np.float32).reshape(-1, size)
            tables.append(Embeddings(words, rows))
        groups: list[Given | Looked] = []
        for n in range(section.whole("groups")):
            part = section.part(f"group{n}")
            if "template" not in part.manifest:
                size = part.whole("size")
                groups.append(Given(size, Scale.from_section(part, size)))
                continue
            text, which = part.value("template", str), part.whole("table", least=0, most=len(tables) - 1)
            (template,) = parse_templates(text, "the model's template").vectors
            group = Looked(text, template.items[0], tables[which], AS_THEY_ARE)
            group.scale = Scale.from_section(part, group.size)
            groups.append(group)
        section.require(sum(isinstance(g, Given) for g in groups) <= 1, "groups", "has several that are given")
        return cls(tuple(groups))


def attribute_name(extractor: Any, space: VectorSpace | None, attribute: int) -> str:
    """The attribute of an extractor, or the dimension of a vector, as people read it."""
    dimension = attribute - extractor.n_attributes
    return extractor.attribute_name(attribute) if space is None or dimension < 0 else space.name(dimension)


def vectors_of(given: Any, offsets: np.ndarray, space: Given | None, name: str = "vectors") -> np.ndarray | None:
    """The vectors of tokens, (tokens, dimensions) float32; None if there are none, and a model of ``space`` needs none.

    They come as one array for every sentence, (its tokens, dimensions), or as one array for all tokens.
    """
    if given is None:
        if space is not None:
            raise LoglinError(
                f"the model was trained with a vector of {space.size} numbers for every token; give {name} too, an "
                "array for every sentence, or FILE.npy"
            )
        return None
    with np.errstate(over="ignore"):  # what single precision cannot hold is refused below
        rows = np.ascontiguousarray(_joined(given, offsets, name), np.float32)
    if space is not None and not len(rows):
        return np.empty((0, space.size), np.float32)
    if space is not None and rows.shape[1] != space.size:
        raise LoglinError(
            f"{name} have {rows.shape[1]} dimensions, but the model was trained with {space.size}; give as many"
        )
    _require_moderate(rows, offsets, name)
    return rows


def with_vectors(space: VectorSpace | None, design: Design, given: Any, name: str = "vectors") -> Design:
    """A design of text for a model of ``space``, whose tokens carry the given vectors, and those of its tables."""
    wanted = None if space is None else space.given
    if wanted is None and given is not None:
        raise LoglinError(f"the model was trained without vectors; leave out {name}, or train it with them")
    return design if space is None else space.design(design, vectors_of(given, design.offsets, wanted, name))


def _joined(given: Any, offsets: np.ndarray, name: str) -> np.ndarray:
    """All vectors as one array (tokens, dimensions) of numbers."""
    n_sentences, n_tokens, lengths = len(offsets) - 1, int(offsets[-1]), np.diff(offsets)
    if isinstance(given, np.ndarray) and given.ndim == 2:
        if len(given) != n_tokens:
            raise LoglinError(f"{name} has {len(given):,} rows for {n_tokens:,} tokens; give one for each token")
        return _numbers(given, name)
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | np.ndarray):
        raise LoglinError(f"{name} is {given!r:.60}; give an array (tokens, dimensions) for each sentence")
    if len(given) != n_sentences:
        raise LoglinError(
            f"there are {n_sentences:,} sentences but {len(given):,} arrays of {name}; give one for each sentence, or "
            "one array for all tokens"
        )
    parts, size = [], None
    for s, (part, length) in enumerate(zip(given, lengths.tolist(), strict=True)):
        place = f"{name} of sentence {s}"
        part = _numbers(part, place)
        if part.size == 0 and length == 0:
            continue
        if part.ndim != 2 or len(part) != length:
            raise LoglinError(f"{place}: the shape is {part.shape}, but it has {length} tokens; give one row for each")
        size = part.shape[1] if size is None else size
        if part.shape[1] != size:
            raise LoglinError(f"{place} have {part.shape[1]} dimensions, but those before have {size}; give as many")
        parts.append(part)
    return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)


def _numbers(given: Any, place: str) -> np.ndarray:
    try:
        found = np.asarray(given)
    except (TypeError, ValueError):  # lists of different lengths
        found = np.empty(0, object)
    if found.dtype.kind not in "fiub":
        raise LoglinError(
            f"{place}: {given!r:.60} is no array of numbers; give an array (tokens, dimensions) of floats"
        )
    return found


def _require_moderate(rows: np.ndarray, offsets: np.ndarray, name: str) -> None:
    if rows.size and max(float(rows.max()), -float(rows.min())) <= LARGEST:  # false with NaN
        return
    for first in range(0, len(rows), 4096):  # to find the first one without much memory
        wrong = np.argwhere(~(np.abs(rows[first : first + 4096]) <= LARGEST))
        if len(wrong):
            token, dimension = first + int(wrong[0, 0]), int(wrong[0, 1])
            s = int(np.searchsorted(offsets, token, side="right")) - 1
            raise LoglinError(
                f"{name}: sentence {s}, token {token - offsets[s]} has {rows[token, dimension]} in dimension "
                f"{dimension}; give finite numbers between -{LARGEST:g} and {LARGEST:g}"
            )
