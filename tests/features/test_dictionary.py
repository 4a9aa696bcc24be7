"""Templates for rare words, templates by name, and tag dictionaries: against hand counts and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from click.testing import CliRunner

from loglin import Tagger
from loglin.cli.main import cli
from loglin.corpus.columns import encode_strings, from_sentences
from loglin.corpus.labels import gold_of_sequences
from loglin.corpus.vocabulary import Vocabulary
from loglin.decoding.chains import Decoder
from loglin.errors import LoglinError
from loglin.features.dictionary import TagDictionary
from loglin.features.extract import TemplateExtractor
from loglin.features.read import NAMED, read_templates
from loglin.features.template import parse_templates
from loglin.models.chain import Model
from support.model_files import refuse_dictionary

SENTENCES = [["the", "dog", "saw", "the", "saw"], ["the", "cat", "saw"], ["a", "dog"]]
LABELS = [["D", "N", "V", "D", "N"], ["D", "N", "V"], ["D", "N"]]


def attributes(extractor, design) -> list[set[str]]:
    tokens = design.unfolded()
    cuts = itertools.pairwise(tokens.ptr.tolist())
    return [{extractor.attribute_name(int(a)) for a in tokens.ids[b:e] if a >= 0} for b, e in cuts]


# ---------------------------------------------------------------------- %rare


RARE = "U1:%suffix[0,0,2]/%rare[0,0,2]\nU2:%rare[-1,0,3]/%x[0,0]\nB1:%rare[0,0,3]\n"


def test_rare_words():
    """the and saw occur three times, dog twice, the others once; outside the sentence stands a boundary symbol."""
    extractor = TemplateExtractor(parse_templates(RARE))
    found = attributes(extractor, extractor.fit(from_sentences(SENTENCES)))
    assert found[:5] == [{"U2:_B-1/the"}, set(), {"U2:rare/saw"}, set(), set()]
    assert found[5:8] == [{"U2:_B-1/the"}, {"U1:at/rare"}, {"U2:rare/saw"}]
    assert found[8:] == [{"U1:a/rare", "U2:_B-1/a"}, {"U2:rare/dog"}]
    other = attributes(extractor, extractor.transform(from_sentences([["the", "rat", "saw"]])))
    assert other == [{"U2:_B-1/the"}, {"U1:at/rare"}, {"U2:rare/saw"}]  # unknown words are rare


def test_rare_words_through_a_file_and_pruning(tmp_path):
    tagger = Tagger(template=RARE + "U0:%x[0,0]\nB\n").fit(SENTENCES, LABELS)
    tagger.save(tmp_path / "model")
    for model in (Model.load(tmp_path / "model"), tagger.model_.prune(0.0)):
        for corpus in (SENTENCES, [["rat", "cat"]]):
            designs = [m.extractor.transform(from_sentences(corpus)) for m in (tagger.model_, model)]
            assert attributes(tagger.model_.extractor, designs[0]) == attributes(model.extractor, designs[1])
        assert Tagger.from_model(model).predict([["the", "rat"]]) == tagger.predict([["the", "rat"]])


def test_rare_words_and_oov():
    """With oov=first, dog (twice) is kept once; <oov> itself, five first occurrences, is common."""
    extractor = TemplateExtractor(parse_templates("#! oov=first\nU0:%x[0,0]/%rare[0,0,2]\n"))
    found = attributes(extractor, extractor.fit(from_sentences(SENTENCES)))
    assert set.union(*found) == {"U0:dog/rare"}
    assert attributes(extractor, extractor.transform(from_sentences([["rat", "dog"]]))) == [set(), {"U0:dog/rare"}]


@pytest.mark.parametrize("line", ["U1:%rare[0,0]", "U1:%rare[0,0,0]", "U1:%rare[0,0,x]"])
def test_rare_needs_a_count(line):
    with pytest.raises(LoglinError, match=r"line 1.*needs 1 whole number of at least 1"):
        parse_templates(line)


# ---------------------------------------------------------------------- templates by name


def test_ratnaparkhi_template():
    templates = read_templates("ratnaparkhi")
    assert len(templates.templates) == 20
    extractor = TemplateExtractor(templates)
    sentence = ["the"] * 5 + ["X-15"]
    found = attributes(extractor, extractor.fit(from_sentences([sentence])))
    assert "U00:the" in found[0]
    assert not any(name.startswith(("U1", "U2")) for name in found[0])
    assert {"U12:X-/rare", "U18:X-15/rare", "U21:true/rare", "U22:true/rare", "U23:true/rare"} <= found[5]
    assert not any(name.startswith("U00") for name in found[5])


def test_a_file_comes_before_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_templates("ratnaparkhi").lines == tuple(NAMED["ratnaparkhi"].splitlines())
    (tmp_path / "ratnaparkhi").write_text("U7:%x[0,0]\n")
    assert [t.name for t in read_templates("ratnaparkhi").templates] == ["U7"]
    with pytest.raises(LoglinError, match=r"no-such-template.*ratnaparkhi"):
        read_templates("no-such-template")


def features(model) -> dict[str, set]:
    """The model's features by the kind of template: (attribute, label), (attribute, label, label), label n-grams."""
    index, L, names = model.index, model.index.n_labels, model.labels
    unigram = np.repeat(np.arange(len(index.ptr) - 1), np.diff(index.ptr))
    bigram = np.repeat(np.arange(len(index.bigram_ptr) - 1), np.diff(index.bigram_ptr))
    name = model.extractor.attribute_name
    pairs = zip(bigram.tolist(), index.bigram_pairs.tolist(), strict=True)
    return {
        "U": {(name(a), names[y]) for a, y in zip(unigram.tolist(), index.labels.tolist(), strict=True)},
        "B": {(name(a, "bigram"), names[p // L], names[p % L]) for a, p in pairs},
        "pairs": {(names[p // L], names[p % L]) for p in index.pairs.tolist()},
        "triples": {(names[t // L**2], names[t // L % L], names[t % L]) for t in index.triples.tolist()},
    }


def n_grams(sequences: list[list[str]], order: int) -> list[tuple[str, ...]]:
    """Every n-gram of labels, the sentences padded by ``order`` BOS and one EOS, each as often as it occurs."""
    found = []
    for labels in sequences:
        padded = ["BOS"] * order + labels + ["EOS"]
        found += [tuple(padded[i : i + order + 1]) for i in range(len(padded) - order)]
    return found


NGRAM_SENTENCES = [*SENTENCES, ["dog"], ["a", "dog", "saw"], ["saw", "it"]]
NGRAM_LABELS = [*LABELS, ["N"], ["D", "N", "V"], ["V", "N"]]


def test_trigram_template():
    """Exactly the paper's features: words, and label trigrams that see two BOS and one EOS."""
    model = Tagger(template="trigram", max_iter=3).fit(NGRAM_SENTENCES, NGRAM_LABELS).model_
    found = features(model)
    expected = {
        (f"U00:{w}", y) for s, l in zip(NGRAM_SENTENCES, NGRAM_LABELS, strict=True) for w, y in zip(s, l, strict=True)
    }
    grams = set(n_grams(NGRAM_LABELS, 2))
    named = {(g[2],) for g in grams if g[:2] == ("BOS", "BOS")}
    assert named == {("D",), ("N",), ("V",)}
    edge = {name.split(":")[0]: name for name, _ in found["U"] if not name.startswith("U00")}
    assert sorted(edge) == ["U01", "U02"]
    expected |= {(edge["U01"], y) for (y,) in named} | {(edge["U02"], g[1]) for g in grams if g[::2] == ("BOS", "EOS")}
    assert found["U"] == expected
    step = {name.split(":")[0]: name for name, *_ in found["B"]}
    assert sorted(step) == ["B01", "B02"]
    inner = {g for g in grams if "BOS" not in g and "EOS" not in g}
    first = {g[1:] for g in grams if g[0] == "BOS" and "BOS" not in g[1:] and "EOS" not in g}
    last = {g[:2] for g in grams if g[2] == "EOS" and "BOS" not in g}
    assert found["B"] == {(step["B01"], *g) for g in first} | {(step["B02"], *g) for g in last}
    assert (found["pairs"], found["triples"]) == (set(), inner)
    assert model.index.n_features == len(expected) + len(first) + len(last) + len(inner)
    assert model.order == 2
    # by hand: (word, label) 7; BOS BOS t 3; BOS t EOS 1; BOS D N, BOS V N; N V, D N, V N EOS; D N V, N V D, V D N
    assert model.index.n_features == 7 + 3 + 1 + 2 + 3 + 3


def test_bigram_template():
    model = Tagger(template="bigram", max_iter=3).fit(NGRAM_SENTENCES, NGRAM_LABELS).model_
    found, grams = features(model), set(n_grams(NGRAM_LABELS, 1))
    edges = {(name[:3], y) for name, y in found["U"] if not name.startswith("U00")}
    assert edges == {("U01", y) for x, y in grams if x == "BOS"} | {("U02", x) for x, y in grams if y == "EOS"}
    assert found["pairs"] == {g for g in grams if "BOS" not in g and "EOS" not in g}
    assert model.order == 1


@pytest.mark.parametrize("name", ["bigram", "bigram-spelling", "trigram", "trigram-spelling"])
def test_n_gram_templates_learn(name, tmp_path):
    tagger = Tagger(template=name, l2=0.01).fit(NGRAM_SENTENCES, NGRAM_LABELS)
    assert tagger.predict(NGRAM_SENTENCES) == NGRAM_LABELS
    tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").predict([["the", "rat", "saw"]]) == tagger.predict([["the", "rat", "saw"]])


def test_spelling():
    """Suffixes only of words that have as many characters, and nothing where a test fails."""
    extractor = TemplateExtractor(read_templates("trigram-spelling"))
    words = ["x", "up", "Mid-1990s", "5"]
    found = attributes(extractor, extractor.fit(from_sentences([["a", *words, "a"]])))[1:-1]
    assert found[0] == {"U00:x", "U11:x"}
    assert found[1] == {"U00:up", "U11:p", "U12:up/true"}
    capital, hyphen, digit = "U21:true", "U22:true", "U23:true"
    assert found[2] == {"U00:Mid-1990s", "U11:s", "U12:0s/true", "U13:90s/true", capital, hyphen, digit}
    assert found[3] == {"U00:5", "U11:5", digit}


# ---------------------------------------------------------------------- tag dictionaries


def test_counted_by_hand():
    labels, gold = gold_of_sequences(LABELS, [5, 3, 2])
    words = encode_strings([w for s in SENTENCES for w in s])
    dictionary = TagDictionary.of(words, gold, 2)
    assert dictionary.words.strings == ["the", "dog", "saw"]
    assert [{labels[i] for i in np.flatnonzero(row)} for row in dictionary.labels] == [{"D"}, {"N"}, {"V", "N"}]
    allowed = dictionary.allowed(encode_strings(["saw", "rat", "the"]))
    assert allowed.sum(axis=1).tolist() == [2, 3, 1]


def test_labels_in_doubt():
    _, gold = gold_of_sequences([["D", None], [{"N", "V"}, "N"]], [2, 2], ["D", "N", "V"])
    dictionary = TagDictionary.of(encode_strings(["the", "dog", "saw", "the"]), gold, 1)
    assert dictionary.labels.tolist() == [[True, True, False], [True] * 3, [False, True, True]]


@pytest.mark.parametrize(("criterion", "order"), [("crf", 1), ("crf", 2), ("memm", 1), ("memm", 2), ("hmm", 2)])
def test_best_of_the_allowed_sequences(criterion, order):
    """Among all label sequences that the dictionary allows, the one most probable without it (a CRF, an HMM)."""
    tagger = Tagger(criterion, order=order, l2=0.5, dictionary=1, template="U0:%x[0,0]\nU1:%x[-1,0]\nB\n")
    tagger.fit(SENTENCES, LABELS)
    sentence = ["saw", "the", "rat", "dog", "saw"]
    (found,) = tagger.predict([sentence])
    assert found[1] == "D"
    assert found[3] == "N"
    assert found[0] != "D"
    (chances,) = tagger.predict_proba([sentence])
    assert chances[1, tagger.classes_.index("D")] == pytest.approx(1)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    if criterion != "memm":  # whose steps are normalized over what is allowed
        free = Decoder(tagger.model_, decoding={"dictionary": False})
        (chain,) = free.chains(free.design(from_sentences([sentence])))
        sets = tagger.model_.dictionary.allowed(encode_strings(sentence))
        paths = itertools.product(*(np.flatnonzero(row) for row in sets))
        best = max(paths, key=chain.score)
        assert found == [tagger.classes_[i] for i in best]
    wide = Decoder(tagger.model_, decoding={"beam": 99})
    assert [tagger.classes_[i] for i in wide.best(wide.design(from_sentences([sentence])))] == found


def test_files(tmp_path):
    tagger = Tagger("memm", dictionary=2).fit(SENTENCES, LABELS)
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.dictionary == 2
    assert loaded.model_.dictionary.words.strings == ["the", "dog", "saw"]
    assert np.array_equal(loaded.model_.dictionary.labels, tagger.model_.dictionary.labels)
    assert loaded.predict([["a", "saw"]]) == tagger.predict([["a", "saw"]])
    assert Tagger.from_model(loaded.model_.prune(0.0)).model_.dictionary is not None
    assert Tagger().fit(SENTENCES, LABELS).model_.dictionary is None


def test_no_word_often_enough(tmp_path):
    tagger = Tagger(dictionary=99).fit(SENTENCES, LABELS)
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert len(loaded.model_.dictionary.words) == 0
    assert loaded.predict(SENTENCES) == Tagger().fit(SENTENCES, LABELS).predict(SENTENCES)
    assert loaded.predict([]) == []


def test_damaged_dictionary(tmp_path):
    tagger = Tagger(dictionary=1).fit(SENTENCES, LABELS)
    whole = tagger.model_.dictionary
    for broken in (TagDictionary(whole.words, whole.labels & False), TagDictionary(Vocabulary.of("x"), whole.labels)):
        refuse_dictionary(tagger, broken, tmp_path / "model")


def test_refusals():
    for wrong in (-1, 1.5):
        with pytest.raises(LoglinError, match="dictionary is"):
            Tagger(dictionary=wrong).fit(SENTENCES, LABELS)
    with pytest.raises(LoglinError, match="needs words"):
        Tagger(dictionary=1).fit([[{"w": "a"}]], [["D"]])


def test_shell(tmp_path):
    rows = [zip(s, y, strict=True) for s, y in zip(SENTENCES, LABELS, strict=True)]
    (tmp_path / "data").write_text("\n\n".join("\n".join(map(" ".join, sentence)) for sentence in rows) + "\n")
    (tmp_path / "new").write_text("dog\nthe\n")
    model, runner = str(tmp_path / "model"), CliRunner()
    (tmp_path / "template").write_text("U0:%shape[0,0]\nB\n")  # to which dog and the look alike
    command = ["train", str(tmp_path / "data"), "--template", str(tmp_path / "template"), "--dictionary", "1"]
    assert runner.invoke(cli, [*command, "-o", model, "--quiet"]).exit_code == 0
    assert runner.invoke(cli, ["tag", model, str(tmp_path / "new")]).stdout == "dog N\nthe D\n"
    free = runner.invoke(cli, ["tag", model, str(tmp_path / "new"), "--no-dictionary"]).stdout
    assert free == "dog D\nthe N\n"
    assert "tag dictionary: 5 words" in runner.invoke(cli, ["inspect", model]).stdout
    assert runner.invoke(cli, ["eval", model, str(tmp_path / "data"), "--no-dictionary"]).exit_code == 0
