"""Files of any format tagged part by part."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from loglin.corpus.columns import Corpus
from loglin.corpus.formats import Answer, Format, Layout, Stretch, registered
from loglin.corpus.npy import Rows
from loglin.corpus.sentences import as_json
from loglin.decoding.chains import Decoder
from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.features.extract import TemplateExtractor


def n_tokens(inputs: Corpus | list[list]) -> int:
    """How many tokens columns, or sentences of attributes, have."""
    return inputs.n_tokens if isinstance(inputs, Corpus) else sum(map(len, inputs))


def layout_of(decoder: Decoder, form: Format, path: str) -> Layout:
    """What the model says of the file that it was trained on; raise if it cannot read the format of ``path``."""
    extractor, record = decoder.model.extractor, decoder.model.record
    words = isinstance(extractor, TemplateExtractor)
    if not words and not form.attributes:
        known = " or ".join(name for name, other in registered().items() if other.attributes)
        raise LoglinError(f"the model looks at attributes, but {path} is read as words; give --format {known}")
    trained, column = record.get("columns", 0), record.get("label_column", -1)
    if type(trained) is not int or type(column) is not int or (trained and not -trained <= column < trained):
        raise LoglinError(f"the model is damaged: it says label column {column!r} of {trained!r}; train it again")
    needed = extractor.templates.columns if isinstance(extractor, TemplateExtractor) else 0
    named = record.get("table")
    return Layout(words, trained, column, needed, named if isinstance(named, dict) else {})


def tagged(
    decoder: Decoder,
    path: str,
    form: Format,
    encoding: str = "utf-8",
    *,
    marginals: bool = False,
    nbest: int | None = None,
    json: bool = False,
    stretches: Iterable[Stretch] | None = None,
    vectors: Rows | None = None,
) -> Iterator[tuple[int, bytes]]:
    """(number of tokens, text) of every stretch of the output; ``stretches`` may have been read ahead.

    ``vectors`` are those of the tokens of the whole text.
    """
    json = json or form.as_json
    if (marginals or nbest) and not json and form.cramped:
        raise LoglinError(f"{form.cramped} has no room for probabilities or several answers; add --json")
    layout, labels = layout_of(decoder, form, path), decoder.model.labels
    names = [str(label) for label in labels]
    decoder.prepare()
    for stretch in stretches or form.trained(layout).stretches(path, encoding):
        if not stretch.n_sentences:
            yield 0, b"" if json else stretch.labeled(np.empty(0, np.int32), names, layout)
            continue
        inputs = stretch.inputs(layout)
        rows = None if vectors is None else vectors.take(n_tokens(inputs))
        design = decoder.design(inputs, not (json or marginals or nbest), rows)
        if json:
            answers = zip(stretch.sentences(), _answers(decoder, design, marginals, nbest), strict=True)
            lines = (as_json(tokens, ranked, labels, bool(nbest)) for tokens, ranked in answers)
            yield design.n_tokens, "".join(line + "\n" for line in lines).encode()
        elif marginals or nbest:
            answered = _answers(decoder, design, marginals, nbest)
            yield design.n_tokens, stretch.detailed(answered, names, bool(nbest))
        else:
            yield design.n_tokens, stretch.labeled(decoder.best(design), names, layout)
    if vectors is not None:
        vectors.end()


def _answers(decoder: Decoder, design: Design, marginals: bool, nbest: int | None) -> Iterator[list[Answer]]:
    """The answers for every sentence, best first."""
    text = decoder.scored(design)
    rows = text.marginals() if marginals else None
    cuts = itertools.pairwise(design.offsets.tolist())
    for (first, last), ranked in zip(cuts, text.nbest(nbest or 1), strict=True):
        if not ranked:
            raise LoglinError("no label sequence obeys the constraint for some sentence; check --constrain")
        yield [Answer(y, p, None if rows is None else rows[first:last]) for y, p in ranked]
