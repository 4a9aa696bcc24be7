"""loglin inspect MODEL --html: the inspector as one file that works without a service."""

from __future__ import annotations

from typing import Any

from loglin.cli import options as shared
from loglin.errors import LoglinError


def write_report(model: Any, path: str, output: str, compare: str | None, examples: tuple[str, ...]) -> None:
    """Write what is in a model and, of a tagger, how it does on labelled text and what it says of examples."""
    from loglin.corpus.output import write_atomically
    from loglin.inspection.contents import contents
    from loglin.inspection.page import page

    shared.check_output(output, path, compare)
    name = shared.base_name(path)
    if model.kind.has_transitions:
        value = _of_tagger(model, name, compare, examples)
    elif compare or examples:
        raise LoglinError(f"{path} is a {model.kind.noun}; --eval and --example are about taggers, leave them out")
    else:
        value = {"model": name, "contents": contents(model), "examples": [], "evaluation": None}
    write_atomically(output, page(value))
    print(f"report written to {output}")


def _of_tagger(model: Any, name: str, compare: str | None, examples: tuple[str, ...]) -> dict[str, Any]:
    from loglin.corpus.tokenizing import RAW, tokenizer
    from loglin.estimators.tagger import Tagger
    from loglin.inspection.comparison import compared
    from loglin.inspection.page import report

    tagger = Tagger.from_model(model)
    if compare is None:
        splits = tokenizer(RAW if tagger.tokenizer is None else tagger.tokenizer)
        return report(tagger, name, [splits.tokens(text) for text in examples])
    sentences, labels = _labeled(tagger, compare)
    return report(tagger, name, sentences, compared(tagger, sentences, labels, shared.base_name(compare)))


def _labeled(tagger: Any, path: str) -> tuple[list, list]:
    """Sentences of a labelled file as the tagger takes them, and their labels."""
    from loglin.corpus.columns import Corpus
    from loglin.corpus.formats import detected
    from loglin.corpus.tagged import require_certain
    from loglin.decoding.chains import Decoder
    from loglin.decoding.tagged_text import layout_of

    form = detected(path, has_names=tagger.model_.has_names)
    layout = layout_of(Decoder(tagger.model_), form, path)
    text = form.labeled(path, "utf-8", None, layout.words, layout)
    labels = text.sequences()
    require_certain(path, [y or [] for y in labels], "give a certain one to compare with")
    if not isinstance(text.inputs, Corpus):
        return text.inputs, labels
    single = len(text.inputs.columns) == 1
    return (text.inputs.strings(0) if single else text.inputs.sentences()), labels
