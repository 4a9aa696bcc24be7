"""Damaged text files in every format, read and, where there is a model for them, used."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from fuzz import prepared, wild
from loglin.cli import examples
from loglin.cli.parsing import words_of
from loglin.corpus import dictionaries, formats, plaintext, trees
from loglin.grammars import files as grammars

WHOLE = {
    "columns": "The D\ndog N\nbarks V\n\nA D\ncat N\n\n",
    "conllu": "# text = a\n1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2-3\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n2\tde\t_\tADP\t_\t_\t1\tx\t_\t_\n"  # noqa: E501
    "3\tle\t_\tDET\t_\t_\t1\tx\t_\t_\n3.1\te\t_\tX\t_\t_\t_\t_\t_\t_\n\n1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n\n",
    "crfsuite": "A\ta\tb:2\nB\tb:0.5\tc\\:d\n\nA\tc\n\n",
    "jsonlines": '{"tokens": ["The", "dog"], "labels": ["D", "N"]}\n{"tokens": [["a", "b"]], "labels": ["D"]}\n'
    '{"tokens": [{"a": 1, "b": 0.5}], "labels": ["A"]}\n',
    "documents": '{"label": "x", "text": "a b"}\n{"label": "y", "features": {"a": 1}}\n{"labels": ["x"], "features": ["b"]}\n'  # noqa: E501
    '{"label": "x", "candidates": {"x": ["a"], "y": {"b": 2}}}\n',
    "svmlight": "x a:1 b:0.5 # why\ny b:2\n+1 1:0.5 7:1e3\n",
    "text": "#! author=a\nThe dog barks\n\nA/D cat/N\n\\#! a\n",
    "trees": "(S (NP (D the) (N dog)) (VP (V barks)))\n( (S (N dogs) (V bark)) )\n",
    "tables": 'word,label\nThe,D\n"do""g",N\nbarks,V\n\n"A,b",D\n"c\nd",N\n\n',
    "grammars": "S -> NP VP [1.0]\nNP -> D N [0.5] | 'dogs' [0.5]\nVP -> V [1]\nD -> 'the' [1.0]\nN -> \"dog\" [1]\nV -> 'barks' [1]\n",  # noqa: E501
    "dictionaries": "#! unknown=D N\nThe D\ndog N V\n\\# X\n",
}  # fmt: skip


def _written(rng: random.Random, kind: str, name: str) -> str:
    path = prepared.place(name)
    text = WHOLE[kind]
    if kind in ("jsonlines", "documents"):  # whose lines are of different kinds, which no file may mix
        text = rng.choice(text.splitlines(keepends=True)) * 2
    path.write_bytes(wild.damaged(rng, text))
    return str(path)


def _tagged(kind: str, form: str, rng: random.Random) -> None:
    """What training, tagging and comparing do with a file of tagged text."""
    path, chosen = _written(rng, kind, "given"), formats.named(form)
    way = rng.randrange(3)
    if way == 0:
        chosen.labeled(path, "utf-8", None, rng.random() < 0.5)
        return
    if way == 1:
        chosen.raw(path, "utf-8", rng.choice([None, 0, -1, 7]))
        return
    tagger = prepared.attribute_tagger() if not chosen.words or rng.random() < 0.3 else prepared.tagger()
    words = tagger is prepared.tagger()
    if not words and not chosen.attributes:
        return  # the command refuses it
    layout = formats.Layout(words, 2, -1, int(words))
    for stretch in chosen.stretches(path, "utf-8"):
        if not stretch.n_sentences:
            continue
        inputs = stretch.inputs(layout)
        found = tagger.predict(inputs)
        assert len(found) == stretch.n_sentences, "not labels for every sentence"
        assert all(y in tagger.classes_ for s in found for y in s)
        codes = np.array([tagger.classes_.index(y) for s in found for y in s], np.int32)
        stretch.labeled(codes, [str(y) for y in tagger.classes_], layout).decode()


def _examples(kind: str, rng: random.Random) -> None:
    path = _written(rng, kind, "examples")
    batches = examples.read_examples(path, rng.choice([examples.JSON, examples.SVMLIGHT]), "utf-8")
    for example in (example for batch in batches for example in batch):
        if not example.has_candidates:
            prepared.check_probabilities(prepared.maxent().predict_proba([example.features]))


def _text(rng: random.Random) -> None:
    text = plaintext.read(_written(rng, "text", "text"), tagged=rng.random() < 0.3, blank_lines=rng.random() < 0.8)
    if text.corpus.n_sentences and rng.random() < 0.5:
        assert np.isfinite(prepared.language_model().scores(text)).all()


def _trees(rng: random.Random) -> None:
    for tree in trees.read_trees(_written(rng, "trees", "trees")):
        words = words_of(tree)
        if 0 < len(words) < 9:
            prepared.parser().parse([words])


def _grammar(rng: random.Random) -> None:
    path = _written(rng, "grammars", "grammar.pcfg")
    grammars.show(grammars.read(path, weighted=rng.random() < 0.7))


def _dictionary(rng: random.Random) -> None:
    path = prepared.place(rng.choice(["dictionary", "dictionary.json"]))
    whole = WHOLE["dictionaries"] if path.suffix == "" else json.dumps({"The": ["D"], "dog": ["N", "V"]})
    Path(path).write_bytes(wild.damaged(rng, whole))
    dictionaries.read(path)


KINDS: dict[str, Callable[[random.Random], None]] = {
    "columns": partial(_tagged, "columns", "conll"),
    "tables": partial(_tagged, "tables", "table"),
    "conllu": partial(_tagged, "conllu", "conllu"),
    "crfsuite": partial(_tagged, "crfsuite", "crfsuite"),
    "jsonlines": partial(_tagged, "jsonlines", "jsonl"),
    "tagged-text": partial(_tagged, "text", "text"),
    "documents": partial(_examples, "documents"),
    "svmlight": partial(_examples, "svmlight"),
    "text": _text,
    "trees": _trees,
    "grammars": _grammar,
    "dictionaries": _dictionary,
}
