"""Frames of pandas and polars, Arrow tables and datasets give what the same data give as lists."""

from __future__ import annotations

import numpy as np
import pytest

from loglin import LanguageModel, LoglinError, MaxEnt, NaiveBayes, Tagger, load
from loglin.demo.ingredients import generate

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
DATA = generate(40, 1, "train")
X, Y = [[w for w, _ in s] for s in DATA], [[y for _, y in s] for s in DATA]
KINDS = ["digit" if w[0].isdigit() else "word" for s in X for w in s]
LISTS = {"number": list(range(len(X))), "tokens": X, "ner": Y}
ROWS = {
    "id": [n for n, s in enumerate(X) for _ in s],
    "word": [w for s in X for w in s],
    "kind": KINDS,
    "ner": [y for s in Y for y in s],
}
WORDS = {name: ROWS[name] for name in ("id", "word", "ner")}
NUMBERS = {"a": [0.0, 1.0, 2.0, 3.0], "b": [1, 0, 1, 0]}
MIXED = NUMBERS | {"color": ["red", "blue", "red", None], "words": [["p", "q"], [], ["q"], ["r"]]}
CLASSES = ["x", "y", "x", "y"]


class ClassLabel:
    def __init__(self, names):
        self.names = names


class Sequence:
    def __init__(self, feature):
        self.feature = feature


class Dataset:
    """What estimators ask of a dataset of Hugging Face: columns by name, features that name their labels."""

    def __init__(self, columns, features=None):
        self.columns_, self.features = columns, features or {}

    @property
    def column_names(self):
        return list(self.columns_)

    def __getitem__(self, name):
        return self.columns_[name]

    def __len__(self):
        return len(next(iter(self.columns_.values())))

    def select_columns(self, names):
        return Dataset({name: self.columns_[name] for name in names}, self.features)

    def add_column(self, name, values):
        return Dataset(self.columns_ | {name: values}, self.features)


def made(library):
    """What makes a frame of a library from columns."""
    if library == "pandas":
        return pytest.importorskip("pandas").DataFrame
    if library == "polars":
        return pytest.importorskip("polars").DataFrame
    if library == "polars query":
        return lambda columns: pytest.importorskip("polars").LazyFrame(columns)
    if library == "arrow":
        return pytest.importorskip("pyarrow").table
    return Dataset


LIBRARIES = ("pandas", "polars", "polars query", "arrow", "dataset")


@pytest.fixture(params=LIBRARIES)
def frame(request):
    return made(request.param)


@pytest.fixture(scope="module")
def plain():
    return Tagger(max_iter=5).fit(X, Y)


def column(frame, name):
    """A column of any frame as a list."""
    values = frame[name]
    return values.to_pylist() if hasattr(values, "to_pylist") else list(values)


# ---------------------------------------------------------------------- taggers


def test_a_row_is_a_sentence(frame, plain, tmp_path):
    tagger = Tagger(max_iter=5).fit(frame(LISTS), "ner")
    assert tagger.model_.weights.tobytes() == plain.model_.weights.tobytes()
    assert tagger.predict(frame(LISTS)) == plain.predict(X) == plain.predict(frame(LISTS))
    assert tagger.evaluate(frame(LISTS), "ner") == plain.evaluate(X, Y)
    assert tagger.score(frame(LISTS), Y) == plain.score(X, Y)
    tagger.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(frame(LISTS)) == plain.predict(X)


def test_a_row_is_a_token(frame, plain, tmp_path):
    tagger = Tagger(max_iter=5).fit(frame(WORDS), "ner", sentence="id")
    assert tagger.model_.weights.tobytes() == plain.model_.weights.tobytes()
    tagger.save(tmp_path / "m")
    for one in (tagger, load(tmp_path / "m")):
        assert one.predict(frame(WORDS)) == plain.predict(X)
        assert one.evaluate(frame(WORDS), "ner") == plain.evaluate(X, Y)
        assert one.evaluate(frame(WORDS), WORDS["ner"]) == plain.evaluate(X, Y)
    pairs = [list(zip(s, k, strict=True)) for s, k in zip(X, cut(KINDS), strict=True)]
    both = Tagger(max_iter=5).fit(frame(ROWS), "ner", sentence="id")
    assert both.model_.weights.tobytes() == Tagger(max_iter=5).fit(pairs, Y).model_.weights.tobytes()
    named = Tagger(max_iter=5).fit(frame(ROWS), "ner", sentence=["id"], columns="word")
    assert named.model_.weights.tobytes() == plain.model_.weights.tobytes()


def cut(values):
    """A value a token, sentence by sentence."""
    left = iter(values)
    return [[next(left) for _ in s] for s in X]


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "dataset"])
def test_predictions_come_back_as_a_frame(library, plain):
    frame = made(library)
    rows = Tagger(max_iter=5).fit(frame(WORDS), "ner", sentence="id").predict_frame(frame(WORDS))
    assert column(rows, "predicted") == [y for s in plain.predict(X) for y in s]
    assert column(rows, "word") == ROWS["word"]
    lists = plain.predict_frame(frame(LISTS), "guess")
    assert [list(s) for s in column(lists, "guess")] == plain.predict(X)
    with pytest.raises(LoglinError, match="has a column 'ner' already"):
        plain.predict_frame(frame(LISTS), "ner")
    with pytest.raises(LoglinError, match="no data frame"):
        plain.predict_frame(X)


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_columns_of_lists(library, plain):
    """Series of lists, for training, held out and for new text."""
    lists = made(library)(LISTS)
    told = Tagger(max_iter=5).fit(lists["tokens"], lists["ner"], X_dev=lists["tokens"], y_dev=lists["ner"])
    pair = Tagger(max_iter=5, dev=(X, Y)).fit(X, Y)
    framed = Tagger(max_iter=5).fit(lists, "ner", X_dev=lists, y_dev="ner")
    in_constructor = Tagger(max_iter=5, dev=(lists, "ner")).fit(lists, "ner")
    for one in (told, framed, in_constructor):
        assert one.model_.weights.tobytes() == pair.model_.weights.tobytes()
    assert told.dev is None
    assert in_constructor.dev[1] == "ner"
    assert told.predict(lists["tokens"]) == pair.predict(X)


def test_labels_of_datasets_are_named(plain):
    names = sorted({y for s in Y for y in s})
    features = {"ner": Sequence(ClassLabel(names))}
    codes = [[names.index(y) for y in s] for s in Y]
    tagger = Tagger(max_iter=5).fit(Dataset({"tokens": X, "ner": codes}, features), "ner")
    assert tagger.model_.weights.tobytes() == plain.model_.weights.tobytes()
    flat = Dataset({"text": ["a b", "c", "a", "c d"], "label": [0, 1, 0, 1]}, {"label": ClassLabel(["N", "P"])})
    assert MaxEnt().fit(flat, "label").classes_.tolist() == ["N", "P"]


def test_numbers_of_sentences_may_be_left_out():
    """As in tables where only the first token of a sentence has its number."""
    pandas = pytest.importorskip("pandas")
    first = [n if row == 0 or ROWS["id"][row - 1] != n else None for row, n in enumerate(ROWS["id"])]
    tagger = Tagger(max_iter=5).fit(pandas.DataFrame(WORDS | {"id": first}), "ner", sentence="id")
    assert tagger.model_.record["sentences"] == len(X)


def test_missing_labels_are_unknown():
    pandas = pytest.importorskip("pandas")
    some = [y if n % 3 else None for n, y in enumerate(ROWS["ner"])]
    tagger = Tagger(max_iter=3).fit(pandas.DataFrame(WORDS | {"ner": some}), "ner", sentence="id")
    partly = Tagger(max_iter=3).fit(X, cut(some))
    assert tagger.model_.weights.tobytes() == partly.model_.weights.tobytes()


@pytest.mark.parametrize(
    ("columns", "y", "more", "message"),
    [
        (WORDS, "ner", {}, "row 0: the column 'id' holds 0, no list of tokens; where a row is a token name the column"),
        (WORDS, "nerr", {"sentence": "id"}, "no column 'nerr', only 'id', 'word', 'ner'"),
        (WORDS, "ner", {"sentence": "no"}, r"no column 'no' \(sentence\)"),
        (WORDS, "ner", {"sentence": 3}, "sentence is 3; give the name of a column"),
        (ROWS | {"n": ROWS["id"]}, "ner", {"sentence": "id"}, "column 'n' holds 0, which is no string"),
        (WORDS | {"word": [None, *ROWS["word"][1:]]}, "ner", {"sentence": "id"}, "row 0, column 'word': there is no w"),
        (WORDS | {"id": [*ROWS["id"][:-1], 0]}, "ner", {"sentence": "id"}, "sentence 0 do not stand together; sort"),
        (WORDS, ROWS["ner"], {"sentence": "id"}, "'ner' of X holds the labels themselves"),
        (WORDS, ["O"], {"sentence": "id", "columns": "word"}, "rows of tokens but 1 labels"),
        ({"tokens": [["a"], "b"], "ner": [["X"], ["Y"]]}, "ner", {}, "row 1: the column 'tokens' holds 'b'"),
        (
            {"a": [["a", "b"]], "b": [["a"]], "ner": [["X", "Y"]]},
            "ner",
            {"columns": ["a", "b"]},
            "row 0: 1 values of 'b' but 2 of 'a'",
        ),
        ({"tokens": [["a", None]], "ner": [["X", "Y"]]}, "ner", {}, "row 0, column 'tokens': there is no word"),
    ],
)
def test_what_is_refused(columns, y, more, message):
    with pytest.raises(LoglinError, match=message):
        Tagger().fit(Dataset(columns), y, **more)


def test_names_without_a_frame(plain):
    with pytest.raises(LoglinError, match="columns and sentence name columns of a frame, but X is none"):
        Tagger().fit(X, Y, sentence="id")
    with pytest.raises(LoglinError, match="y_dev is given without X_dev"):
        Tagger().fit(X, Y, y_dev=Y)
    with pytest.raises(LoglinError, match=r"dev is .*give two things, inputs and labels"):
        Tagger().fit(X, Y, X_dev=X)


# ---------------------------------------------------------------------- classifiers


def test_columns_of_numbers_are_a_matrix(frame):
    matrix = np.array(list(NUMBERS.values())).T
    expected = MaxEnt().fit(matrix, CLASSES)
    found = MaxEnt().fit(frame(NUMBERS | {"y": CLASSES}), "y")
    assert np.allclose(found.predict_proba(frame(NUMBERS)), expected.predict_proba(matrix))
    assert found.predict(frame(NUMBERS | {"y": CLASSES})).tolist() == expected.predict(matrix).tolist()
    assert {vote.feature for vote in found.explain(frame({"a": [1.0], "b": [1.0]}))} == {"a", "b", "(intercept)"}


@pytest.mark.parametrize("kind", [MaxEnt, NaiveBayes])
def test_other_columns_are_attributes(frame, kind, tmp_path):
    names = list(MIXED)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*MIXED.values(), strict=True)]
    expected = kind().fit(rows, CLASSES)
    found = kind().fit(frame(MIXED | {"y": CLASSES}), "y")
    assert found.model_.weights.tobytes() == expected.model_.weights.tobytes()
    found.save(tmp_path / "m")
    for one in (found, load(tmp_path / "m")):
        assert one.predict(frame(MIXED | {"y": CLASSES})).tolist() == expected.predict(rows).tolist()
        with pytest.raises(LoglinError, match="no column 'color'"):
            one.predict(frame(NUMBERS))


def test_one_column_is_what_it_holds(frame):
    texts = ["they won", "a law court", "we won a game", "the court"]
    found = MaxEnt().fit(frame({"text": texts}), CLASSES)
    assert found.model_.weights.tobytes() == MaxEnt().fit(texts, CLASSES).model_.weights.tobytes()
    with pytest.raises(LoglinError, match=r"'text' holds texts such as .*give X\['text'\] alone"):
        MaxEnt().fit(frame({"text": ["they won the game"] * 4} | NUMBERS), CLASSES)


def test_explanations_show_names_of_columns(tmp_path):
    matrix = np.array(list(NUMBERS.values())).T
    named = MaxEnt(feature_names=["height", "width"], variances={"height": 0.5}).fit(matrix, CLASSES)
    named.save(tmp_path / "m")
    for one in (named, load(tmp_path / "m")):
        assert {vote.feature for vote in one.explain(matrix[1])} == {"height", "width", "(intercept)"}
        assert one.predict(matrix).tolist() == named.predict(matrix).tolist()
    pandas = pytest.importorskip("pandas")
    framed = MaxEnt().fit(pandas.DataFrame(NUMBERS), CLASSES)
    framed.save(tmp_path / "m")
    for one in (framed, load(tmp_path / "m")):
        assert one.feature_names_in_.tolist() == ["a", "b"]
        assert {vote.feature for vote in one.explain(pandas.DataFrame(NUMBERS)[:1])} >= {"b", "(intercept)"}
    for names in (["a"], ["a", "a"]):
        with pytest.raises(LoglinError, match="give a name for each"):
            MaxEnt(feature_names=names).fit(matrix, CLASSES)


# ---------------------------------------------------------------------- language models


def test_lines_of_frames(frame):
    lines = [" ".join(s) for s in X]
    expected = LanguageModel(max_iter=3).fit(lines).perplexity(lines)
    for columns in ({"text": lines}, {"only": lines}, {"id": ROWS["id"][: len(X)], "tokens": X}):
        assert LanguageModel(max_iter=3).fit(frame(columns)).perplexity(frame(columns)) == pytest.approx(expected)
    with pytest.raises(LoglinError, match="columns 'a', 'b', of which none is named text"):
        LanguageModel().fit(frame(NUMBERS))
