"""Calls that once ran and answered wrongly: each is right now, or refused with a sentence that says what to write."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from loglin import LanguageModel, LoglinError, MaxEnt, NaiveBayes, Parser, Tagger, load
from loglin.cli.main import cli
from loglin.corpus.plaintext import distinct_words
from loglin.demo.ingredients import generate

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NAN = float("nan")
DATA = generate(60, 1, "train")
X, Y = [[w for w, _ in s] for s in DATA], [[y for _, y in s] for s in DATA]
TEXTS = ["The team won the game", "Stocks fell sharply", "A great goal, a match", "bank shares, markets"] * 5
KINDS = ["sport", "money"] * 10
LISTS = [distinct_words(text) for text in TEXTS]
TREES = ["(S (NP (D the) (N dog)) (V barks))", "(S (NP (D a) (N cat)) (V sleeps))"]


class Series:
    """A column as pandas has it."""

    def __init__(self, values):
        self.values = list(values)
        self.shape = (len(self.values),)

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    def __array__(self, dtype=None, copy=None):
        found = np.empty(len(self.values), object)
        found[:] = self.values
        return found


@pytest.fixture(scope="module")
def tagger():
    return Tagger(max_iter=5).fit(X, Y)


# ---------------------------------------------------------------------- sentences


def noun(word):
    return "CAP" if word[:1].isupper() else "NUM" if word[:1].isdigit() else "LOW"


PAIRS = [[(w, noun(w)) for w in s] for s in X]


def test_tuples_are_columns():
    """They once became bare attributes, without neighbors or spelling."""
    words, pairs = Tagger(max_iter=20).fit(X, Y), Tagger(max_iter=20).fit(PAIRS, Y)
    wide = [t.text for t in pairs.model_.extractor.templates.templates]
    assert {t.text for t in words.model_.extractor.templates.templates} < set(wide)
    assert "U102:%x[0,1]" in wide
    assert "U105:%x[-1,1]/%x[0,1]" in wide
    test = generate(100, 2, "test")
    T, gold = [[w for w, _ in s] for s in test], [[y for _, y in s] for s in test]
    assert pairs.score([[(w, noun(w)) for w in s] for s in T], gold) > words.score(T, gold) - 0.03
    alone = Tagger(max_iter=20).fit([[(w,) for w in s] for s in X], Y)
    assert alone.model_.weights.tobytes() == words.model_.weights.tobytes()
    assert alone.predict(T) == words.predict(T)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([[("a", "N"), ("b",)]], r"token 1 is \('b',\); every token must have the same number of strings"),
        ([[("a", "N"), "b"]], "token 1 is the string 'b', but tokens before it are tuples"),
        ([[["a", "N"], ("b", "N")]], r"token 1 is \('b', 'N'\), but tokens before it are attributes"),
        ([[("a", 3), ("b", 4)]], r"token 0 is \('a', 3\)"),
        ([["a", None]], "token 1 is None"),
        ([[NAN, "a"]], "token 0 is nan"),
        ([[1, 2]], "token 0 is 1"),
        ([[b"a", b"b"]], "token 0 is b'a'"),
        ([["a", ["b"]]], r"token 1 is \['b'\], but tokens before it are strings"),
    ],
)
def test_tokens_that_differ(sentences, message):
    with pytest.raises(LoglinError, match=message):
        Tagger().fit(sentences, [["X", "Y"]])


def test_columns_of_training_and_of_new_text():
    pairs = Tagger(max_iter=3).fit(PAIRS, Y)
    for token in ("a", ("a",), ("a", "b", "c")):
        with pytest.raises(LoglinError, match="trained on 2"):
            pairs.predict([[token]])
    first = Tagger(template="U0:%x[0,0]\nB", max_iter=3).fit(PAIRS, Y)
    assert first.predict(X) == first.predict(PAIRS)  # the template looks at words alone


def test_lists_are_attributes():
    """As for python-crfsuite; those that look like columns are remarked on."""
    with pytest.warns(UserWarning, match=r"every token is a list of 2 strings.*give tuples"):
        Tagger(max_iter=2).fit([[list(t) for t in s] for s in PAIRS], Y)
    attributes = Tagger(max_iter=2).fit([[[f"w={w}", f"k={k}"] for w, k in s] for s in PAIRS], Y)
    for token in ("a", ("a", "N")):
        with pytest.raises(LoglinError, match="trained on attributes"):
            attributes.predict([[token]])


@pytest.mark.parametrize("criterion", ["contrastive", "em", "mixture"])
def test_columns_where_labels_are_hidden(criterion):
    with pytest.raises(LoglinError, match=f"2 columns, but criterion {criterion} looks at words"):
        Tagger(criterion).fit(PAIRS, Y)


@pytest.mark.parametrize("given", ["Juan vive en Madrid", ["Juan vive en Madrid"], X[0], {"a": 1}, [{"a", "b"}], None])
def test_strings_are_no_sentences(tagger, given):
    calls = [
        lambda: Tagger().fit(given, [["X"] * 19]),
        lambda: Tagger(dev=(given, Y)).fit(X, Y),
        lambda: Tagger("contrastive", dictionary={"a": ["X"]}, dev=given).fit(X),
        lambda: tagger.predict(given),
        lambda: tagger.predict_proba(given),
        lambda: tagger.predict_marginals(given),
        lambda: tagger.predict_nbest(given),
        lambda: tagger.entities(given),
        lambda: tagger.evaluate(given, Y),
        lambda: tagger.evaluate_unsupervised(given, Y),
        lambda: tagger.score(given, Y),
    ]
    if isinstance(given, str):
        calls += [lambda: tagger.predict_single(given), lambda: tagger.explain(given, 0)]
    for n, call in enumerate(calls):
        if given is None and n in (1, 2):  # nothing is held out then
            continue
        with pytest.raises(LoglinError, match=r"split|list of sentences"):
            call()


def test_generators_and_columns_are_read_once_and_wholly():
    listed = Tagger(l2="auto", max_iter=5).fit(X, Y)
    once = Tagger(l2="auto", max_iter=5).fit(((w for w in s) for s in X), ((y for y in s) for s in Y))
    assert "l2_choice" in once.model_.record  # labels once were used up when l2 was to be chosen
    assert once.model_.weights.tobytes() == listed.model_.weights.tobytes()
    assert once.predict(iter(X)) == listed.predict(Series(X)) == listed.predict([np.array(s) for s in X])
    for dev in [(iter(X), iter(Y)), (X, iter(Y))]:
        with pytest.raises(LoglinError, match="read only once"):
            Tagger(dev=dev).fit(X, Y)
    with pytest.raises(LoglinError, match="give two things"):
        Tagger(dev=X).fit(X, Y)
    with pytest.raises(LoglinError, match="read only once"):
        LanguageModel(dev=iter(["a b"])).fit(["a b"] * 3)
    with pytest.raises(LoglinError, match="read only once"):
        Parser(dev=iter(TREES)).fit(TREES)
    with pytest.raises(LoglinError, match="read only once"):
        MaxEnt(dev=(iter(LISTS), iter(KINDS))).fit(LISTS, KINDS)


def test_weights_of_the_wrong_length_where_l2_is_chosen():
    with pytest.raises(LoglinError, match="60 finite numbers"):
        Tagger(l2="auto").fit(X, Y, sample_weight=[1.0] * 59)


@pytest.mark.parametrize("weight", [[NAN, 1.0], [-1.0, 1.0], [1.0], "heavy", [[1.0], [1.0, 2.0]], 3.0])
def test_weights_of_sentences(weight):
    for fit in (
        lambda w: Tagger(max_iter=2).fit([["a"], ["b"]], [["X"], ["Y"]], sample_weight=w),
        lambda w: MaxEnt().fit([["a"], ["b"]], ["X", "Y"], sample_weight=w),
        lambda w: NaiveBayes().fit([["a"], ["b"]], ["X", "Y"], sample_weight=w),
        lambda w: Parser(max_iter=2).fit(TREES, sample_weight=w),
    ):
        with pytest.raises(LoglinError, match="2 finite numbers of at least 0"):
            fit(weight)
        fit(w for w in (1.0, 2.0))


@pytest.mark.parametrize("weight", [NAN, -1.0, "heavy"])
def test_weights_of_labels(weight):
    with pytest.raises(LoglinError, match=f"label_weights gives 'O' {weight!r}"):
        Tagger(label_weights={"O": weight}).fit(X, Y)
    with pytest.raises(LoglinError, match="'heavier'; give a dict"):
        MaxEnt(class_weight="heavier").fit(LISTS, KINDS)


# ---------------------------------------------------------------------- labels

LABELS = [
    ([NAN, "a"], "a label is nan"),
    ([1, "1"], "several kinds"),
    ([1, True], "several kinds"),
    ([np.int64(1), np.True_], "several kinds"),
    (["", "a"], "empty string"),
    ([b"a", b"b"], "a label is b'a'"),
    ([float("inf"), 1.0], "a label is inf"),
]


@pytest.mark.parametrize(("labels", "message"), [*LABELS, ([0.5, 1.5], "the label 0.5 is a float")])
def test_labels_that_would_be_mistaken(labels, message):
    with pytest.raises(LoglinError, match=message):
        Tagger().fit([["a", "b"]], [labels])
    with pytest.raises(LoglinError, match=message):
        Tagger("contrastive").fit([["a", "b"]], [labels])


@pytest.mark.parametrize(("labels", "message"), LABELS)
@pytest.mark.parametrize("kind", [MaxEnt, NaiveBayes])
def test_classes_that_would_be_mistaken(kind, labels, message):
    column = np.empty(20, object)
    column[:] = labels * 10
    for y in (labels * 10, column, iter(labels * 10), Series(labels * 10)):
        with pytest.raises(LoglinError, match=message):
            kind().fit(LISTS, y)
    with pytest.raises(LoglinError, match=message):
        kind().fit(np.eye(2), labels)


@pytest.mark.parametrize(("labels", "message"), LABELS)
def test_label_sets_that_would_be_mistaken(labels, message):
    with pytest.raises(LoglinError, match=message):
        MaxEnt(multi_label=True).fit(LISTS, [labels] * 20)
    with pytest.raises(LoglinError, match=f"{message}|neither a string nor a number"):
        MaxEnt(features=lambda x, c: [str(c)]).fit(LISTS, labels * 10)


def test_labels_named_twice(tagger):
    for fit in (
        lambda: Tagger().fit([["a", "b"]], [[["X", "X"], "Y"]]),
        lambda: MaxEnt(multi_label=True).fit(LISTS, [["a", "a"], ["b"]] * 10),
        lambda: MaxEnt().fit(LISTS, KINDS, candidates=[["sport", "money", "money"]] * 20),
        lambda: MaxEnt(features=lambda x, c: [c]).fit(LISTS, KINDS, candidates=[["sport", "money", "money"]] * 20),
        lambda: Tagger(dictionary={"a": ["X", "X"]}).fit([["a", "b"]], [["X", "Y"]]),
        lambda: Tagger(dictionary=(["X", "X"], Tagger(dictionary=1).fit(X, Y).model_.dictionary)).fit(X, Y),
    ):
        with pytest.raises(LoglinError, match=r"each|twice"):
            fit()


@pytest.mark.parametrize("y", ["XY", ["XY"], [{"X": 1, "Y": 2}], [3], {"a": 1}])
def test_strings_are_no_labels(tagger, y):
    with pytest.raises(LoglinError, match="list of labels"):
        Tagger().fit([["a", "b"]], y)
    with pytest.raises(LoglinError, match="list of labels"):
        tagger.score([["a", "b"]], y)
    for kind in (MaxEnt, NaiveBayes):
        with pytest.raises(LoglinError, match="list with a class"):
            kind().fit([["a"], ["b"]], "XY")


def test_what_predictions_are_compared_with():
    numbers = Tagger(max_iter=3).fit([["a", "b", "c"]] * 3, [[1, 2, 1]] * 3)
    assert numbers.score([["a", "b", "c"]], [np.array([1, 2, 1])]) == 1.0
    assert numbers.predict([["a"]])[0][0] in (1, 2)
    with pytest.raises(LoglinError, match="several kinds"):
        numbers.score([["a", "b", "c"]], [["1", "2", "1"]])
    with pytest.raises(LoglinError, match="not certain"):
        numbers.score([["a", "b", "c"]], [[1, None, 1]])
    for nothing in ([], [[]]):
        with pytest.raises(LoglinError, match="no tokens to compare"):
            numbers.score(nothing, nothing)


# ---------------------------------------------------------------------- feature functions


def shapes(sentence):
    return [{"w": token if isinstance(token, str) else token[0], "n": len(sentence)} for token in sentence]


@pytest.mark.parametrize("sentences", [X, PAIRS, [[list(t) for t in s] for s in PAIRS]])
def test_a_feature_function_is_asked_for(sentences, tmp_path):
    trained = Tagger(features=shapes, max_iter=5).fit(sentences, Y)
    trained.save(tmp_path / "model")
    alone = Tagger.load(tmp_path / "model")
    for call in (alone.predict, alone.predict_proba, alone.predict_nbest, alone.entities):
        with pytest.raises(LoglinError, match=r"Tagger.load\(path, features=f\)"):
            call(sentences)
    for again in (Tagger.load(tmp_path / "model", features=shapes), load(tmp_path / "model", features=shapes)):
        assert again.predict(sentences) == trained.predict(sentences)
        again.save(tmp_path / "copy")
        with pytest.raises(LoglinError, match="feature function"):
            load(tmp_path / "copy").predict(sentences)


def test_a_feature_function_that_is_not_asked_for(tagger, tmp_path):
    tagger.save(tmp_path / "words")
    MaxEnt().fit(LISTS, KINDS).save(tmp_path / "classes")
    NaiveBayes().fit(LISTS, KINDS).save(tmp_path / "bayes")
    for name in ("words", "classes", "bayes"):
        with pytest.raises(LoglinError, match="leave out features"):
            load(tmp_path / name, features=shapes)


@pytest.mark.parametrize("function", [lambda s: [{"w": "a"}], lambda s: "ab", lambda s: None])
def test_a_feature_function_that_gives_something_else(function):
    """With one list of attributes for two tokens it once shifted all labels."""
    with pytest.raises(LoglinError, match=r"features.*the attributes of each token"):
        Tagger(features=function).fit([["a", "b"]], [["X", "Y"]])


# ---------------------------------------------------------------------- texts


@pytest.mark.parametrize("kind", [MaxEnt, NaiveBayes])
def test_texts_are_tokenized_as_in_the_shell(kind, tmp_path):
    texts = kind().fit(TEXTS, KINDS)
    assert texts.score(TEXTS, KINDS) == 1.0
    assert texts.model_.weights.tobytes() == kind().fit(LISTS, KINDS).model_.weights.tobytes()
    texts.save(tmp_path / "model")
    new = ["the goal", "SHARES!"]
    assert list(load(tmp_path / "model").predict(new)) == list(texts.predict(np.array(new))) == ["sport", "money"]
    assert list(kind().fit(Series(TEXTS), Series(KINDS)).predict(Series(new))) == ["sport", "money"]
    assert texts.explain("the goal").label == "sport"


def test_texts_of_the_shell_and_of_python(tmp_path):
    lines = "".join(f'{{"label": "{y}", "text": "{x}"}}\n' for x, y in zip(TEXTS, KINDS, strict=True))
    (tmp_path / "train.jsonl").write_text(lines)
    shell = CliRunner().invoke(cli, ["classify-train", str(tmp_path / "train.jsonl"), "-o", str(tmp_path / "model")])
    assert shell.exit_code == 0, shell.output
    assert list(load(tmp_path / "model").predict(["the goal", "SHARES!"])) == ["sport", "money"]


@pytest.mark.parametrize("kind", [MaxEnt, NaiveBayes])
def test_examples_of_another_form(kind):
    trained = kind().fit(LISTS, KINDS)
    for given, message in [
        (["the team won"], "trained on attributes, not on texts"),
        ("the team", "X is the string"),
        ({"the": 1}, "list of examples"),
        ([["a"], "b"], "example 1 is the string 'b', but those before it are attributes"),
    ]:
        with pytest.raises(LoglinError, match=message):
            trained.predict(given)
        if isinstance(given, list) and len(given) > 1:
            with pytest.raises(LoglinError, match=message):
                kind().fit(given, ["X", "Y"])
    with pytest.raises(LoglinError, match="20 examples but 19 classes"):
        kind().fit(LISTS, KINDS[:-1])
    with pytest.raises(LoglinError, match="no examples"):
        kind().fit([], [])
    with pytest.raises(LoglinError, match="min_count is '2'"):
        kind(min_count="2").fit(LISTS, KINDS)
    with pytest.raises(LoglinError, match="its candidates are 'sport'"):
        trained.predict(LISTS[:1], candidates=["sport"])


# ---------------------------------------------------------------------- constraints


def test_a_constraint_is_kept(tmp_path):
    """The shell once tagged as if there were none."""
    bare = Tagger(max_iter=1, l2=50).fit(X[:5], Y[:5])
    bare.constrain = "bio"
    bare.save(tmp_path / "legal")
    assert load(tmp_path / "legal").constrain == "bio"
    text = "".join("".join(f"{w}\n" for w in s) + "\n" for s in X)
    (tmp_path / "text").write_text(text)

    def tagged(*more):
        result = CliRunner().invoke(cli, ["tag", str(tmp_path / "legal"), str(tmp_path / "text"), *more])
        assert result.exit_code == 0, result.output
        return [[line.split()[-1] for line in s.split("\n")] for s in result.stdout.strip().split("\n\n")]

    legal = bare.predict(X)
    assert tagged() == load(tmp_path / "legal").predict(X) == legal
    bare.constrain = None
    assert tagged("--constrain", "none") == bare.predict(X) != legal
    bare.save(tmp_path / "any")
    assert load(tmp_path / "any").constrain is None


# ---------------------------------------------------------------------- language models and parsers


def test_text_of_language_models():
    model = LanguageModel(max_iter=3).fit(["the dog barks", "the cat sleeps"])
    for call in (LanguageModel().fit, model.perplexity, model.scores, model.evaluate):
        for given in ("the dog barks", {"the": 1}, {"the dog"}, None):
            with pytest.raises(LoglinError, match="give a list of lines"):
                call(given)
    for call in (lambda: LanguageModel().fit(["a b\nc d"]), lambda: model.score("the dog\nthe cat")):
        with pytest.raises(LoglinError, match="line 1 holds a line break"):
            call()
    assert model.score("the dog\n") == model.score("the dog")
    for word in ("the dog", "", 3, None):
        with pytest.raises(LoglinError, match="is no word"):
            model.probability("the", word)


def test_sentences_of_parsers():
    parser = Parser(max_iter=3).fit(TREES)
    for call in (parser.parse, parser.predict, parser.parse_nbest):
        with pytest.raises(LoglinError, match=r"list of sentences, such as \[text.split\(\)\]"):
            call("the dog barks")
        with pytest.raises(LoglinError, match=r"such as text.split\(\)"):
            call(["the dog barks"])
    for call in (parser.marginals, parser.sample, lambda s: parser.explain(s, (0, 1))):
        with pytest.raises(LoglinError, match=r"such as text.split\(\)"):
            call("the dog barks")
    for call in (Parser().fit, parser.score):
        with pytest.raises(LoglinError, match="give a list of trees"):
            call(TREES[0])
    with pytest.raises(LoglinError, match="no trees to compare"):
        parser.score([])


def test_estimators_before_fit():
    from sklearn.exceptions import NotFittedError

    for call in (
        lambda: Tagger().predict(X),
        lambda: Tagger().explain(X[0], 0),
        lambda: MaxEnt().predict(LISTS),
        lambda: NaiveBayes().explain(LISTS[0]),
        lambda: LanguageModel().knows("a"),
        lambda: LanguageModel().next("a"),
        lambda: Parser().parse([["a"]]),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()


def test_numbers_of_answers(tagger):
    language, classes = LanguageModel(max_iter=2).fit(["a b c"] * 3), MaxEnt().fit(LISTS, KINDS)
    for call in (
        lambda: tagger.predict_nbest(X[:1], -1),
        lambda: classes.predict_nbest(LISTS[:1], -1),
        lambda: language.next("a", k=-1),
        lambda: language.sample(-1),
    ):
        with pytest.raises(LoglinError, match="-1"):
            call()


def test_estimators_to_start_from(tagger):
    again = Tagger(max_iter=1, optimizer="lbfgs").fit(X, Y, start=tagger)
    assert again.predict(X) == Tagger(max_iter=1, optimizer="lbfgs").fit(X, Y, start=tagger.model_).predict(X)


def test_labels_of_a_dictionary_are_of_the_kind_of_the_others():
    with pytest.raises(LoglinError, match="several kinds"):
        Tagger(dictionary={"a": [1, 2]}).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("label_weights", "give a dict of numbers, or balanced"),
        ("embeddings", "give a dict of names and files"),
    ],
)
@pytest.mark.parametrize("value", [np.ones(3), [1, 2], 3])
def test_what_must_be_a_dict_is_refused_as_what_it_is(name, told, value):
    with pytest.raises(LoglinError, match=told):
        Tagger(**{name: value}).fit([["a", "b"]], [["X", "Y"]])
