"""Taggers of raw text: wherever lists of tokens may be given, and entities with their characters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from loglin import LoglinError, Parser, Tagger, load
from loglin.corpus.tokenizing import NAMES, tokenizer

TEXTS = ["Anna Berg lives in Bonn.", "In Rome, Carl sleeps.", "Carl's dog-cart is (not) 1,000 years old"]
LABELS = [
    ["B-PER", "I-PER", "O", "O", "B-LOC", "O"],
    ["O", "B-LOC", "O", "B-PER", "O", "O"],
    ["B-PER", "O", "O", "O", "O", "O", "O", "O", "O"],
]
SPLIT = [tokenizer("words").tokens(text) for text in TEXTS]


def halves(text):
    """A tokenizer of one's own."""
    return text.replace("-", " ").split()


@pytest.fixture(scope="module")
def tagger():
    return Tagger(tokenizer="words", l2=0.1, threads=1).fit(TEXTS, LABELS)


def test_text_is_as_its_tokens(tagger):
    tokens = clone(tagger).set_params(tokenizer=None).fit(SPLIT, LABELS)
    assert (tagger.model_.weights == tokens.model_.weights).all()
    for method in ("predict", "predict_marginals", "predict_nbest"):
        assert getattr(tagger, method)(TEXTS) == getattr(tagger, method)(SPLIT) == getattr(tokens, method)(SPLIT)
    assert tagger.predict([TEXTS[0], SPLIT[1]]) == LABELS[:2]  # one of each
    assert tagger.predict_single(TEXTS[0]) == LABELS[0]
    assert str(tagger.explain(TEXTS[0], 1)) == str(tokens.explain(SPLIT[0], 1))
    assert tagger.evaluate(TEXTS, LABELS).f1 == 1
    assert tagger.predict([""]) == [[]]
    assert tagger.entities([""]) == [[]]


def test_entities_know_their_characters(tagger):
    for text, entities, plain in zip(TEXTS, tagger.entities(iter(TEXTS)), tagger.entities(SPLIT), strict=True):
        assert entities
        for entity, other in zip(entities, plain, strict=True):
            assert text[entity.start_char : entity.end_char] == entity.text
            assert (entity.type, entity.start, entity.stop) == (other.type, other.start, other.stop)
            assert entity.probability == other.probability
            assert other.start_char is other.end_char is None
    assert [e.text for e in tagger.entities(["  Anna  Berg  "])[0]] == ["Anna  Berg"]  # as in the text


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30), st.sampled_from(["Anna Berg", "Bonn", "Carl"]), st.text(max_size=30))
def test_entities_of_any_text_are_pieces_of_it(tagger, before, name, behind):
    text = f"{before} {name}{behind}"
    tokens = tokenizer("words").tokens(text)
    (entities,) = tagger.entities([text])
    assert len(tagger.predict([text])[0]) == len(tokens)
    for entity in entities:
        piece = text[entity.start_char : entity.end_char]
        assert piece == entity.text
        assert tokenizer("words").tokens(piece) == tokens[entity.start : entity.stop]


@pytest.mark.parametrize("name", NAMES)
def test_files_keep_the_name(name, tmp_path):
    labels = [["X"] * len(tokenizer(name).tokens(text)) for text in TEXTS]
    labels[0][0] = "Y"
    tagger = Tagger(tokenizer=name, threads=1).fit(TEXTS, labels)
    tagger.save(tmp_path / "m.model")
    for loaded in (Tagger.load(tmp_path / "m.model"), load(tmp_path / "m.model")):
        assert loaded.tokenizer == name
        assert loaded.predict(TEXTS) == tagger.predict(TEXTS)


def test_files_keep_no_function(tmp_path):
    labels = [["Y", *["X"] * (len(halves(text)) - 1)] for text in TEXTS]
    tagger = Tagger(tokenizer=halves, threads=1).fit(TEXTS, labels)
    tagger.save(tmp_path / "m.model")
    loaded = load(tmp_path / "m.model")
    assert loaded.tokenizer is None
    loaded.save(tmp_path / "again.model")
    for path in ("m.model", "again.model"):
        with pytest.raises(LoglinError, match=r"trained with the tokenizer halves, .*Tagger\.load\(path, tokenizer="):
            load(tmp_path / path).predict(TEXTS)
        assert Tagger.load(tmp_path / path, tokenizer=halves).predict(TEXTS) == tagger.predict(TEXTS)
    loaded.tokenizer = "words"
    loaded.save(tmp_path / "words.model")
    assert len(load(tmp_path / "words.model").predict(TEXTS)[0]) == len(SPLIT[0])


def test_without_a_tokenizer_text_is_refused(tmp_path):
    tagger = Tagger(threads=1).fit(SPLIT, LABELS)
    tagger.save(tmp_path / "m.model")
    for one in (tagger, load(tmp_path / "m.model")):
        with pytest.raises(LoglinError, match=r"sentence 0 is the string 'Anna .*set a tokenizer"):
            one.predict(TEXTS)
    with pytest.raises(LoglinError, match="give one of words, whitespace, characters"):
        Tagger(tokenizer="word").fit(SPLIT, LABELS)
    with pytest.raises(LoglinError, match="give one of words, whitespace, characters"):
        Tagger.load(tmp_path / "m.model", tokenizer="word").predict(TEXTS)


def test_columns_are_not_made_of_text(tmp_path):
    pairs = [[(word, "N") for word in sentence] for sentence in SPLIT]
    tagger = Tagger(tokenizer="words", threads=1).fit(pairs, LABELS)
    assert tagger.predict(pairs) == LABELS
    with pytest.raises(LoglinError, match="tokens have 1 column, but the model was trained on 2"):
        tagger.predict(TEXTS)


def test_development_data_and_shards_may_be_text(tmp_path):
    tagger = Tagger(tokenizer="words", threads=1, dev=(TEXTS, LABELS)).fit(TEXTS, LABELS)
    assert tagger.predict(TEXTS) == LABELS
    sharded = Tagger(tokenizer="words", threads=1, l2=0.1).fit(TEXTS, LABELS, work_dir=tmp_path / "work")
    assert sharded.predict(TEXTS) == LABELS


# ---------------------------------------------------------------------- parsers

TREES = ["(S (NP (D the) (N crow)) (V sat))", "(S (NP (N mice)) (V ate))"]


def test_parsers_read_text(tmp_path):
    parser = Parser("pcfg", tokenizer="words", threads=1).fit(TREES)
    text, tokens = "the crow ate", ["the", "crow", "ate"]
    assert parser.predict([text]) == parser.predict([tokens]) == parser.predict((tokens,))
    assert parser.parse_nbest([text, tokens], 2)[0] == parser.parse_nbest([tokens], 2)[0]
    assert parser.marginals(text) == parser.marginals(tokens)
    assert str(parser.explain(text, (0, 2))) == str(parser.explain(tokens, (0, 2)))
    assert parser.sample(text, 2, seed=1) == parser.sample(tokens, 2, seed=1)
    assert parser.predict(["the (crow)"])[0].words() == ["the", "-LRB-", "crow", "-RRB-"]
    parser.save(tmp_path / "p.model")
    assert load(tmp_path / "p.model").tokenizer == "words"
    without = Parser.load(tmp_path / "p.model", tokenizer=None).set_params(tokenizer=None)
    with pytest.raises(LoglinError, match="sentence 0 is the string"):
        without.predict([text])


def test_a_parser_keeps_no_function(tmp_path):
    parser = Parser("pcfg", tokenizer=halves, threads=1).fit(TREES)
    parser.save(tmp_path / "p.model")
    with pytest.raises(LoglinError, match=r"trained with the tokenizer halves.*Parser\.load\(path, tokenizer=halves"):
        load(tmp_path / "p.model").predict(["mice-ate"])
    loaded = Parser.load(tmp_path / "p.model", tokenizer=halves)
    assert loaded.criterion == "pcfg"
    assert loaded.predict(["mice-ate"]) == parser.predict([["mice", "ate"]])
    grammar = Parser.from_grammar(parser.pcfg_, tokenizer="words")
    grammar.save(tmp_path / "g.model")
    assert (load(tmp_path / "g.model").criterion, load(tmp_path / "g.model").tokenizer) == ("pcfg", "words")
