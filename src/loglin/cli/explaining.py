"""Why a model decides as it does about a sentence, for loglin inspect --explain and loglin demo."""

from __future__ import annotations

import math
from typing import Any

from loglin.cli import options as shared
from loglin.errors import LoglinError


def explain(model, path: str, sentence: str, position: int | None, as_json: bool) -> None:
    from loglin.decoding.chains import Decoder

    if not sentence.split():
        raise LoglinError("the sentence to explain is empty; give some words")
    if not model.kind.has_transitions:
        if position is not None:
            raise LoglinError("--position is for taggers; this model classifies the sentence as a whole")
        votes, unknown = _example(path, sentence)
        if as_json:
            shared.print_json({"token": sentence, **votes.as_dict()} | {"unknown": unknown})
            return
        label = " and ".join(sorted(votes.label)) or "nothing" if isinstance(votes.label, set) else votes.label
        print(f"{sentence!r} is {label}")
        print("\n".join(f"  {line}" for line in str(votes).split("\n")))
        if unknown:
            print(f"  not in the model: {', '.join(unknown)}")
        return
    if model.vectors is not None and model.vectors.given is not None:
        raise LoglinError(
            f"{path} looks at vectors of {model.vectors.given.size} numbers, which a typed sentence has not; use "
            "Tagger.explain(sentence, position, vectors) in Python"
        )
    decoder = Decoder(model)
    words, inputs = _sentence(model, sentence)
    design = decoder.design(inputs)
    value, explanation = explained(decoder, design, words, position)
    if as_json:
        shared.print_json(value | {"explanation": explanation.as_dict()})
        return
    print("\n".join(token_lines(value)))
    if value["entities"]:
        print()
        print("\n".join(entity_lines(value["entities"])))
    print(f"\ntoken {value['position']}: {explanation}")


def _sentence(model, sentence: str) -> tuple[list[str], Any]:
    """Words of a sentence typed on the command line, and what a decoder makes its design of."""
    from loglin.corpus.columns import from_sentences
    from loglin.features.extract import TemplateExtractor

    pieces = sentence.split()
    if not isinstance(model.extractor, TemplateExtractor):
        return pieces, [[piece.split("/") for piece in pieces]]
    n = max(1, model.extractor.templates.columns)
    tokens = []
    for piece in pieces:
        columns = tuple(piece.rsplit("/", n - 1)) if n > 1 else (piece,)
        if len(columns) < n or not all(columns):
            needed = "/".join(["word", *(f"column{i}" for i in range(1, n))])
            raise LoglinError(
                f"{piece!r} has fewer columns than the model looks at, {n}; write every token as {needed}"
            )
        tokens.append(columns)
    return [token[0] for token in tokens], from_sentences([tokens], "the sentence")


def explained(decoder, design, words: list[str], position: int | None = None) -> tuple[dict[str, Any], Any]:
    """Labels, probabilities and entities of one sentence, and why one token has its label."""
    from dataclasses import asdict

    import numpy as np

    from loglin.corpus import schemes

    chain = next(decoder.chains(design))
    labels, _ = chain.best()
    certainty = chain.marginals()[np.arange(len(words)), labels]
    if position is None:
        position = int(certainty.argmin())
    explanation = decoder.explain(design, words, position)
    names = [decoder.model.labels[i] for i in labels]
    chunks = schemes.detect([str(y) for y in decoder.model.labels]) is not None
    value = {
        "tokens": words,
        "labels": names,
        "probabilities": certainty.tolist(),
        "entities": [asdict(e) for e in decoder.entities(chain, words)] if chunks else [],
        "position": position % len(words),
    }
    return value, explanation


def token_lines(value: dict[str, Any]) -> list[str]:
    width = max(5, *(len(w) for w in value["tokens"]))
    wide = max(5, *(len(str(y)) for y in value["labels"]))
    lines = [f"     {'token':<{width}}  {'label':<{wide}}  probability"]
    for i, (word, label, p) in enumerate(zip(value["tokens"], value["labels"], value["probabilities"], strict=True)):
        lines.append(f"{i:>3}  {word:<{width}}  {label!s:<{wide}}  {p:11.4f}")
    return lines


def entity_lines(entities: list[dict[str, Any]]) -> list[str]:
    width = max(6, *(len(e["type"]) for e in entities))
    wide = max(4, *(len(e["text"]) for e in entities))
    lines = [f"  {'entity':<{width}}  {'text':<{wide}}  confidence"]
    lines += [f"  {e['type']:<{width}}  {e['text']:<{wide}}  {e['probability']:10.1%}" for e in entities]
    return lines


def _example(path: str, text: str) -> tuple[Any, list[str]]:
    """Why a classifier chooses its class, and the words of the text that it does not know."""
    import re

    from loglin.cli.classifying import loaded_classifier

    estimator = loaded_classifier(path)
    if estimator.model_.kind.ranks:
        raise LoglinError(f"{path} chooses among candidates, which a text has not; use MaxEnt.explain in Python")
    known = estimator.model_.extractor.names
    attributes: dict[str, float] = {}
    unknown = []
    for piece in text.split():
        name, value = _attribute(piece)
        if known.code(piece) >= 0:
            attributes[piece] = 1.0
        elif known.code(name) >= 0:
            attributes[name] = value
        else:  # a word as it stands in running text
            for word in re.findall(r"\w+", piece.lower()):
                attributes[word] = 1.0
                if known.code(word) < 0:
                    unknown.append(word)
    return estimator.explain(attributes), unknown


def _attribute(piece: str) -> tuple[str, float]:
    """("length", 3.0) of "length:3", as SVMlight files write it."""
    name, _, value = piece.rpartition(":")
    try:
        number = float(value)
    except ValueError:
        return piece, 1.0
    return (name, number) if name and math.isfinite(number) else (piece, 1.0)
