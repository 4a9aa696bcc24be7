"""Models that CRFsuite, CRF++ and Wapiti train here and now, imported and exported: every label of 10,000 sentences.

It needs LOGLIN_DATA, and crf_learn, crf_test and wapiti on the PATH; what is not there is skipped.
"""

from __future__ import annotations

import shutil
import subprocess
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from loglin import LoglinError, Tagger
from loglin.models import foreign
from support.corpora import corpus_folder

pytestmark = pytest.mark.full
N_TRAINED, N_TAGGED, N_MARGINALS = 300, 10_000, 60

Sentence = list[list[str]]  # tokens as columns, the label last
SMALL = "U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[1,0]\nU03:%x[-1,0]/%x[0,0]\nU04:%x[0,1]\nU05:%x[-1,1]/%x[0,1]/%x[1,1]\nB\n"
OBSERVED = "U01:%x[0,0]\nU02:%x[-2,0]/%x[2,0]\nU03:%x[0,1]\nB01:%x[0,1]\nB\nB02:%x[-1,1]/%x[0,1]\n"
BAG = "U01:%x[0,0]\nU02:%x[-1,0]%x[0,0]\nU:%x[0,1]\nU:%x[1,1]\nB\nB2\n"
CHARACTERS = "U0:%x[-2,0]\nU1:%x[-1,0]\nU2:%x[0,0]\nU3:%x[1,0]/%x[0,0]\nU4:%x[-1,0]/%x[0,0]/%x[1,0]\nB\n"
STARS = "u:w=%x[0,0]\nu:prev=%X[-1,0]\nu:next=%x[1,0]\nu:p=%x[-1,1]/%x[0,1]\n*:pos=%x[0,1]\nb\n"
TESTS = (
    'U:1 %x[0,0]\nu:suf=%m[0,0,".?.?.$"]\nu:pre=%M[0,0,"^.?.?"]\nu:cap=%t[0,0,"^\\u"]/%t[-1,0,"^\\u"]\n'
    'u:dig=%t[0,0,"\\d"]\nu:punc=%T[1,0,"^\\p"]\n*:w=%t[0,0,"^\\u"]\nb:t=%x[0,1] # a comment\n'
)
FAR = "u:%x[-5,0]\nu:%x[6,0]\nu:a=%x[0,0]%x[1,0]\n*%x[0,1]\n*\nb\nb:2\n"
SPANISH, CHUNKS = ("conll2002_es", "*.txt", (0, 1, 2)), ("conll2000", "*.txt", (0, 1, 2))
CHINESE, TURKISH = ("zh_gsd_chars", "*.txt", (0, 1)), ("ud_turkish_imst", "*.tsv", (0, 1))
PORTUGUESE = ("ud_portuguese_bosque", "*.tsv", (0, 1))

CRFPP = {
    "small": (SPANISH, SMALL, ("-m", "15")),
    "observed, rare ones left out": (SPANISH, OBSERVED, ("-m", "15", "-f", "2")),
    "observed, MIRA": (SPANISH, OBSERVED, ("-m", "10", "-a", "MIRA")),
    "bag of words, MIRA": (SPANISH, BAG, ("-m", "10", "-a", "MIRA")),
    "L1": (CHUNKS, SMALL, ("-m", "15", "-a", "CRF-L1")),
    "characters": (CHINESE, CHARACTERS, ("-m", "12")),
    "no label pairs": (PORTUGUESE, "U1:%x[0,0]\nU2:%x[-8,0]\nU3:const\n", ("-m", "10")),
}
WAPITI = {
    "stars": (SPANISH, STARS, ("-i", "15")),
    "tests and matches, compact": (SPANISH, TESTS, ("-i", "15", "-1", "1", "-c")),
    "far, sparse": (SPANISH, FAR, ("-a", "rprop", "-i", "12", "-s")),
    "sgd-l1": (SPANISH, STARS, ("-a", "sgd-l1", "-i", "8", "-c")),
    "bcd": (SPANISH, STARS, ("-a", "bcd", "-i", "5")),
    "memm": (SPANISH, STARS, ("-T", "memm", "-i", "15")),
    "memm, compact": (SPANISH, TESTS, ("-T", "memm", "-i", "15", "-c")),
    "maxent": (CHUNKS, STARS.replace("*", "u").replace("b\n", ""), ("-T", "maxent", "-i", "15")),
    "endings that cut letters": (TURKISH, 'u:%x[0,0]\nu:s=%m[0,0,"..?.?$"]\nb\n', ("-i", "12", "-1", "0.2")),
    "characters": (CHINESE, "*:%x[0,0]\nu:%x[-1,0]/%x[0,0]\nb\n", ("-i", "12", "-c")),
}
ALL = {"feature.possible_states": True, "feature.possible_transitions": True, "max_iterations": 15}
CRFSUITE = {
    "lbfgs": (SPANISH, "lbfgs", {"c1": 0.1, "c2": 0.01, "max_iterations": 20}),
    "lbfgs, all features": (SPANISH, "lbfgs", ALL),
    "l2sgd": (CHUNKS, "l2sgd", {"max_iterations": 6}),
    "ap": (TURKISH, "ap", {"max_iterations": 4}),
    "pa": (PORTUGUESE, "pa", {"max_iterations": 4, "type": 2}),
    "arow": (CHINESE, "arow", {"max_iterations": 4}),
}


def corpus(source: tuple) -> list[Sentence]:
    """The sentences of a corpus, as many as there are up to those wanted."""
    name, pattern, columns = source
    lines = [line.split() for path in sorted(corpus_folder(name).glob(pattern)) for line in path.open(encoding="utf-8")]
    ends = [-1, *(i for i, line in enumerate(lines) if not line), len(lines)]
    parts = (lines[b + 1 : e] for b, e in pairwise(ends) if e - b > 1)
    return [[[token[c] for c in columns] for token in part] for part in islice(parts, N_TAGGED)]


def written(path: Path, sentences: list[Sentence]) -> str:
    tokens = ("".join("\t".join(token) + "\n" for token in sentence) for sentence in sentences)
    path.write_text("\n".join(tokens) + "\n", encoding="utf-8")
    return str(path)


def run(program: str, *words: str) -> str:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    return subprocess.run([program, *words], capture_output=True, check=True, encoding="utf-8").stdout


def columns_of(output: str) -> list[list[list[str]]]:
    parts = output.strip("\n").split("\n\n")
    return [[line.split("\t") for line in part.split("\n") if not line.startswith("# ")] for part in parts]


def inputs(sentences: list[Sentence]) -> list[list[tuple[str, ...]]]:
    return [[tuple(token[:-1]) for token in sentence] for sentence in sentences]


def check_exported(model, tagger: Tagger, sentences: list[Sentence], text: str, folder: Path) -> None:
    """Wapiti tags with what was exported as the importer does."""
    foreign.export(model, "wapiti", folder / "exported")
    again = columns_of(run("wapiti", "label", "-l", "-m", str(folder / "exported"), text))
    assert [[token[0] for token in part] for part in again] == tagger.predict(inputs(sentences))


@pytest.mark.parametrize("name", CRFPP)
def test_crfpp(name, tmp_path):
    source, template, options = CRFPP[name]
    sentences, model = corpus(source), str(tmp_path / "m")
    train, text = written(tmp_path / "train", sentences[:N_TRAINED]), written(tmp_path / "text", sentences)
    (tmp_path / "template").write_text(template)
    run("crf_learn", "-t", "-p", "1", *options, str(tmp_path / "template"), train, model)
    told = columns_of(run("crf_test", "-v1", "-m", model, text))
    pairs = [[token[-1].rsplit("/", 1) for token in part] for part in told]
    imported = foreign.load(model, columns=len(source[2]))
    tagger = Tagger.from_model(imported)
    assert tagger.predict(inputs(sentences)) == [[label for label, _ in part] for part in pairs]
    assert foreign.load(f"{model}.txt").weights.tolist() == imported.weights.tolist()
    check_marginals(tagger, sentences, pairs)
    if name != "no label pairs":  # which looks 8 tokens away, where Wapiti tells no distances
        check_exported(imported, tagger, sentences, text, tmp_path)
    else:
        with pytest.raises(LoglinError, match="would both be"):
            foreign.export(imported, "wapiti", tmp_path / "exported")


@pytest.mark.parametrize("name", WAPITI)
def test_wapiti(name, tmp_path):
    source, template, options = WAPITI[name]
    sentences, model = corpus(source), str(tmp_path / "m")
    train, text = written(tmp_path / "train", sentences[:N_TRAINED]), written(tmp_path / "text", sentences)
    (tmp_path / "template").write_text(template)
    run("wapiti", "train", "-t", "1", "-p", str(tmp_path / "template"), *options, train, model)
    told = columns_of(run("wapiti", "label", "-l", "-m", model, text))
    imported = foreign.load(model, columns=len(source[2]))
    tagger = Tagger.from_model(imported)
    assert tagger.predict(inputs(sentences)) == [[label for (label,) in part] for part in told]
    if "memm" not in options:  # of which Wapiti gives no marginals
        few = written(tmp_path / "few", sentences[:N_MARGINALS])
        shares = columns_of(run("wapiti", "label", "-l", "-s", "-p", "-m", model, few))
        check_marginals(tagger, sentences, [[token[-1].rsplit("/", 1) for token in part] for part in shares])
    check_exported(imported, tagger, sentences, text, tmp_path)


def check_marginals(tagger: Tagger, sentences: list[Sentence], pairs: list) -> None:
    """The probabilities that a program gave some labels."""
    told = [pair for part in pairs[:N_MARGINALS] for pair in part]
    found = [token for part in tagger.predict_marginals(inputs(sentences[:N_MARGINALS])) for token in part]
    ours = [shares[label] for shares, (label, _) in zip(found, told, strict=True)]
    np.testing.assert_allclose(ours, [float(share) for _, share in told], atol=1e-6)


def attributes(sentence: Sentence) -> list[dict]:
    words = ["", *(token[0] for token in sentence), ""]
    return [
        {"w": words[t], "-1": words[t - 1], "+1": words[t + 1], "end": words[t][-3:], "long": len(words[t]) / 5}
        for t in range(1, len(words) - 1)
    ]


@pytest.mark.parametrize("name", CRFSUITE)
def test_crfsuite(name, tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    source, algorithm, given = CRFSUITE[name]
    sentences, model = corpus(source), str(tmp_path / "m")
    trainer = pycrfsuite.Trainer(algorithm, given, verbose=False)
    for sentence in sentences[:N_TRAINED]:
        trainer.append(attributes(sentence), [token[-1] for token in sentence])
    trainer.train(model)
    peer, imported = pycrfsuite.Tagger(), foreign.load(model)
    peer.open(model)
    tagger, texts = Tagger.from_model(imported), list(map(attributes, sentences))
    told = [peer.tag(text) for text in texts]
    assert tagger.predict(texts) == told
    for text in texts[:N_MARGINALS]:
        peer.set(text)
        expected = [[peer.marginal(label, t) for label in tagger.classes_] for t in range(len(text))]
        np.testing.assert_allclose(tagger.predict_proba([text])[0], expected, atol=1e-9)
    foreign.export(imported, "crfsuite", tmp_path / "exported")
    peer.open(str(tmp_path / "exported"))
    assert [peer.tag(text) for text in texts] == told
