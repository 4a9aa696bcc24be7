"""CoNLL-U: what is read, what is written back, what is refused."""

from __future__ import annotations

import gzip
import json

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from loglin.cli.main import cli
from loglin.corpus import conll, conllu, formats
from loglin.errors import LoglinError
from loglin.models.chain import Model
from support.corpora import corpus_folder

DOCUMENT = """# sent_id = 1
# text = Vámonos al mar
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tV\tMood=Imp|Number=Plur\t0\troot\t0:root\t_
2\tnos\tnosotros\tPRON\tP\tCase=Acc\t1\tobj\t1:obj\tSpaceAfter=No
2.1\tya\tya\tADV\t_\t_\t_\t_\t1:advmod\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\tE\t_\t5\tcase\t5:case\t_
4\tel\tel\tDET\tD\tNumber=Sing\t5\tdet\t5:det\t_
5\tmar\tmar\tNOUN\tN\tNumber=Sing\t1\tobl\t1:obl:a\t_

# only a comment

0.1\t_\t_\tVERB\t_\t_\t_\t_\t_\t_
1\tmar\tmar\tNOUN\tN\tNumber=Sing\t0\troot\t0:root\t_
2\t10 000\t10 000\tNUM\tZ\t_\t1\tnummod\t1:nummod\tA=b c

"""


def run(*words, text: str | None = None) -> str:
    result = CliRunner().invoke(cli, [str(w) for w in words], input=text)
    if isinstance(result.exception, LoglinError):
        raise result.exception
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def written(path, number: int) -> bytes:
    """The file with its own values in one column."""
    return b"".join(
        b.with_column(number, b.corpus.columns[number - 1].strings() if b.tokens else []) for b in conllu.blocks(path)
    )


@pytest.fixture
def document(tmp_path):
    (tmp_path / "data.conllu").write_text(DOCUMENT)
    return tmp_path / "data.conllu"


def test_tokens_and_columns(document):
    corpus = conllu.read(document)
    words = [["Vamos", "nos", "a", "el", "mar"], ["mar", "10 000"]]
    assert corpus.strings(0) == words
    assert corpus.sentences()[1][1] == ("10 000", "10 000", "NUM", "Z", "_", "1", "nummod", "1:nummod", "A=b c", "2")
    form = formats.named("conllu")
    for asked, number, first in ((None, 3, "VERB"), ("XPOS", 4, "V"), (5, 5, "Mood=Imp|Number=Plur"), (-3, 7, "root")):
        text = form.labeled(str(document), "utf-8", asked, False)
        assert (text.n_columns, text.label_column, text.sequences()[0][0]) == (10, number, first)
        assert text.inputs.strings(0) == words
        assert set(text.inputs.columns[number - 1].strings()) == {"_"}  # labels are no features
        assert text.inputs.columns[1].strings() == corpus.columns[1].strings()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("number", range(10))
def test_written_as_read(document, number, end):
    document.write_bytes(DOCUMENT.replace("\n", end).encode())
    assert written(document, number) == document.read_bytes()
    document.write_bytes(DOCUMENT.rstrip().replace("\n", end).encode())  # the last line has no end
    assert written(document, number) == document.read_bytes()


FIELD = st.text(st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=4)


@st.composite
def sentences(draw) -> str:
    lines = [f"#{comment}" for comment in draw(st.lists(FIELD, max_size=2))]
    for token in range(draw(st.integers(0, 4))):
        rest = "\t".join(draw(st.lists(FIELD, min_size=9, max_size=9)))
        kind = draw(st.sampled_from(["token", "range", "empty"]))
        if kind == "empty":
            lines += [f"{token}.{n}\t{rest}" for n in range(1, draw(st.integers(1, 2)) + 1)]
        if kind == "range":
            lines.append(f"{token + 1}-{token + 1}\t{rest}")
        lines.append(f"{token + 1}\t{rest}")
    return "".join(line + "\n" for line in lines)


@settings(max_examples=100, deadline=None)
@given(st.lists(sentences(), max_size=4), st.integers(0, 9), FIELD)
def test_round_trip(tmp_path_factory, parts, number, label):
    path, other = (tmp_path_factory.mktemp("conllu") / name for name in ("a.conllu", "b.conllu"))
    path.write_bytes("".join(part + "\n" for part in parts).encode())
    assert written(path, number) == path.read_bytes()
    tokens = sum(line.split("\t")[0].isdecimal() for part in parts for line in part.split("\n") if "\t" in line)
    assert sum(len(block.tokens) for block in conllu.blocks(path)) == tokens
    if number:
        other.write_bytes(b"".join(b.with_column(number, [label] * len(b.tokens)) for b in conllu.blocks(path)))
        assert {
            y for b in conllu.blocks(other) for y in (b.corpus.strings(number - 1) if b.tokens else []) for y in y
        } <= {label}


def test_from_the_shell(document, tmp_path):
    with gzip.open(tmp_path / "zipped.conllu.gz", "wt") as stream:
        stream.write(DOCUMENT)
    (tmp_path / "template").write_text("U0:%x[0,0]\nU1:%x[0,3]\nB\n")
    model, out = tmp_path / "model", tmp_path / "out.conllu"
    for column, number in (("upos", 3), ("FEATS", 5), (7, 7)):
        more = ["--label-column", column, "--template", tmp_path / "template", "--quiet"]
        run("train", document, "--dev", document, "-o", model, *more)
        assert (Model.load(model).record["columns"], Model.load(model).record["label_column"]) == (10, number)
        blank = b"".join(b.with_column(number, ["_"] * len(b.tokens)) for b in conllu.blocks(document))
        (tmp_path / "blank.conllu").write_bytes(blank)
        run("tag", model, tmp_path / "blank.conllu", "-o", out)
        assert out.read_text() == DOCUMENT
        assert json.loads(run("eval", model, tmp_path / "zipped.conllu.gz", "--json"))["accuracy"] == 1.0
        value = json.loads(
            run("compare", document, out, out, "--metric", "accuracy", "--label-column", column, "--json")
        )
        assert value["tokens"] == 7


def test_models_of_other_files(document, tmp_path):
    """Words and UPOS from columns train a tagger for CoNLL-U, and the reverse."""
    (tmp_path / "columns").write_text("Vamos VERB\nnos PRON\na ADP\nel DET\nmar NOUN\n")
    run("train", tmp_path / "columns", "-o", tmp_path / "model", "--quiet")
    assert run("tag", tmp_path / "model", document).splitlines()[3].split("\t")[3] == "VERB"
    assert json.loads(run("eval", tmp_path / "model", document, "--json"))["tokens"] == 7
    run("train", document, "-o", tmp_path / "model", "--quiet")
    assert run("tag", tmp_path / "model", text="mar\n10\n") == "mar NOUN\n10 NUM\n"
    assert json.loads(run("tag", tmp_path / "model", document, "--json").splitlines()[1])["tokens"] == ["mar", "10 000"]
    assert run("tag", tmp_path / "model", "--format", "conllu", text="# nothing\n\n") == "# nothing\n\n"


LINE = "1\ta\ta\tX\tX\t_\t0\troot\t_\t_\n"
BAD = {
    "columns": (LINE + "2\ta\tX\n", "bad.conllu, line 2: 3 columns parted by tabs where CoNLL-U has 10"),
    "blanks": ("1 a a X X _ 0 root _ _\n", "line 1: 1 columns parted by tabs"),
    "white line": (LINE + " \n", "line 2: 1 columns"),
    "empty column": (LINE.replace("_\t0", "\t0"), "line 1: the column FEATS is empty; write _"),
    "order": (LINE + "\n" + LINE + "3" + LINE[1:], "line 4: the id '3' is out of order; token 2"),
    "again": (LINE + LINE, "line 2: the id '1' is out of order"),
    "letters": ("x" + LINE[1:], "line 1: the id 'x' is out of order"),
    "range late": (LINE + "1-2" + LINE[1:], "line 2: the id '1-2' is out of order"),
    "range backwards": ("1-0" + LINE[1:] + LINE, "line 1: the id '1-0'"),
    "range inside a range": ("1-3" + LINE[1:] + LINE + "2-3" + LINE[1:], "line 3: the id '2-3'"),
    "range open": ("# a\n1-2" + LINE[1:] + LINE + "\n", "line 4: the sentence ends with token 1, but a range"),
    "empty node": (LINE + "1.2" + LINE[1:], "line 2: the id '1.2'.*empty node 1.1"),
    "latin-1": (LINE.encode() + b"# \xe9\n", "line 2: byte 0xe9 is not UTF-8; name the encoding"),
    "nothing": ("", "bad.conllu holds no tokens; expected"),
    "comments": ("# a\n\n", "bad.conllu holds no tokens; expected"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    content, message = BAD[case]
    path = tmp_path / "bad.conllu"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(LoglinError, match=message):
        run("train", path, "-o", tmp_path / "model", "--quiet")
    assert not (tmp_path / "model").exists()


def test_bad_requests(document, tmp_path):
    for column in ("POS", 10, -11):
        with pytest.raises(LoglinError, match=f"10 columns, so there is no column {column}; give one of id, form"):
            run("train", document, "--label-column", column, "-o", tmp_path / "model")
    (tmp_path / "columns").write_text("a X\n")
    with pytest.raises(LoglinError, match="no names for its columns, so there is no column 'upos'; give the number"):
        run("train", tmp_path / "columns", "--label-column", "upos", "-o", tmp_path / "model")
    run("train", document, "-o", tmp_path / "model", "--quiet")
    with pytest.raises(LoglinError, match="CoNLL-U has no room for probabilities or several answers; add --json"):
        run("tag", tmp_path / "model", document, "--nbest", 2)
    with pytest.raises(LoglinError, match=r"the label '' cannot stand in a column of CoNLL-U"):
        next(conllu.blocks(document)).with_column(3, [""] * 7)


@pytest.mark.parametrize("name", ["ud_english_ewt", "ud_portuguese_bosque", "ud_turkish_imst"])
def test_treebanks(tmp_path, name):
    """Words, UPOS, XPOS and FEATS of whole treebanks, put into CoNLL-U, come back as they are."""
    folder = corpus_folder(name)
    for real in folder.glob("*.conllu"):  # with ranges and empty nodes, where somebody has put them there
        assert written(real, 3) == real.read_bytes()
    corpus = conll.read(folder / "test.tsv")
    path = tmp_path / "test.conllu"
    with open(path, "w", newline="") as stream:
        for number, sentence in enumerate(corpus.sentences()):
            stream.write(f"# sent_id = {number}\n")
            for t, (word, upos, xpos, feats) in enumerate(sentence, 1):
                stream.write(f"{t}\t{word}\t_\t{upos}\t{xpos}\t{feats}\t_\t_\t_\t_\n")
            stream.write("\n")
    assert written(path, 3) == path.read_bytes()
    found = conllu.read(path)
    assert found.offsets.tolist() == corpus.offsets.tolist()
    for ours, theirs in ((0, 0), (2, 1), (3, 2), (4, 3)):
        assert found.columns[ours].strings() == corpus.columns[theirs].strings()
