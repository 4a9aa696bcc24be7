"""Tables of maximum entropy models on small parts of their data: parts by hand, rows, and an order that must hold."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from loglin.corpus import datasets, reuters, senseval
from loglin.corpus.ppattach import Attachment
from loglin.reproduce import (
    pos_ratnaparkhi,
    pp_attachment,
    sentence_boundary,
    smoothing,
    text_categorization,
    word_sense,
)
from support.corpora import corpus_folder


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
    text = sentence_boundary.BoundaryText.of(
        [["Mr.", "A.", "left", ".", "''"], ["No", "end"], ["Why", "?"]], lambda s: s == 2
    )
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
    text = sentence_boundary.BoundaryText.of(sentences, lambda s: s >= 900)
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
        pos_ratnaparkhi.load(200, 40),
        [replace(s, options=dict(s.options) | {"max_iter": 10}) for s in pos_ratnaparkhi.SETUPS[:4:3]],
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
    assert found["NLTK's perceptron: accuracy"] > found["most frequent tag: accuracy"]


# ---------------------------------------------------------------------- topics


def test_topics_in_both_parts():
    first, second = reuters.Document("", "", ("a", "b")), reuters.Document("", "", ("b", "c"))
    data = text_categorization.Data.of([first, first], [second])
    assert data.topics == ["b"]
    assert data.has([first, reuters.Document("", "", ("c",))]).tolist() == [[True], [False]]


def test_out_of_fold_values():
    """No document is judged by a model that saw it, and topics that a fold lacks get −inf."""
    Y = np.zeros((9, 2), bool)
    Y[:, 0], Y[3, 1] = True, True  # the second topic stands in fold 0 alone
    part = text_categorization.Part(np.arange(9)[:, None], Y, np.arange(2)[:, None])

    def unseen(X, Y, other):
        assert not np.intersect1d(X, other).size
        return np.repeat(other, Y.shape[1], axis=1).astype(float)

    held = text_categorization.out_of_fold(unseen, part)
    assert held[:, 0].tolist() == list(range(9))
    assert np.flatnonzero(np.isinf(held[:, 1])).tolist() == [0, 3, 6]


def test_the_best_out_of_fold_is_taken():
    rng = np.random.default_rng(0)
    Y = rng.random((60, 3)) < 0.4
    part = text_categorization.Part(Y.astype(float), Y, Y[:5].astype(float))
    models = {"bad": lambda X, Y, other: 1.0 - other, "good": lambda X, Y, other: other - 3.0}
    found, note = text_categorization.given(part, models, 0.5)
    assert note == "good; out-of-fold F1 100.00 at -2.5"
    assert not found[text_categorization.USUAL].any()
    assert np.array_equal(found[text_categorization.TUNED], Y[:5])


def test_bootstrap_of_topics_is_about_micro_f1():
    rng = np.random.default_rng(1)
    gold, first, second = (rng.random((40, 4)) < p for p in (0.3, 0.4, 0.2))
    verdict = text_categorization._verdict(gold, {"a": first, "b": second}, "a", "b")
    difference = text_categorization.micro_f1(gold, first) - text_categorization.micro_f1(gold, second)
    assert f"a against b {difference:+.2f} points" in verdict


def test_text_categorization(monkeypatch):
    corpus_folder("reuters21578")
    grids = {
        name: (criterion, grid[1:2], usual) for name, (criterion, grid, usual) in text_categorization.LINEAR.items()
    }
    monkeypatch.setattr(text_categorization, "LINEAR", grids)
    documents = reuters.read(datasets.path("reuters21578") / "reut2-000.sgm.gz")
    data = text_categorization.Data.of(documents[:400], documents[400:600])
    table = text_categorization.make_table(data, lambda line: None, 1)
    found = ours(table)
    assert len(found) == 10
    for name in text_categorization.LINEAR:
        tuned, usual = (found[f"{name}, {way}: micro F1"] for way in ("out of fold", "usual threshold"))
        assert tuned > usual > 40
        assert tuned > found["naive Bayes, counts, usual threshold: micro F1"]


# ---------------------------------------------------------------------- word senses


def test_attributes_of_senses():
    x = senseval.Instance("one", "S", ("A", "hard", "day", "'s"), ("DT", "JJ", "NN", "POS"), 1)
    assert word_sense.bag(x) == ["b=a", "b=day", "b='s"]
    found = word_sense.with_collocations(x)
    assert {"w-2=<none>", "w-1=a", "w2='s", "t1=nn", "w-11=a day", "w-2-1=<none> a", "w12=day 's", "form=hard"} <= set(
        found
    )
    assert len(found) == 3 + 12


def test_every_fifth_tests():
    instances = [senseval.Instance("", "ab"[i % 2], ("x", f"w{i}"), ("X", "X"), 0) for i in range(12)]
    part = word_sense.Part.of(instances, word_sense.bag)
    assert part.X.shape == (10, 10)
    assert part.test_y.tolist() == ["a", "b"]
    assert part.test_X.sum() == 0  # their words are new


def test_word_sense():
    corpus_folder("senseval")
    instances = datasets.load("senseval", "interest")[::8]
    table = word_sense.make_table({"interest": instances}, (0.2,), (1.0,), lambda line: None, 1)
    found = ours(table)
    assert len(found) == 2 * 2 * (2 + 4)
    for kind in word_sense.SETS:
        joint, conditional = (f"mean, {kind}, equal smoothing, {o}" for o in ("joint", "conditional"))
        assert found[f"{conditional}: training"] > found[f"{joint}: training"]
        assert found[f"{conditional}: test"] > 50
    bag, more = (found[f"interest, {kind}, tuned, joint: test"] for kind in word_sense.SETS)
    assert more > bag


# ---------------------------------------------------------------------- smoothing


def test_smoothing(tmp_path):
    corpus_folder("treebank")
    corpus_folder("ppattach")
    pytest.importorskip("matplotlib")
    parts = pp_attachment.load(quick=True)
    parts = parts._replace(training=parts.training[:1000], test=parts.test[:300])
    table = smoothing.make_table(pos_ratnaparkhi.load(150, 30), parts, (1.0, math.inf), lambda line: None, 1)
    found = ours(table)
    assert len(found) == 12
    tags = {name: value for name, value in found.items() if name.startswith("parts of speech")}
    assert tags["parts of speech, cut-off 1, σ² = 1: accuracy"] > tags["parts of speech, cut-off 5, no prior: accuracy"]
    sizes = [int(row.note.split()[0].replace(",", "")) for row in table.rows[:6]]
    assert sizes[0] > sizes[2] > sizes[4]
    assert table.figures == [f"smoothing-{task}.png" for task in ("parts-of-speech", "prepositional-phrases")]
    assert all(path.stat().st_size > 1000 for path in table.save(tmp_path))
