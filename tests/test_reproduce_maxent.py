"""Tables of maximum entropy models on small parts of their data: parts by hand, rows, and an order that must hold."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from conftest import corpus_folder
from loglin.corpus import datasets
from loglin.corpus.ppattach import Attachment
from loglin.reproduce import pos_ratnaparkhi, pp_attachment, sentence_boundary


def ours(table) -> dict[str, float]:
    """Rows by name and metric, after a look at the form of the table."""
    value = json.loads(json.dumps(table.as_dict(), allow_nan=False))
    assert value["remarks"]
    assert all(row["ours"] is not None for row in value["rows"] if row["published"] is None)
    found = {f"{row['name']}: {row['metric']}": row["ours"] for row in value["rows"]}
    assert len(found) == len(value["rows"])
    return found


# ---------------------------------------------------------------------- prepositional phrases


def test_words_of_attachments():
    assert pp_attachment.stemmed(("Climbed", "Companies", "To", "8.5%")) == ("climb", "company", "to", "<number>")
    assert pp_attachment.stemmed(("uses", "gas", "as", "loss")) == ("uses", "gas", "as", "loss")
    assert pp_attachment.lowered(("Is", "N.V.", "in", "$1,000")) == ("is", "n.v.", "in", "<number>")
    assert len(pp_attachment.ALL) == 15
    assert len(pp_attachment.WITH_P) == 8
    assert pp_attachment.attributes(("a", "b", "c", "d"), [(0,), (2, 3)]) == ["0=a", "23=c d"]


def test_back_off():
    """By hand: four words, else the sum over triples, over pairs, the preposition, and N for what was never seen."""
    training = [("eat", "pie", "with", "fork"), ("eat", "pie", "with", "nuts"), ("see", "man", "with", "hat")]
    model = pp_attachment.BackOff().fit(training, ["V", "N", "N"])
    assert model.predict(training) == ["V", "N", "N"]
    seen = [("eat", "rice", "with", "fork"), ("x", "pie", "with", "y"), ("x", "y", "with", "z"), ("x", "y", "of", "z")]
    assert model.predict(seen) == ["V", "N", "N", "N"]
    many = pp_attachment.BackOff().fit([*training, ("a", "b", "with", "c"), ("d", "e", "with", "f")], "VNNVV")
    assert many.predict([("x", "y", "with", "z")]) == ["V"]


def test_commoner_site():
    training = [Attachment("a", "b", p, "c", site) for p, site in [("on", "V"), ("on", "V"), ("on", "N"), ("of", "N")]]
    test = [Attachment("x", "y", p, "z", "N") for p in ("on", "of", "by")]
    assert pp_attachment.by_preposition(training, test) == ["V", "N", "N"]


def test_pp_attachment():
    corpus_folder("ppattach")
    parts = pp_attachment.load(quick=True)
    parts = parts._replace(development=parts.development[:500], test=parts.test[:1000])
    table = pp_attachment.make_table(parts, (2.0,), lambda line: None, 1)
    found = ours(table)
    assert len(found) == 4 + len(pp_attachment.VARIANTS)
    assert found["back-off, stemmed: accuracy"] > found["always the noun: accuracy"] + 10
    assert found["maximum entropy, all subsets, stemmed: accuracy"] == pytest.approx(
        found["back-off, stemmed: accuracy"], abs=4
    )
    assert "McNemar" in table.remarks[0]


# ---------------------------------------------------------------------- sentence boundaries


def test_text_as_written():
    tokens = "`` He lost $ 5 -LRB- 3 % -RRB- , did n't he ? '' asked Mr. Hill of the U.S. ."
    text = '"He lost $5 (3%), didn\'t he?" asked Mr. Hill of the U.S.'
    assert " ".join(sentence_boundary.written(tokens.split())) == text
    assert sentence_boundary.written(["``", "Why", "?", "?"]) == ['"Why?']
    assert sentence_boundary.written(["''", "x"]) == ['"', "x"]
    assert sentence_boundary.written([]) == []


def test_candidates():
    text = sentence_boundary.Text.of([["Mr.", "A.", "left", ".", "''"], ["No", "end"], ["Why", "?"]], lambda s: s == 2)
    assert text.training == [("", "Mr.", "A.", False), ("Mr.", "A.", 'left."', False), ("A.", 'left."', "No", True)]
    assert text.test == [("end", "Why?", "", True)]
    assert text.small == {"left", "end"}
    assert text.training[2].core == "left."


def test_no_candidate_knows_itself():
    """A training candidate inside a sentence is an abbreviation only if another occurrence says so."""
    once = sentence_boundary.Candidate("the", "Corp.", "said", False)
    lists = sentence_boundary.Lists([once], frozenset())
    assert "abbreviation" not in sentence_boundary.portable(once, lists, known=True)
    assert "abbreviation" in sentence_boundary.portable(once, lists, known=False)
    lists = sentence_boundary.Lists([once, once], frozenset())
    assert "abbreviation" in sentence_boundary.portable(once, lists, known=True)


def test_sentence_boundary():
    corpus_folder("treebank")
    sentences = [[word for word, _ in s] for s in datasets.load("treebank").sentences()[:1200]]
    text = sentence_boundary.Text.of(sentences, lambda s: s >= 900)
    table = sentence_boundary.make_table({"WSJ": text}, (0.3,), lambda line: None, 1)
    found = ours(table)
    always, listed, _, best = found.values()
    assert best >= listed > always + 5
    assert best > 97


# ---------------------------------------------------------------------- parts of speech


def test_tag_scores_by_hand():
    data = pos_ratnaparkhi.Data(
        [["a", "b", "a", "c"]], [["X", "Y", "Z", "Y"]], [["a", "d"], ["d"]], [["X", "Y"], ["X"]]
    )
    assert data.scores([["X", "Y"], ["Z"]]) == (pytest.approx(200 / 3), 50)
    assert data.unknown == pytest.approx(200 / 3)
    assert pos_ratnaparkhi.most_frequent(data) == [["X", "Y"], ["Y"]]


def test_pos_ratnaparkhi():
    corpus_folder("treebank")
    table = pos_ratnaparkhi.make_table(
        pos_ratnaparkhi.load(250, 60),
        [replace(s, options=dict(s.options) | {"max_iter": 10}) for s in pos_ratnaparkhi.SETUPS[:4]],
        lambda line: None,
        1,
    )
    found = ours(table)
    first = pos_ratnaparkhi.FIRST
    assert found[f"{first}: accuracy"] > found["most frequent tag: accuracy"] + 10
    assert found[f"{first}: unknown words"] > 60
    exact = found[f"{first.replace('beam 5', 'exact')}: accuracy"]
    assert found[f"{first}: accuracy"] == pytest.approx(exact, abs=0.5)
    assert found["spelling of all words, beam 5: accuracy"] > found["most frequent tag: accuracy"] + 10
    published = {f"{row.name}: {row.metric}": row.published for row in table.rows}
    assert published[f"{first}: accuracy"] == 96.63
    assert published["NLTK's perceptron: unknown words"] == 84.88
