"""Tables in files: the same model as from columns, and the file as it is with one more column."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pytest

from loglin import Tagger
from loglin.corpus.delimited import has_names
from loglin.demo.ingredients import generate
from loglin.models.chain import Model
from support.shell import refusal, refused, run

DATA = generate(40, 1, "train")
X, Y = [[w for w, _ in s] for s in DATA], [[y for _, y in s] for s in DATA]
ROWS = [(str(n), w, "digit" if w[0].isdigit() else 'a "quoted", kind', y) for n, s in enumerate(DATA) for w, y in s]
NAMES = ("id", "word", "kind", "ner")
OPTIONS = ("--columns", "word", "--label", "ner", "--sentence", "id")


def text(separator=",", end="\n", blank=False):
    """The rows as CSV, or as TSV."""
    out = io.StringIO(newline="")
    quoting = csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL
    how = {
        "delimiter": separator,
        "lineterminator": end,
        "quoting": quoting,
        "quotechar": None if separator == "\t" else '"',
    }
    writer = csv.writer(out, **how)
    writer.writerow(NAMES)
    for row, follows in zip(ROWS, [*ROWS[1:], None], strict=True):
        writer.writerow(row)
        if blank and (follows is None or follows[0] != row[0]):
            out.write(end)
    return out.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the same data in every format, and a model of columns."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "columns").write_text("".join("".join(f"{w} {y}\n" for w, y in s) + "\n" for s in DATA))
    (folder / "rows.csv").write_bytes(text().encode())
    (folder / "dos.csv").write_bytes(text(end="\r\n").encode())
    (folder / "semicolons.csv").write_text(text(";"))
    (folder / "rows.tsv").write_text(text("\t"))
    (folder / "rows.csv.gz").write_bytes(gzip.compress(text().encode()))
    run("train", folder / "columns", "-o", folder / "model", "--quiet")
    return folder


@pytest.fixture(scope="module")
def arrow(folder):
    """The same data as Parquet, Feather and a stream of Arrow, a row a token and a row a sentence."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    rows = pyarrow.table({name: [row[c] for row in ROWS] for c, name in enumerate(NAMES)})
    lists = pyarrow.table({"number": list(range(len(X))), "tokens": X, "ner": Y})
    for name, table in (("rows", rows), ("lists", lists)):
        parquet.write_table(table, folder / f"{name}.parquet", row_group_size=7)
        feather.write_feather(table, folder / f"{name}.feather", chunksize=5)
        with pyarrow.ipc.new_stream(folder / f"{name}.arrow", table.schema) as stream:
            stream.write_table(table, 3)
    return folder


def weights(path):
    return Model.load(path).weights.tobytes()


def read(path):
    import pyarrow
    from pyarrow import feather, parquet

    if path.suffix == ".parquet":
        return parquet.read_table(path)
    return pyarrow.ipc.open_stream(path).read_all() if path.suffix == ".arrow" else feather.read_table(path)


@pytest.mark.parametrize("name", ["rows.csv", "dos.csv", "semicolons.csv", "rows.tsv", "rows.csv.gz"])
def test_text_is_tagged_byte_for_byte(folder, name, tmp_path):
    run("train", folder / name, *OPTIONS, "-o", tmp_path / "m", "--quiet")
    assert weights(tmp_path / "m") == weights(folder / "model")
    found = run("tag", tmp_path / "m", folder / name)
    given = gzip.decompress((folder / name).read_bytes()) if name.endswith("gz") else (folder / name).read_bytes()
    labels = ["predicted", *(y for s in Tagger.load(tmp_path / "m").predict(X) for y in s)]
    separator = {"rows.tsv": "\t", "semicolons.csv": ";"}.get(name, ",")
    lines = given.decode().splitlines()
    assert found.splitlines() == [f"{line}{separator}{y}" for line, y in zip(lines, labels, strict=True)]
    assert "accuracy" in run("eval", tmp_path / "m", folder / name)


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
@pytest.mark.parametrize("name", ["rows", "lists"])
def test_arrow_files(arrow, name, ending, tmp_path):
    path, options = arrow / f"{name}.{ending}", OPTIONS if name == "rows" else ()
    run("train", path, *options, "-o", tmp_path / "m", "--quiet")
    assert weights(tmp_path / "m") == weights(arrow / "model")
    out = tmp_path / f"out.{ending}"
    run("tag", tmp_path / "m", path, "-o", out)
    before, after = read(path), read(out)
    assert after.column_names == [*before.column_names, "predicted"]
    assert after.select(before.column_names).equals(before)
    expected = Tagger.load(tmp_path / "m").predict(X)
    assert after["predicted"].to_pylist() == (expected if name == "lists" else [y for s in expected for y in s])
    assert (
        run("eval", tmp_path / "m", path).splitlines()[0]
        == run("eval", arrow / "model", arrow / "columns").splitlines()[0]
    )


def test_probabilities_have_columns(arrow, tmp_path):
    run("train", arrow / "lists.parquet", "-o", tmp_path / "m", "--quiet")
    run("tag", tmp_path / "m", arrow / "lists.parquet", "--nbest", 2, "--marginals", "-o", tmp_path / "out.parquet")
    tagger, found = Tagger.load(tmp_path / "m"), read(tmp_path / "out.parquet").to_pylist()
    for row, ranked, rows in zip(found, tagger.predict_nbest(X, 2), tagger.predict_proba(X), strict=True):
        assert [row["predicted"], row["predicted_2"]] == [y for y, _ in ranked]
        assert row["predicted_2_probability"] == pytest.approx([ranked[1][1]] * len(row["tokens"]), abs=1e-6)
        for code, label in enumerate(tagger.classes_):
            assert row[f"p_{label}"] == pytest.approx(rows[:, code].tolist(), abs=1e-6)
    rows = run("tag", tmp_path / "m", arrow / "lists.parquet", "--json").splitlines()
    assert [json.loads(row)["labels"] for row in rows] == tagger.predict(X)


def test_blank_lines_part_sentences(folder, tmp_path):
    (tmp_path / "blank.csv").write_text(text(blank=True))
    run("train", tmp_path / "blank.csv", *OPTIONS[:4], "-o", tmp_path / "m", "--quiet")
    assert weights(tmp_path / "m") == weights(folder / "model")
    found = run("tag", tmp_path / "m", tmp_path / "blank.csv").splitlines()
    assert [not line for line in found] == [not line for line in text(blank=True).splitlines()]


def test_columns_are_found_by_name(folder, tmp_path):
    """In another order, with others beside them, and without labels."""
    run("train", folder / "rows.csv", "--columns", "word,kind", "--sentence", "id", "-o", tmp_path / "m", "--quiet")
    assert "U102:%x[0,1]" in (tmp_path / "m").read_bytes().decode("utf-8", "replace")
    pairs = [[(r[1], r[2]) for r in ROWS if r[0] == str(n)] for n in range(len(X))]
    assert weights(tmp_path / "m") == Tagger().fit(pairs, Y).model_.weights.tobytes()
    turned = [[row[2], "more", row[1], row[0]] for row in ROWS]
    with open(tmp_path / "turned.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([["kind", "other", "word", "id"], *turned])
    found = csv.reader(io.StringIO(run("tag", tmp_path / "m", tmp_path / "turned.csv")))
    assert [row[-1] for row in found][1:] == [y for s in Tagger.load(tmp_path / "m").predict(pairs) for y in s]


def test_a_model_of_columns_tags_tables(folder):
    found = run("tag", folder / "model", folder / "rows.csv", "--columns", "word", "--sentence", "id")
    plain = [line.rsplit(" ", 1)[1] for line in run("tag", folder / "model", folder / "columns").splitlines() if line]
    assert [row[-1] for row in csv.reader(io.StringIO(found))][1:] == plain


def test_shards_of_tables(folder, tmp_path):
    (tmp_path / "1.csv").write_text(text())
    (tmp_path / "2.csv").write_text(text())
    run("train", f"{tmp_path}/*.csv", *OPTIONS, "-o", tmp_path / "m", "--quiet")
    twice = Tagger().fit(X + X, Y + Y)
    assert Model.load(tmp_path / "m").weights == pytest.approx(twice.model_.weights, abs=0.02)
    assert "predicted" in run("tag", tmp_path / "m", folder / "rows.csv")


def test_the_default_template_is_told(folder, tmp_path):
    told = run("train", folder / "rows.csv", "--sentence", "id", "--label", "ner", "-o", tmp_path / "m")
    assert "default template: the word, two words on each side, spelling, windows of kind" in told
    told = run("train", folder / "columns", "-o", tmp_path / "m")
    assert "default template: the word, two words on each side, spelling, and pairs of labels" in told
    assert "default template" not in run(
        "train", folder / "columns", "--template", "U:%x[0,0]\nB\n", "-o", tmp_path / "m"
    )


BAD = {
    "no names": ("", "no names of columns"),
    "two of a name": ("a,a\nb,c\n", "two columns have the name 'a'"),
    "ragged": ("word,ner\na,B\nb\n", "bad.csv, line 3: 1 fields where the first line has 2 names"),
    "open quote": ('word,ner\n"a,B\nb,C\n\n', "bad.csv, line 2: unexpected end of data"),
    "no sentences": ("word,ner\na,B\nb,C\n", "nothing tells sentences apart; name the column"),
    "no word": ("word,ner\na,B\n,C\n\n", "bad.csv, line 3, column 'word': there is no word"),
    "names alone": ("word,ner\n", "holds no sentences"),
    "no tokens": ("ner\nB\n\n", "has no column of tokens besides ner"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_text(tmp_path, case):
    content, message = BAD[case]
    (tmp_path / "bad.csv").write_text(content)
    refused(tmp_path, ["train", "bad.csv", "-o", "m"], message)


def test_wrong_names(folder, arrow, tmp_path):
    for options, message in (
        (["--columns", "words"], "no column 'words' (columns), only 'id', 'word'"),
        (["--sentence", "no"], "no column 'no' (sentence)"),
        (["--label", "tag", "--sentence", "id"], "no column 'tag' of labels"),
        (["--label", 9, "--sentence", "id"], "no column 9"),
        (["--columns", "word,word"], "give the name of a column, or a list that names each once"),
    ):
        for path in (folder / "rows.csv", arrow / "rows.parquet"):
            assert message in refusal("train", path, *options, "-o", tmp_path / "m")
    assert "conll has no such names" in refusal("tag", folder / "model", folder / "columns", "--sentence", "id")
    (tmp_path / "bad.parquet").write_bytes((arrow / "rows.parquet").read_bytes()[:-9])
    assert "is damaged, or no Parquet file" in refusal(
        "train", tmp_path / "bad.parquet", *OPTIONS, "-o", tmp_path / "m"
    )
    (tmp_path / "again.csv").write_text("id,word,predicted\n1,a,X\n")
    options = ("--columns", "word", "--sentence", "id")
    assert "has a column 'predicted' already" in refusal("tag", folder / "model", tmp_path / "again.csv", *options)


def test_parquet_needs_pyarrow(folder, arrow, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "install loglin[tables]" in refusal("train", arrow / "rows.parquet", *OPTIONS, "-o", tmp_path / "m")
    run("train", folder / "rows.csv", *OPTIONS, "-o", tmp_path / "m", "--quiet")


# ---------------------------------------------------------------------- examples of classifiers

TEXTS = [("sport", "They won, again"), ("law", "a court"), ("sport", "a goal"), ("law", "the law")]
ATTRIBUTES = [("a", "red", "3.5"), ("b", "blue", "1"), ("a", "red", ""), ("b", "green", "0")]


def test_texts_in_tables_are_classified(tmp_path):
    lines = "".join(json.dumps({"label": y, "text": text}) + "\n" for y, text in TEXTS)
    (tmp_path / "docs.jsonl").write_text(lines)
    with open(tmp_path / "docs.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([("label", "text"), *TEXTS])
    for name in ("docs.jsonl", "docs.csv"):
        run("classify-train", tmp_path / name, "-o", tmp_path / f"{name}.model", "--quiet")
    assert weights(tmp_path / "docs.csv.model") == weights(tmp_path / "docs.jsonl.model")
    answers = run("classify", tmp_path / "docs.csv.model", tmp_path / "docs.csv")
    assert answers.split() == [y for y, _ in TEXTS]
    assert "accuracy 100.00% (4 of 4" in run("classify", tmp_path / "docs.csv.model", tmp_path / "docs.csv", "--eval")


def test_columns_are_attributes_of_classifiers(tmp_path):
    rows = [{"color": c} | ({"size": float(s)} if s else {}) for _, c, s in ATTRIBUTES]
    lines = "".join(
        json.dumps({"label": row[0], "features": x}) + "\n" for row, x in zip(ATTRIBUTES, rows, strict=True)
    )
    (tmp_path / "rows.jsonl").write_text(lines)
    with open(tmp_path / "rows.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([("label", "color", "size"), *ATTRIBUTES])
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"label": [r[0] for r in ATTRIBUTES], "color": [r[1] for r in ATTRIBUTES]}
    columns["size"] = [float(r[2]) if r[2] else None for r in ATTRIBUTES]
    parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
    for name in ("rows.jsonl", "rows.csv", "rows.parquet"):
        run("classify-train", tmp_path / name, "-o", tmp_path / f"{name}.model", "--quiet")
        assert weights(tmp_path / f"{name}.model") == weights(tmp_path / "rows.jsonl.model")
    (tmp_path / "bad.csv").write_text("label\na\n")
    refused(tmp_path, ["classify-train", "bad.csv", "-o", "m"], "no column besides 'label'")
    (tmp_path / "empty.csv").write_text("label,text\na,\n")
    refused(tmp_path, ["classify-train", "empty.csv", "-o", "m"], "line 2: the text is None; give a string")


# ---------------------------------------------------------------------- .tsv: names, or a first token


def columns(names: str = "") -> str:
    """Columns of word, kind and label, blank lines between sentences, below a line of names if they are given."""
    rows = ("".join(f"{w}\t{'digit' if w[0].isdigit() else 'word'}\t{y}\n" for w, y in s) + "\n" for s in DATA)
    return names + "".join(rows)


def test_columns_without_names_are_no_table_whatever_their_file_is_called(tmp_path):
    plain, tabs, one = tmp_path / "plain", tmp_path / "tabs.tsv", tmp_path / "one.tsv"
    plain.write_text(columns())
    tabs.write_text(columns())
    one.write_text("3\tdigit\ncups\tword\n\n")  # too little to tell by itself; the model does
    for path in (plain, tabs):
        assert json.loads(run("train", path, "-o", path.with_suffix(".m"), "--quiet", "--json"))["tokens"] == len(ROWS)
    assert weights(tmp_path / "tabs.m") == weights(tmp_path / "plain.m")
    assert run("tag", tmp_path / "tabs.m", tabs) == run("tag", tmp_path / "tabs.m", plain)
    assert run("eval", tmp_path / "tabs.m", tabs) == run("eval", tmp_path / "tabs.m", plain)
    assert [line.split("\t")[:2] for line in run("tag", tmp_path / "tabs.m", one).splitlines()[:2]] == [
        ["3", "digit"],
        ["cups", "word"],
    ]
    run("tag", tmp_path / "tabs.m", one, "--output-dir", tmp_path / "out")
    assert (tmp_path / "out" / "one.tsv").read_text() == run("tag", tmp_path / "tabs.m", one)


def test_columns_below_a_line_of_names_are_a_table(tmp_path):
    named, one = tmp_path / "named.tsv", tmp_path / "one.tsv"
    named.write_text(columns("form\tkind\tner\n"))
    one.write_text("form\tkind\n3\tdigit\ncups\tword\n\n")
    trained = json.loads(run("train", named, "-o", tmp_path / "m", "--quiet", "--json"))
    assert trained["tokens"] == len(ROWS)
    assert trained["labels"] == len({y for *_, y in ROWS})
    run("train", named, "--columns", "form,kind", "-o", tmp_path / "told.m", "--quiet")
    assert weights(tmp_path / "told.m") == weights(tmp_path / "m")
    assert run("tag", tmp_path / "m", one).splitlines()[0] == "form\tkind\tpredicted"


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (columns("form\tkind\tner\n"), True),
        (columns(), False),
        (columns("form\tdigit\tner\n"), False),  # a value below
        (columns("form\t\tner\n"), False),
        (columns("form\tner\tner\n"), False),
        (columns("form\tner\n"), False),  # ragged
        ("form\tner\na\tX\nb\tY\n", False),  # nothing occurs again, so nothing tells
        ("form\tner\na\tX\nb\tX\n", True),
        ("form\tner\n" + "a\tX\n" * 40_000, True),
        ("a\tX\n" * 40_000, False),
        (columns("form kind ner\n").replace("\t", " "), False),  # parted by blanks
        ("", False),
        ("\n\n", False),
    ],
)
def test_a_line_of_names_is_told_by_what_stands_below(content, names, tmp_path):
    path = tmp_path / "some.tsv"
    path.write_text(content)
    assert has_names(path) == names
