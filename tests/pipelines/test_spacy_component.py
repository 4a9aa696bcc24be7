"""The component in spaCy's pipelines: trained, saved, loaded; the same answers as the estimators'."""

from __future__ import annotations

import numpy as np
import pytest

from loglin import LoglinError, MaxEnt, Tagger
from loglin.demo.ingredients import generate

spacy = pytest.importorskip("spacy")
from spacy.tokens import Doc, Span  # noqa: E402
from spacy.training import Example  # noqa: E402

from loglin.spacy import docs_of, labeled_sentences  # noqa: E402

LINES = generate(150, 1, "train")
X, Y = [[t for t, _ in line] for line in LINES], [[y for _, y in line] for line in LINES]
SETTINGS = {"l2": 0.5, "threads": 1}


def examples(nlp, docs) -> list:
    return [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in docs]


def trained(task: str = "ner", docs=None, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe("loglin", config={"task": task, "settings": SETTINGS, **config})
    docs = docs_of(nlp.vocab, X, Y) if docs is None else docs
    nlp.initialize(lambda: examples(nlp, docs))
    return nlp


@pytest.fixture(scope="module")
def pipeline():
    return trained()


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger(constrain="bio", **SETTINGS).fit(X, Y)


def texts(n: int) -> list[str]:
    return [" ".join(t for t, _ in line) for line in generate(n, 2, "test")]


def found(docs) -> list:
    return [[(e.label_, e.start, e.end, e.text, e._.probability) for e in doc.ents] for doc in docs]


def expected(tagger, docs) -> list:
    answers = tagger.entities([[t.text for t in doc] for doc in docs])
    return [
        [(e.type, e.start, e.stop, doc[e.start : e.stop].text, e.probability) for e in entities]
        for doc, entities in zip(docs, answers, strict=True)
    ]


def same_everywhere(pipeline, tagger, folder, n: int) -> None:
    some = texts(n)
    docs = list(pipeline.pipe(some))
    assert found(docs) == expected(tagger, docs)
    pipeline.to_disk(folder)
    again = spacy.load(folder)
    assert found(again.pipe(some)) == found(docs)


def test_trained_saved_and_loaded_it_finds_the_taggers_entities(pipeline, tagger, tmp_path):
    same_everywhere(pipeline, tagger, tmp_path, 300)


@pytest.mark.full
def test_the_same_on_10000_texts(pipeline, tagger, tmp_path):
    same_everywhere(pipeline, tagger, tmp_path, 10_000)


def test_bytes_processes_and_single_documents(pipeline):
    some = texts(20)
    other = spacy.blank("en")
    other.add_pipe("loglin")
    assert other.get_pipe("loglin").labels == ()
    other.from_bytes(pipeline.to_bytes())
    assert found(map(other, some)) == found(pipeline.pipe(some)) == found(pipeline.pipe(some, n_process=2))
    assert other.meta["labels"]["loglin"] == pipeline.get_pipe("loglin").estimator.classes_
    assert next(other.pipe([""])).ents == ()


def test_a_model_of_ours_in_the_config(tagger, tmp_path):
    tagger.save(tmp_path / "m.model")
    nlp = spacy.blank("en")
    nlp.add_pipe("loglin", config={"model": str(tmp_path / "m.model")})
    docs = list(nlp.pipe(texts(20)))
    assert found(docs) == expected(tagger, docs)
    nlp.initialize(lambda: examples(nlp, docs_of(nlp.vocab, X[:2], Y[:2])))  # a given model is kept
    assert found(nlp.pipe(texts(20))) == found(docs)
    nlp.to_disk(tmp_path / "pipeline")
    (tmp_path / "m.model").unlink()
    assert found(spacy.load(tmp_path / "pipeline").pipe(texts(20))) == found(docs)


def test_it_learns_from_updates_when_it_is_next_used():
    distinct = dict.fromkeys(tuple(line) for line in LINES)
    X, Y = [[t for t, _ in line] for line in distinct], [[y for _, y in line] for line in distinct]
    tagger = Tagger(constrain="bio", **SETTINGS).fit(X, Y)
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("loglin", config={"settings": SETTINGS})
    optimizer, losses = nlp.initialize(), {}
    for _ in range(2):  # the second time it knows them all
        for some in np.array_split(examples(nlp, docs_of(nlp.vocab, X, Y)), 5):
            nlp.update(list(some), sgd=optimizer, losses=losses)
    assert losses == {"loglin": 0.0}
    assert pipe._estimator is None
    docs = list(nlp.pipe(texts(50)))
    assert found(docs) == expected(tagger, docs)
    before = pipe.estimator
    nlp.update(examples(nlp, docs_of(nlp.vocab, [["4", "foo"]], [["B-QTY", "B-FOO"]])))
    assert "B-FOO" in pipe.labels
    assert pipe.estimator is not before


def test_it_learns_from_our_files(tmp_path):
    file = tmp_path / "train.txt"
    file.write_text("".join("".join(f"{t} {y}\n" for t, y in line) + "\n" for line in LINES))
    nlp = spacy.blank("en")
    nlp.config["initialize"]["components"]["loglin"] = {"data": str(file)}
    nlp.add_pipe("loglin", config={"settings": SETTINGS})
    nlp.initialize()
    assert found(nlp.pipe(texts(20))) == found(trained().pipe(texts(20)))


def test_evaluation_is_spacys(pipeline):
    new = generate(50, 2, "test")
    gold = docs_of(pipeline.vocab, [[t for t, _ in line] for line in new], [[y for _, y in line] for line in new])
    scores = pipeline.evaluate(examples(pipeline, gold))
    ours = pipeline.get_pipe("loglin").estimator.evaluate(*labeled_sentences(gold))
    assert scores["ents_f"] == pytest.approx(ours.f1)


def test_sentences_of_documents_are_tagged_by_themselves(pipeline, tagger):
    nlp = spacy.blank("en")
    doc = Doc(nlp.vocab, words=["2", "cups", "flour", "3", "eggs"], sent_starts=[1, 0, 0, 1, 0])
    pipeline.get_pipe("loglin")(doc)
    parts = tagger.entities([["2", "cups", "flour"], ["3", "eggs"]])
    assert [(e.label_, e.start, e._.probability) for e in doc.ents] == [
        (e.type, e.start + first, e.probability) for first, part in zip((0, 3), parts, strict=True) for e in part
    ]


def test_entities_that_are_there_may_stay(pipeline):
    other = trained(overwrite=False)
    doc = pipeline.make_doc("2 cups flour")
    doc.set_ents([Span(doc, 1, 3, label="MINE")])
    kept = other.get_pipe("loglin")(doc.copy())
    assert [(e.label_, e.start, e.end) for e in kept.ents] == [("QTY", 0, 1), ("MINE", 1, 3)]
    assert "MINE" not in {e.label_ for e in pipeline.get_pipe("loglin")(doc).ents}


@pytest.mark.parametrize(("task", "names"), [("tag", ["CD", "NN", "JJ"]), ("pos", ["NUM", "NOUN", "ADJ"])])
def test_tags_are_the_taggers(task, names):
    labels = [[names[0] if t.isdigit() else names[1] if len(t) > 4 else names[2] for t in x] for x in X]
    nlp = spacy.blank("en")
    nlp = trained(task, docs_of(nlp.vocab, X, labels, task))
    tagger = Tagger(**SETTINGS).fit(X, labels)
    for doc in nlp.pipe(texts(20)):
        (right,) = tagger.predict([[t.text for t in doc]])
        assert [getattr(t, f"{task}_") for t in doc] == right
    gold = docs_of(nlp.vocab, X[:20], labels[:20], task)
    assert nlp.evaluate(examples(nlp, gold))[f"{task}_acc"] > 0.95


def test_categories_are_the_classifiers():
    some = ["a goal and a ball", "the law of the court", "ball games", "court and law", "goal"]
    classes = ["sport", "law", "sport", "law", "sport"]
    nlp = spacy.blank("en")
    docs = [nlp.make_doc(text) for text in some]
    for doc, one in zip(docs, classes, strict=True):
        doc.cats = {label: float(label == one) for label in ("sport", "law")}
    nlp = trained("textcat", docs, settings={"l2": 0.5})
    model = MaxEnt(l2=0.5).fit(some, classes)
    for doc in nlp.pipe(some):
        assert doc.cats == pytest.approx(
            dict(zip(model.classes_.tolist(), model.predict_proba([doc.text])[0], strict=True))
        )
    assert nlp.evaluate([Example(nlp.make_doc(d.text), d) for d in docs])["cats_macro_f"] == 1.0
    for doc in docs:
        doc.cats = dict.fromkeys(doc.cats, 1.0)
    with pytest.raises(LoglinError, match="not one above"):
        trained("textcat", docs, settings={})
    several = trained("textcat", docs, settings={"multi_label": True, "l2": 0.1})
    assert min(several("goal").cats.values()) > 0.5


def test_vectors_of_tokens():
    rng, nlp = np.random.default_rng(0), spacy.blank("en")
    table = {word: rng.standard_normal(8).astype(np.float32) for x in X for word in x}
    nlp.vocab.reset_vectors(width=8)
    for word, vector in table.items():
        nlp.vocab.set_vector(word, vector)
    nlp.add_pipe("loglin", config={"vectors": "token", "settings": SETTINGS | {"template": "B\n"}})
    nlp.initialize(lambda: examples(nlp, docs_of(nlp.vocab, X, Y)))
    tagger = Tagger(template="B\n", constrain="bio", **SETTINGS)
    tagger.fit(X, Y, vectors=[np.array([table[w] for w in x]) for x in X])
    for doc in nlp.pipe(" ".join(x) for x in X[:20]):
        rows = [np.array([token.vector for token in doc])]
        (right,) = tagger.entities([[t.text for t in doc]], rows)
        assert [(e.label_, e.start, e.end) for e in doc.ents] == [(e.type, e.start, e.stop) for e in right]
    nlp.get_pipe("loglin").task.__dict__["vectors"] = "tensor"
    with pytest.raises(LoglinError, match="no tensor with a row for every token"):
        nlp("2 cups")


def test_columns_of_tokens():
    nlp = spacy.blank("en")
    docs = docs_of(nlp.vocab, X, Y)
    nlp = trained(docs=docs, columns=["text", "shape"])
    tagger = nlp.get_pipe("loglin").estimator
    assert tagger.model_.extractor.templates.columns == 2
    assert nlp("2 cups flour").ents[0].label_ == "QTY"


def test_annotation_that_is_missing_is_left_open():
    doc = spacy.blank("en").make_doc("2 cups flour")
    assert labeled_sentences([doc])[1] == [[None, None, None]]
    doc.set_ents([Span(doc, 0, 1, label="QTY")], default="missing")
    assert labeled_sentences([doc])[1] == [["B-QTY", None, None]]
    doc.set_ents([Span(doc, 0, 1, label="A"), Span(doc, 1, 3, label="A")], default="outside")
    assert labeled_sentences([doc])[1] == [["B-A", "B-A", "I-A"]]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"task": "chunk"}, "is 'chunk'; give one of ner, tag, pos, textcat"),
        ({"vectors": "word"}, "are 'word'; give one of"),
        ({"columns": ["text", "colour"]}, "'colour' of the component loglin is no attribute"),
        ({"columns": []}, "looks at no columns"),
    ],
)
def test_a_wrong_config_is_one_sentence(config, message):
    with pytest.raises(LoglinError, match=message):
        spacy.blank("en").add_pipe("loglin", config=config)


def test_what_goes_wrong_later_is_one_sentence(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("loglin")
    with pytest.raises(LoglinError, match="has no model yet"):
        nlp("2 cups")
    nlp = spacy.blank("en")
    nlp.add_pipe("loglin", config={"model": str(tmp_path / "none.model")})
    with pytest.raises(LoglinError, match=r"none\.model"):
        nlp("2 cups")
    words = Tagger(**SETTINGS).fit([["a", "b"]], [["x", "y"]])
    words.save(tmp_path / "words.model")
    nlp = spacy.blank("en")
    nlp.add_pipe("loglin", config={"model": str(tmp_path / "words.model")})
    with pytest.raises(LoglinError, match='set task to "tag"'):
        nlp("2 cups")
    nlp = spacy.blank("en")
    nlp.add_pipe("loglin", config={"model": str(tmp_path / "words.model"), "task": "pos"})
    with pytest.raises(LoglinError, match="no part of speech"):
        nlp("2 cups")
    MaxEnt().fit(["a", "b"], ["x", "y"]).save(tmp_path / "class.model")
    nlp = spacy.blank("en")
    nlp.add_pipe("loglin", config={"model": str(tmp_path / "class.model")})
    with pytest.raises(LoglinError, match="is a classifier"):
        nlp("2 cups")
    nlp = spacy.blank("en")
    nlp.add_pipe("loglin", config={"model": str(tmp_path / "words.model"), "task": "textcat"})
    with pytest.raises(LoglinError, match="is a model of Tagger"):
        nlp("2 cups")
