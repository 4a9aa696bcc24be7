"""Models of CRF++ and Wapiti: what these programs answered is what we answer (tests/models/peers/README.md)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import loglin
from loglin import LoglinError, Tagger
from loglin.cli.main import cli
from loglin.models import foreign

PEERS = Path(__file__).parent / "peers"
COLUMNS = ["plain.crfpp", "plain.crfpp.txt", "observed.crfpp", "mira.crfpp"]
COLUMNS += ["crf.wapiti", "patterns.wapiti", "memm.wapiti", "maxent.wapiti"]


def blocks(name: str) -> list[list[list[str]]]:
    text = (PEERS / name).read_text()
    return [[line.split("\t") for line in part.split("\n")] for part in text.strip("\n").split("\n\n")]


def answers(model: str) -> list[list[list[str]]]:
    """For every token the program's label, and a label with its probability if it gave one."""
    return blocks(f"{model.split('.')[0]}.tags")


def labels_of(model: str) -> list[list[str]]:
    return [[line[0] for line in part] for part in answers(model)]


def check_shares(tagger: Tagger, texts: list, model: str) -> None:
    told = [line for part in answers(model) for line in part if line[1:]]
    shares = [token for tokens in tagger.predict_marginals(texts) for token in tokens][: len(told)]
    np.testing.assert_allclose(
        [s[y] for s, (_, y, _) in zip(shares, told, strict=True)], [float(p) for *_, p in told], atol=1e-6
    )


def sentences() -> list[list[tuple[str, ...]]]:
    return [[tuple(line) for line in part] for part in blocks("new.txt")]


@pytest.mark.parametrize("name", COLUMNS)
def test_labels_and_marginals_are_the_programs(name, tmp_path):
    foreign.load(PEERS / name, columns=3).save(tmp_path / "m")
    tagger, texts = Tagger.load(tmp_path / "m"), sentences()
    assert tagger.predict(texts) == labels_of(name)
    check_shares(tagger, texts, name)


def test_observations_without_patterns_are_attributes():
    tagger = Tagger.from_model(foreign.load(PEERS / "raw.wapiti"))
    texts = [[list(token)] for sentence in sentences() for token in sentence]
    assert tagger.predict(texts) == labels_of("raw")
    check_shares(tagger, texts, "raw")


@pytest.mark.parametrize("name", COLUMNS)
def test_exported_to_wapiti_it_is_what_it_was(name, tmp_path):
    """What Wapiti itself says of such files was compared by hand; here they are read again."""
    first = foreign.load(PEERS / name, columns=3)
    if name == "mira.crfpp":  # which knows the word _x+1 beside the end of a sentence, which is called so in Wapiti
        with pytest.raises(LoglinError, match=r"would both be 'u:_x\+1'"):
            foreign.export(first, "wapiti", tmp_path / "again.wapiti")
        return
    foreign.export(first, "wapiti", tmp_path / "again.wapiti")
    again = foreign.load(tmp_path / "again.wapiti", columns=3)
    assert again.labels == first.labels
    assert Tagger.from_model(again).predict(sentences()) == labels_of(name)
    if name.endswith("wapiti"):
        assert sorted(again.weights.tolist()) == sorted(first.weights[first.weights != 0].tolist())


@pytest.mark.parametrize("options", [{}, {"like": "wapiti"}, {"like": "crf++"}, {"criterion": "memm"}], ids=str)
def test_our_own_templates_are_exported(options, tmp_path):
    template = "U1:%x[-2,0]/%x[0,0]\nU2:%x[-1,1]/%x[2,1]\nU3:%x[0,0]\nB\nB4:%x[1,1]\n"
    train = blocks("train.txt")
    X, y = [[tuple(t[:2]) for t in s] for s in train], [[t[2] for t in s] for s in train]
    tagger = Tagger(template=template, **options).fit(X, y)
    foreign.export(tagger.model_, "wapiti", tmp_path / "m.wapiti")
    again = Tagger.from_model(foreign.load(tmp_path / "m.wapiti", columns=3))
    assert again.predict(sentences()) == tagger.predict(sentences())
    found, expected = again.predict_proba(sentences()), tagger.predict_proba(sentences())
    order = [again.classes_.index(label) for label in tagger.classes_]
    np.testing.assert_allclose(np.concatenate(found)[:, order], np.concatenate(expected), atol=1e-9)


@pytest.mark.parametrize(
    ("template", "word"),
    [("U1:%suffix[0,0,3]\nB", "%suffix"), ("U1:%x[0,0]\nU1:%x[1,0]", "would both be"), ("U1#:%x[0,0]", "has a #")],
)
def test_what_wapiti_cannot_hold_is_refused(template, word, tmp_path):
    tagger = Tagger(template=template).fit([["a", "b"], ["b"]], [["X", "Y"], ["Y"]])
    with pytest.raises(LoglinError, match=word):
        foreign.export(tagger.model_, "wapiti", tmp_path / "m")


def test_from_the_shell(tmp_path):
    run, model, new = CliRunner(), str(tmp_path / "m"), str(PEERS / "new.txt")
    done = run.invoke(
        cli, ["import", str(PEERS / "plain.crfpp"), "-o", model, "--columns", "3"], catch_exceptions=False
    )
    assert done.output.startswith("model of CRF++: 5 labels, ")
    tagged = [
        run.invoke(cli, ["tag", path, new], catch_exceptions=False).output
        for path in (model, str(PEERS / "plain.crfpp"))
    ]
    labels = [line.split("\t")[-1] for line in tagged[0].split("\n") if line]
    assert labels == [label for part in labels_of("plain") for label in part]
    assert tagged[1] == tagged[0]
    page = run.invoke(cli, ["inspect", model], catch_exceptions=False).output
    assert "U02:%x[-1,0]/%x[0,0]" in page
    assert "CRF++" in page
    run.invoke(cli, ["export", model, "--to", "json", "-o", str(tmp_path / "j")], catch_exceptions=False)
    value, first = json.loads((tmp_path / "j").read_text()), foreign.load(PEERS / "plain.crfpp")
    written = [w for _, rows in value["attributes"] for *_, w in rows] + [w for *_, w in value["pairs"]]
    assert sorted(written) == sorted(first.weights.astype(float).tolist())


def test_loaded_by_every_door():
    texts, labels, path = sentences(), labels_of("crf.wapiti"), PEERS / "crf.wapiti"
    assert loglin.load(path).predict(texts) == Tagger.load(path).predict(texts) == labels


def test_mistakes_are_one_sentence(tmp_path):
    (tmp_path / "x").write_bytes(b"no model of anybody\n")
    with pytest.raises(LoglinError, match=r"no model of CRF\+\+, CRFsuite, Wapiti"):
        foreign.load(tmp_path / "x")
    with pytest.raises(LoglinError, match="cannot read the model"):
        foreign.load(tmp_path / "missing")
    with pytest.raises(LoglinError, match="2 columns are too few"):
        foreign.load(PEERS / "plain.crfpp", columns=2)
    with pytest.raises(LoglinError, match="no encoding 'klingon'"):
        foreign.load(PEERS / "plain.crfpp", "klingon")
    with pytest.raises(LoglinError, match=r"no format 'crf\+\+' to export to"):
        foreign.export(foreign.load(PEERS / "plain.crfpp"), "crf++", tmp_path / "m")
    chinese = (PEERS / "plain.crfpp.txt").read_text().encode("gb18030")
    with pytest.raises(LoglinError, match="--encoding latin-1"):
        foreign.loads(chinese)
    again = Tagger.from_model(foreign.loads(chinese, encoding="gb18030", columns=3))
    assert again.predict(sentences()) == labels_of("plain")


def with_pattern(old: str, new: str) -> bytes:
    """The maximum-entropy model with another pattern in the place of one."""
    content = (PEERS / "maxent.wapiti").read_bytes()
    before, after = (f"{len(pattern)}:{pattern},\n".encode() for pattern in (old, new))
    assert before in content
    return content.replace(before, after)


@pytest.mark.parametrize(
    ("pattern", "word"),
    [("u:w=%x[@1,0]", "needs a row and a column"), ("u:w=%x[-010,0]", "octal"), ("q:w=%x[0,0]", "none of u, b and")],
)
def test_patterns_that_are_not_known_here_are_refused(pattern, word):
    with pytest.raises(LoglinError, match=word):
        foreign.loads(with_pattern("u:w=%x[0,0]", pattern))


def test_old_files_of_wapiti_say_no_type():
    content = (PEERS / "crf.wapiti").read_bytes()
    assert content.startswith(b"#mdl#2#")
    old = content.replace(b"#mdl#2#", b"#mdl#", 1).replace(b"#rdr#5/1/0", b"#rdr#5/1", 1)
    assert Tagger.from_model(foreign.loads(old)).predict(sentences()) == labels_of("crf")


def test_a_string_that_can_be_read_in_two_ways_is_known_in_both():
    """3/4 before g is U02:3/4/g, and so is 3 before 4/g, for CRF++ as for us."""
    tagger = Tagger.from_model(foreign.load(PEERS / "plain.crfpp", columns=3))
    for words in (("3/4", "g"), ("3", "4/g")):
        votes = tagger.explain([(word, "Q") for word in words], 1).votes
        assert "U02:3/4/g" in [vote.feature for vote in votes], words
