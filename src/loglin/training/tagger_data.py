"""Training data of loglin train, read as its options say and numbered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loglin.corpus import formats, tagged
from loglin.corpus.columns import Column, Corpus
from loglin.corpus.formats import Format
from loglin.corpus.labels import Gold
from loglin.criteria.settings import LATENT
from loglin.errors import LoglinError
from loglin.features.attributes import AttributeExtractor
from loglin.features.design import Design
from loglin.features.extract import TemplateExtractor
from loglin.features.read import read_templates
from loglin.features.template import TemplateSet
from loglin.training.options import Options, labels_of, labels_together
from loglin.training.watch import Development


@dataclass
class Source:
    """Training data, and the templates that look at them."""

    text: tagged.LabeledText
    templates: TemplateSet | None

    def prepare(self, min_count: int, options: Options) -> tuple[Design, Any, list, Gold]:
        """Number the attributes and the labels."""
        extractor: Any = TemplateExtractor(self.templates) if self.templates else AttributeExtractor()
        design = extractor.fit(self.text.inputs, min_count)
        if options.criterion in LATENT:
            return design, extractor, *labels_of(self.text.sequences(), self.text.lengths, options)
        return design, extractor, *labels_together(*self.text.gold(), options)


def read_training(path: str, form: Format, templates: TemplateSet | None, given: dict) -> Source:
    """Read labelled data for training or development; words get the default templates if none are given."""
    chosen = {name: given[name] for name in ("encoding", "label_column", "scheme", "partial")}
    text = tagged.read_labeled(path, form, columns=templates is not None, **chosen)
    words = isinstance(text.inputs, Corpus)
    if templates and not words:
        raise LoglinError(f"{path} holds attributes already; leave out --template")
    return Source(text, templates or (read_templates(None) if words else None))


def has_labels(given: dict) -> bool:
    """Whether the training file of a criterion with hidden labels has labels too, of some sentences or tokens."""
    return bool(given["unlabeled"]) or given["partial"] or given["criterion"] == "mixture"


def read_hidden(path: str, form: Format, templates: TemplateSet, given: dict) -> Source:
    """Read text whose labels are hidden."""
    chosen = {name: given[name] for name in ("encoding", "label_column", "scheme", "partial", "unlabeled")}
    return Source(tagged.read_hidden(path, form, labeled=has_labels(given), **chosen), templates)


def development(path: str, source: Source, extractor, labels: list, given: dict) -> Development:
    """Held-out data in the same form as the training data; labels never seen in training count as errors."""
    form = formats.detected(path, given["text_format"])
    held, text = read_training(path, form, source.templates, given | {"partial": False}).text, source.text
    if held.n_columns != text.n_columns:
        raise LoglinError(f"{path} has {held.n_columns} columns, the training data {text.n_columns}; give as many")
    if isinstance(held.inputs, Corpus) != isinstance(text.inputs, Corpus):
        raise LoglinError(f"{path} holds words and the training data attributes, or the reverse; give both the same")
    if not isinstance(held.labels, Column):
        tagged.require_certain(path, held.labels, "held-out data need certain labels")
    design = extractor.transform(held.inputs)
    names = list(dict.fromkeys([*labels, *held.label_names()]))
    _, gold = held.gold(names)
    return Development(design, gold, names)
