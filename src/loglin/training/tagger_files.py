"""Taggers and files: training data in, labelled text out, in every format, block by block."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.corpus import conll, crfsuite, jsonlines, plaintext, schemes
from loglin.corpus.columns import Column, Corpus, concatenate, encode_strings, from_sentences
from loglin.corpus.files import detected_format
from loglin.corpus.labels import Gold, gold_of_column, gold_of_sequences
from loglin.corpus.vocabulary import Vocabulary
from loglin.criteria.settings import LATENT
from loglin.decoding.chains import Decoder
from loglin.errors import LoglinError
from loglin.features.attributes import AttributeExtractor
from loglin.features.design import Design
from loglin.features.extract import TemplateExtractor
from loglin.features.template import TemplateSet
from loglin.training.options import Options, labels_of, labels_together
from loglin.training.watch import Development

SENTENCES_AT_ONCE = 1000  # of formats that are read as Python objects


# ---------------------------------------------------------------------- training data


@dataclass
class Source:
    """Training data as it was read: columns or attributes, and labels."""

    inputs: Any  # a corpus of columns, or a list of sentences of attributes
    labels: Column | list[list] | list[list | None]  # None where a whole sentence is not labelled
    partial: bool
    templates: TemplateSet | None
    n_columns: int = 0  # of the file, the labels included

    def prepare(self, min_count: int, options: Options) -> tuple[Design, Any, list, Gold]:
        """Number the attributes and the labels."""
        extractor = TemplateExtractor(self.templates) if self.templates else AttributeExtractor()
        design = extractor.fit(self.inputs, min_count)
        lengths = np.diff(design.offsets).tolist()
        if options.criterion in LATENT:
            return design, extractor, *labels_of(self.sequences(lengths), lengths, options)
        return design, extractor, *labels_together(*self.gold(lengths, None), options)

    def sequences(self, lengths: list[int]) -> list[list | None]:
        """The labels of every sentence."""
        if not isinstance(self.labels, Column):
            return [y if y is None else [_partial(x) if self.partial else x for x in y] for y in self.labels]
        names = [_partial(y) if self.partial else y for y in self.labels.strings()]
        cuts = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        return [names[b:e] for b, e in itertools.pairwise(cuts)]

    def gold(self, lengths: list[int], names: list | None) -> tuple[list, Gold]:
        if isinstance(self.labels, Column):
            return gold_of_column(self.labels, self.partial, names)
        return gold_of_sequences(self.sequences(lengths), lengths, names)  # type: ignore[arg-type]

    def label_names(self) -> list:
        if isinstance(self.labels, Column):
            return self.labels.vocabulary.strings
        return list(dict.fromkeys(y for labels in self.labels for y in labels or ()))


def read_training(path: str, kind: str, templates: TemplateSet | None, given: dict) -> Source:
    """Read labelled data for training or development."""
    encoding, partial = given["encoding"], given["partial"]
    if kind == "conll":
        corpus = conll.read(path, encoding)
        if len(corpus.columns) < 2:
            raise LoglinError(
                f"{path} has one column, so there are no labels to learn from; give at least a word and a label"
            )
        labels = corpus.column(given["label_column"])
        labels = _converted(labels, corpus.offsets, given["scheme"])
        rest = without_column(corpus, given["label_column"])
        return Source(rest, labels, partial, templates, len(corpus.columns))
    if kind == "text":
        corpus = text_corpus(path, encoding, tagged=True)
        labels = _converted(corpus.columns[1], corpus.offsets, given["scheme"])
        return Source(without_column(corpus, 1), labels, partial, templates, 2)
    pairs = list(crfsuite.read(path, encoding) if kind == "crfsuite" else jsonlines.sentences(path, encoding))
    if not pairs:
        raise LoglinError(f"{path} holds no sentences; give at least one with its labels")
    missing = next((i for i, (labels, _) in enumerate(pairs) if labels is None), None)
    if missing is not None:
        raise LoglinError(f'{path}: sentence {missing} has no "labels"; give a label for every token')
    sentences, sequences = [tokens for _, tokens in pairs], [labels for labels, _ in pairs]
    if given["scheme"]:
        require_certain(path, sequences, "with --scheme give strings", str)
        sequences = [schemes.convert(y, *_scheme_names(given["scheme"])) for y in sequences]  # type: ignore[arg-type]
    if kind == "jsonl" and (templates or _is_words(sentences)):
        if templates is None:
            from loglin.features.read import read_templates

            templates = read_templates(None)
        return Source(from_sentences(sentences, path), sequences, partial, templates)  # type: ignore[arg-type]
    if templates:
        raise LoglinError(f"{path} holds attributes already; leave out --template")
    return Source(sentences, sequences, partial, None)  # type: ignore[arg-type]


def has_labels(given: dict) -> bool:
    """Whether the training file of a criterion with hidden labels has labels too, of some sentences or tokens."""
    return bool(given["unlabeled"]) or given["partial"] or given["criterion"] == "mixture"


def read_hidden(path: str, kind: str, templates: TemplateSet, given: dict) -> Source:
    """Text whose labels are hidden: all of ``path``, or what its labels leave open and ``unlabeled`` adds."""
    more = given["unlabeled"]
    if not has_labels(given):
        corpus = read_raw(path, kind, given["encoding"], given["raw_label_column"])
        hidden: list[list | None] = [None] * corpus.n_sentences
        return Source(corpus, hidden, False, templates, len(corpus.columns) + 1)
    labeled = read_training(path, kind, templates, given)
    if not isinstance(labeled.inputs, Corpus):
        raise LoglinError(f"{path} holds attributes, but hidden labels are learnt from words; give words")
    if not more:
        return labeled
    raw = read_raw(more, detected_format(more, "auto", labeled=False), given["encoding"], None)
    if len(raw.columns) != len(labeled.inputs.columns):
        raise LoglinError(
            f"{more} has {len(raw.columns)} columns, but {path} {len(labeled.inputs.columns)} besides its labels; "
            "give both the same"
        )
    known = labeled.sequences(np.diff(labeled.inputs.offsets).tolist())
    both = concatenate([labeled.inputs, raw], f"{path} and {more}")
    return Source(both, [*known, *[None] * raw.n_sentences], False, templates, labeled.n_columns)


def read_raw(path: str, kind: str, encoding: str = "utf-8", label_column: int | None = None) -> Corpus:
    """Words without labels, from any format; of several columns in a file ``label_column`` is left out, or none."""
    if kind == "text":
        return text_corpus(path, encoding, tagged=False)
    if kind == "conll":
        corpus = conll.read(path, encoding)
        if len(corpus.columns) == 1 or label_column is None:
            return corpus
        corpus.column(label_column)  # there is such a column
        return without_column(corpus, label_column)
    sentences = [tokens for _, tokens in jsonlines.sentences(path, encoding)] if kind == "jsonl" else []
    if kind == "crfsuite" or any(isinstance(token, dict) for tokens in sentences for token in tokens):
        raise LoglinError(f"{path} holds attributes, not words; give plain text, columns or JSON lines with words")
    corpus = from_sentences([tokens for tokens in sentences if tokens], path)
    if not corpus.n_tokens:
        raise LoglinError(f"{path} holds no tokens; give at least one sentence")
    return corpus


def text_corpus(path: str, encoding: str, tagged: bool) -> Corpus:
    """The sentences of plain text, in which blank lines and documents mean nothing."""
    corpus = plaintext.read(path, encoding, tagged, blank_lines=False).corpus
    if not corpus.n_tokens:
        form = "word/TAG, parted by blanks" if tagged else "its tokens parted by blanks"
        raise LoglinError(f"{path} holds no tokens; write a sentence a line, {form}")
    return corpus


def development(path: str, source: Source, extractor, labels: list, given: dict) -> Development:
    """Held-out data in the same form as the training data; labels never seen in training count as errors."""
    kind = detected_format(path, given["text_format"])
    held = read_training(path, kind, source.templates, given | {"partial": False})
    if held.n_columns != source.n_columns:
        raise LoglinError(f"{path} has {held.n_columns} columns, the training data {source.n_columns}; give as many")
    if isinstance(held.inputs, Corpus) != isinstance(source.inputs, Corpus):
        raise LoglinError(f"{path} holds words and the training data attributes, or the reverse; give both the same")
    if not isinstance(held.labels, Column):
        require_certain(path, held.labels, "held-out data need certain labels")
    design = extractor.transform(held.inputs)
    names = list(dict.fromkeys([*labels, *held.label_names()]))
    _, gold = held.gold(np.diff(design.offsets).tolist(), names)
    return Development(design, gold, names)


def require_certain(path: str, sequences: list, remedy: str, kinds: Any = str | int | float) -> None:
    """Labels from JSON must be names here, neither null nor lists of possible ones."""
    for s, labels in enumerate(sequences):
        for t, label in enumerate(labels):
            if not isinstance(label, kinds):
                raise LoglinError(f"{path}: sentence {s}, token {t} has the label {label!r}; {remedy}")


def _partial(label: Any) -> Any:
    if label is None or label == "_":
        return None
    return set(label.split("|")) if isinstance(label, str) and "|" in label else label


def _is_words(sentences: list[list]) -> bool:
    token = next((t for s in sentences for t in s), None)
    return isinstance(token, str)


def without_column(corpus: Corpus, column: int) -> Corpus:
    """The corpus without its label column."""
    chosen = range(len(corpus.columns))[column]
    rest = [c for i, c in enumerate(corpus.columns) if i != chosen]
    return Corpus(rest, corpus.offsets, corpus.source)


def _scheme_names(scheme: str) -> tuple[str, str]:
    source, colon, target = scheme.partition(":")
    if not colon:
        raise LoglinError(f"--scheme is {scheme!r}; write FROM:TO, such as iob1:iob2")
    return source, target


def _converted(labels: Column, offsets: np.ndarray, scheme: str | None) -> Column:
    if not scheme:
        return labels
    names, cuts = labels.strings(), offsets.tolist()
    source, target = _scheme_names(scheme)
    parts = [schemes.convert(names[b:e], source, target) for b, e in itertools.pairwise(cuts)]
    return encode_strings([label for part in parts for label in part])


# ---------------------------------------------------------------------- labelled text


def feature_columns(decoder: Decoder, corpus: Corpus) -> Corpus:
    """The columns that the templates look at: a label column is taken away if there is one."""
    record = decoder.model.record
    trained, column = record.get("columns", 0), record.get("label_column", -1)
    if type(trained) is not int or type(column) is not int or (trained and not -trained <= column < trained):
        raise LoglinError(f"the model is damaged: it says label column {column!r} of {trained!r}; train it again")
    found = len(corpus.columns)
    needed = decoder.model.extractor.templates.columns  # type: ignore[union-attr]
    if found == trained:
        return without_column(corpus, column)
    if found < needed or found > max(trained, needed):
        raise LoglinError(
            f"{corpus.source} has {found} columns, but the model was trained on {trained} (labels included) and "
            f"looks at the first {needed}; give it the same columns, with or without labels"
        )
    return corpus


def require_templates(decoder: Decoder, path: str) -> None:
    if not isinstance(decoder.model.extractor, TemplateExtractor):
        raise LoglinError(
            f"the model looks at attributes, but {path} is read as words; give --format crfsuite or jsonl"
        )


def tagged(
    decoder: Decoder,
    path: str,
    kind: str,
    encoding: str,
    marginals: bool,
    nbest: int | None,
    as_json: bool,
    blocks: Iterator[conll.Block] | None = None,
) -> Iterator[tuple[int, bytes]]:
    """(number of tokens, text) of every stretch of the output; ``blocks`` may have been read ahead."""
    if kind == "text" and not as_json:
        if marginals or nbest:
            raise LoglinError("word/TAG has no room for probabilities or several answers; add --json")
        yield from _tagged_text(decoder, path, encoding)
        return
    if kind != "conll":
        yield from _tagged_objects(decoder, path, kind, encoding, marginals, nbest, as_json)
        return
    require_templates(decoder, path)
    names = Vocabulary.of(str(label) for label in decoder.model.labels)
    decoder.prepare()
    for block in blocks or conll.blocks(path, encoding):
        corpus = block.corpus
        if not corpus.n_tokens:
            yield 0, block.text.tobytes()
            continue
        design = decoder.design(feature_columns(decoder, corpus))
        if as_json or nbest or marginals:
            yield corpus.n_tokens, _detailed(decoder, block, design, marginals, nbest, as_json)
        else:
            yield corpus.n_tokens, conll.with_labels(block, decoder.best(design), names)


def _detailed(decoder, block: conll.Block, design, marginals: bool, nbest: int | None, as_json: bool) -> bytes:
    """Sentence by sentence: JSON lines, n-best sequences, or labels with probabilities."""
    labels, lines = decoder.model.labels, []
    texts = [
        block.text[b:e].tobytes().decode()
        for b, e in zip(block.line_begin.tolist(), block.line_end.tolist(), strict=True)
    ]
    words, separator = block.corpus.columns[0].strings(), chr(block.separator)
    for first, answer in _answers(decoder, design, marginals, nbest):
        tokens = words[first : first + len(answer[0][0])]
        if as_json:
            lines.append(json.dumps(_as_object(labels, tokens, answer, bool(nbest)), ensure_ascii=False))
            continue
        for rank, (codes, probability, rows) in enumerate(answer):
            if nbest:
                lines.append(f"# {rank} {probability:.6f}")
            for t, code in enumerate(codes.tolist()):
                extra = [str(labels[code])]
                if rows is not None:
                    extra = [f"{labels[code]}:{rows[t, code]:.6f}"]
                    extra += [f"{y}:{p:.6f}" for y, p in zip(labels, rows[t], strict=True)]
                lines.append(separator.join([texts[first + t], *extra]))
            lines.append("")
    return "".join(line + "\n" for line in lines).encode()


def _answers(decoder: Decoder, design: Design, marginals: bool, nbest: int | None) -> Iterator[tuple[int, list]]:
    """For every sentence its first token and [(labels, probability, marginals or None)], best first."""
    for first, chain in zip(design.offsets[:-1].tolist(), decoder.chains(design), strict=True):
        ranked = chain.nbest(nbest) if nbest else [chain.best()]
        if not ranked:
            raise LoglinError("no label sequence obeys the constraint for some sentence; check --constrain")
        rows, total = (chain.marginals() if marginals else None), chain.partition()
        yield first, [(y, min(1.0, float(np.exp(s - total))), rows) for y, s in ranked]


def _as_object(labels: list, tokens: list, answer: list, several: bool) -> dict:
    codes, probability, rows = answer[0]
    value = {"tokens": tokens, "labels": [labels[c] for c in codes.tolist()], "probability": probability}
    if rows is not None:
        value["marginals"] = [dict(zip(map(str, labels), row, strict=True)) for row in rows.round(9).tolist()]
    if several:
        value["nbest"] = [{"labels": [labels[c] for c in y.tolist()], "probability": p} for y, p, _ in answer]
    return value


def _tagged_objects(decoder, path, kind, encoding, marginals, nbest, as_json) -> Iterator[tuple[int, bytes]]:
    for batch in batches(path, kind, encoding):
        design = decoder.design(object_inputs(decoder, batch, path))
        lines = []
        for (_, tokens), (_, answer) in zip(batch, _answers(decoder, design, marginals, nbest), strict=True):
            if kind == "jsonl" or as_json:
                lines.append(
                    json.dumps(_as_object(decoder.model.labels, tokens, answer, bool(nbest)), ensure_ascii=False)
                )
            else:  # CRFsuite's own output: a label a line
                lines += [str(decoder.model.labels[c]) for c in answer[0][0].tolist()]
                lines.append("")
        yield design.n_tokens, "".join(line + "\n" for line in lines).encode()


def _tagged_text(decoder: Decoder, path: str, encoding: str) -> Iterator[tuple[int, bytes]]:
    """The same lines, with a label behind every word; blank lines and attributes of documents stay."""
    require_templates(decoder, path)
    tags = plaintext.checked_tags(decoder.model.labels)
    lines = plaintext.lines(path, encoding)
    while batch := list(itertools.islice(lines, SENTENCES_AT_ONCE)):
        corpus = from_sentences([tokens for _, tokens in batch if tokens], path)
        codes = iter(decoder.best(decoder.design(corpus)).tolist() if corpus.n_tokens else ())
        out = (" ".join(f"{w}/{tags[next(codes)]}" for w in tokens) if tokens else line for line, tokens in batch)
        yield corpus.n_tokens, "".join(line + "\n" for line in out).encode()


def batches(path: str, kind: str, encoding: str) -> Iterator[list[tuple[list | None, list]]]:
    """Sentences as (labels or None, tokens), many at a time."""
    batch: list = []
    pairs: Iterator[tuple[Any, list]] = jsonlines.sentences(path, encoding)
    if kind == "text":
        pairs = ((None, tokens) for _, tokens in plaintext.lines(path, encoding) if tokens)
    elif kind == "crfsuite":
        pairs = crfsuite.read(path, encoding)
    for pair in pairs:
        batch.append(pair)
        if len(batch) == SENTENCES_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def object_inputs(decoder: Decoder, batch: list, path: str) -> Any:
    sentences = [tokens for _, tokens in batch]
    if isinstance(decoder.model.extractor, TemplateExtractor):
        return from_sentences(sentences, path)
    if _is_words(sentences):
        raise LoglinError(f"{path} holds plain words, but the model looks at attributes; give dicts or lists")
    return sentences
