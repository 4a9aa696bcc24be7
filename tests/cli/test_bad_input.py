"""Bad input: one sentence with place and remedy, a non-zero exit, no traceback, and no file changed."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import subprocess
import zipfile

import pytest

from support.shell import PROGRAM, check_sentence, program, refused, snapshot

COLUMNS = "a B-P\nb O\n\nc B-P\nd I-P\n\n" * 3
THREE = "a X B-P\nb Y O\n\nc X B-P\nd Z I-P\n\n" * 3
OLD = b"an older file"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Bytes of a tagger of words, of words in three columns, of attributes, and of a classifier."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "two").write_text(COLUMNS)
    (folder / "three").write_text(THREE)
    (folder / "pos").write_text("U:%x[0,0]\nV:%x[0,1]\nB\n".replace("V", "U1"))
    (folder / "plain").write_text("a N\nb V\n")
    (folder / "attributes.crfsuite").write_text("A\tw\nB\tv\n")
    (folder / "docs.jsonl").write_text('{"label": "a", "text": "x"}\n{"label": "b", "text": "y"}\n')
    for arguments in (
        ["train", "two", "-o", "tagger"],
        ["train", "three", "--template", "pos", "-o", "columns"],
        ["train", "plain", "-o", "nouns"],
        ["train", "attributes.crfsuite", "-o", "attributes"],
        ["classify-train", "docs.jsonl", "-o", "classifier"],
    ):
        code, _, err = program(folder, [*arguments, "--quiet", "--threads", 1])
        assert code == 0, err
    return {n: (folder / n).read_bytes() for n in ("tagger", "columns", "nouns", "attributes", "classifier")}


@pytest.fixture
def folder(tmp_path, models):
    """A folder with data, models and an older output."""
    for name, content in models.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "data").write_text(COLUMNS)
    (tmp_path / "three").write_text(THREE)
    (tmp_path / "out").write_bytes(OLD)
    (tmp_path / "sub").mkdir()
    return tmp_path


# ---------------------------------------------------------------------- data files

DATA = {
    "missing": (None, ["nowhere", "No such file"]),
    "empty": (b"", ["bad", "no tokens"]),
    "blank lines": (b"\n\n  \n\t\n", ["bad", "no tokens"]),
    "only docstart": (b"-DOCSTART- O\n\n", ["no tokens"]),
    "binary": (b"a B\nb\0 O\n", ["zero byte", "position 5"]),
    "latin-1": ("a B\n\nb\xe9 O\n".encode("latin-1"), ["bad, line 3", "0xe9", "--encoding latin-1"]),
    "utf-16": ("a B\nb O\n".encode("utf-16"), ["UTF-16", "--encoding utf-16"]),
    "ragged": (b"a X B\nb Y O\n\nc O\n", ["bad, line 4", "2 columns", "'c O'", "3 columns"]),
    "ragged tabs": (b"a\tB\nb O\n", ["bad, line 2", "tabs"]),
    "one column": (b"a\nb\n", ["one column", "label"]),
    "damaged gzip": (b"\x1f\x8b\x08\x00abcdefgh", ["damaged"]),
}


@pytest.mark.parametrize("case", DATA)
def test_training_data(folder, case):
    content, parts = DATA[case]
    files = {} if content is None else {"bad": content}
    name = "nowhere" if content is None else "bad"
    refused(folder, ["train", name, "-o", "out"], *parts, files=files)
    if case not in ("one column", "ragged", "ragged tabs"):
        refused(folder, ["train", "data", "--dev", name, "-o", "out"], *parts)


def test_data_is_a_folder(folder):
    refused(folder, ["train", "sub", "-o", "out"], "sub is a folder without files")
    refused(folder, ["classify-train", "sub", "-o", "out"], "sub is a folder")
    refused(folder, ["tag", "tagger", "sub", "-o", "out"], "sub is a folder")


@pytest.mark.parametrize("encoding", ["x-nothing", "", "rot13", "undefined"])
def test_unknown_encoding(folder, encoding):
    refused(folder, ["train", "data", "-o", "out", "--encoding", encoding], repr(encoding), "utf-8")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "punycode", "shift-jis"])
def test_wrong_encoding(folder, encoding):
    data = b"a B\nb\x81\xff O\n"
    refused(folder, ["train", "bad", "-o", "out", "--encoding", encoding], "bad", encoding, files={"bad": data})


def test_halves_of_characters_by_encoding(folder):
    refused(
        folder,
        ["train", "bad", "-o", "out", "--encoding", "unicode_escape"],
        "bad, line 1",
        files={"bad": "a\\ud800 B\n"},
    )


@pytest.mark.parametrize("column", [2, -3, 10**25])
def test_label_column(folder, column):
    refused(folder, ["train", "data", "-o", "out", "--label-column", column], f"no column {column}", "data")
    refused(folder, ["eval", "tagger", "data", "--label-column", column], f"no column {column}", "data")


# ---------------------------------------------------------------------- templates

TEMPLATES = {
    "no lines": ("", ["holds no template"]),
    "comments": ("# one\n\n", ["holds no template"]),
    "column": ("U0:%x[0,1]\n", ["names column 1", "data"]),
    "kind": ("U0:%x[0,0]\nQ:%x[0,0]\n", ["line 2", "'Q'"]),
    "no bracket": ("U0:%x[0,0\n", ["line 1", "U0:%x[0,0"]),
    "letters": ("\nU0:%x[a,0]\n", ["line 2", "%x[a,0]"]),
    "negative column": ("U0:%x[0,-1]\n", ["line 1", "%x[0,-1]"]),
    "far": ("U0:%x[101,0]\n", ["line 1", "101"]),
    "function": ("U0:%nothing[0,0]\n", ["line 1", "'nothing'", "suffix"]),
    "arguments": ("U0:%suffix[0,0]\n", ["line 1", "%suffix[0,0]"]),
    "pattern": ('U0:%t[0,0,"("]\n', ["line 1", "regular expression"]),
    "no pattern": ("U0:%m[0,0]\n", ["line 1", "quoted pattern"]),
    "nothing": ("U0:\n", ["line 1", "colon"]),
    "trigram": ("T:%x[0,0]\n", ["line 1", "T alone"]),
    "option": ("#! variance=nan\nU0:%x[0,0]\n", ["line 1", "variance=nan"]),
    "option name": ("#! min_count=2 U9\nU0:%x[0,0]\n", ["line 1", "'U9'"]),
    "latin-1": (b"U0:%x[0,0]\nU1:\xe9\n", ["line 2", "0xe9", "UTF-8"]),
}


@pytest.mark.parametrize("case", TEMPLATES)
def test_template(folder, case):
    text, parts = TEMPLATES[case]
    arguments = ["train", "data", "--template", "chosen", "-o", "out"]
    refused(folder, arguments, "chosen", *parts, files={"chosen": text})


def test_template_file(folder):
    refused(folder, ["train", "data", "--template", "nowhere", "-o", "out"], "nowhere", "No such file")
    refused(folder, ["train", "data", "--template", "sub", "-o", "out"], "sub", "directory")
    refused(
        folder,
        ["train", "a.crfsuite", "--template", "t", "-o", "out"],
        "--template",
        files={"a.crfsuite": "A\tw\n", "t": "U:%x[0,0]\n"},
    )


def test_ngrams_longer_than_any_word_take_no_time(folder):
    (folder / "t").write_text("U:%ngrams[0,0,1,1000000000]\nB\n")
    code, _, err = program(folder, ["train", "data", "--template", "t", "-o", "new", "--quiet"])
    assert (code, err) == (0, "")


# ---------------------------------------------------------------------- options


@pytest.mark.parametrize(
    "option",
    [(name, value) for name in ("--l1", "--l2", "--tol") for value in ("-1", "x", "nan", "inf", "")]
    + [("--max-iter", "0"), ("--max-iter", "-1"), ("--max-iter", "1.5"), ("--max-iter", "nan")]
    + [("--threads", "0"), ("--threads", "-1"), ("--threads", "x"), ("--seed", "-1"), ("--min-count", "0")],
    ids="=".join,
)
@pytest.mark.parametrize("command", ["train", "classify-train"])
def test_numbers(folder, command, option):
    name, value = option
    (folder / "docs.jsonl").write_text('{"label": "a", "text": "x"}\n{"label": "b", "text": "y"}\n')
    data = "data" if command == "train" else "docs.jsonl"
    refused(folder, [command, data, "-o", "out", *option], name.strip("-").replace("-", "_")[:3], value)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ["command", "--help"]),
        (["nothing"], ["'nothing'", "--help"]),
        (["train"], ["DATA", "train --help"]),
        (["train", "data"], ["--output", "train --help"]),
        (["train", "data", "-o", "out", "--nothing"], ["--nothing", "train --help"]),
        (["train", "data", "-o", "out", "--criterion", "svm"], ["'svm'", "perceptron"]),
        (["train", "data", "-o", "out", "--order", "3"], ["--order", "3"]),
        (["train", "data", "-o", "out", "--format", "xml"], ["'xml'", "crfsuite"]),
        (["train", "data", "-o", "out", "--scheme", "bio"], ["'bio'", "FROM:TO"]),
        (["train", "data", "-o", "out", "--scheme", "iob1:"], ["''", "iob2"]),
        (["train", "data", "-o", "out", "--scheme", "x:iob2"], ["'x'", "iob2"]),
        (["train", "plain", "-o", "out", "--scheme", "iob1:iob2"], ["'N'", "iob1"]),
        (["train", "data", "-o", "out", "--dev", "three"], ["three", "3 columns", "2"]),
        (["train", "data", "-o", "out", "--continue", "nowhere"], ["nowhere", "No such file"]),
        (["train", "data", "-o", "out", "--continue", "data"], ["data", "no loglin model"]),
        (["tag", "tagger", "data", "-o", "out", "--nbest", "0"], ["--nbest", "0"]),
        (["tag", "tagger", "data", "-o", "out", "--constrain", "nothing"], ["'nothing'", "iobes"]),
        (["tag", "nouns", "data", "-o", "out", "--constrain", "bio"], ["'N'", "iob2"]),
        (["eval", "nouns", "data", "--constrain", "bio"], ["'N'", "iob2"]),
        (["tag", "tagger", "three", "-o", "out"], ["three", "3 columns", "2"]),
        (["tag", "columns", "one", "-o", "out"], ["one", "1 columns", "3"]),
        (["tag", "attributes", "data", "-o", "out"], ["data", "--format"]),
        (["tag", "classifier", "data", "-o", "out"], ["classifier", "loglin classify"]),
        (["eval", "classifier", "data"], ["classifier", "loglin classify"]),
        (["classify", "tagger", "data", "-o", "out"], ["tagger", "loglin tag"]),
        (["eval", "tagger", "one"], ["one", "labels", "missing"]),
        (["prune", "tagger", "-o", "out", "--threshold", "nan"], ["nan"]),
        (["prune", "tagger", "-o", "out", "--threshold", "1e9"], ["1e+09"]),
        (["inspect", "tagger", "--label", "Q"], ["'Q'", "B-P"]),
        (["inspect", "tagger", "--explain", ""], ["empty"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0] else None,
)
def test_what_does_not_go_together(folder, arguments, parts):
    refused(folder, arguments, *parts, files={"one": "a\nb\n", "plain": "a N\nb V\n"})


def test_labels_never_seen_are_errors_of_the_model_not_of_the_file(folder):
    (folder / "new").write_text("a B-P\nb Q\n")
    code, out, err = program(folder, ["eval", "tagger", "new", "--json"])
    assert code == 0
    assert err == "loglin: new has labels that the model never saw, counted as errors: Q\n"
    assert json.loads(out)["unseen_labels"] == ["Q"]
    assert json.loads(out)["accuracy"] == 0.5


@pytest.mark.parametrize("more", [[], ["--marginals"], ["--nbest", "2"], ["--json"]], ids=" ".join)
def test_constraint_that_nothing_obeys(folder, more):
    (folder / "inside").write_text("a I-X\nb I-X\n")
    assert program(folder, ["train", "inside", "-o", "model", "--quiet"])[0] == 0
    refused(folder, ["tag", "model", "data", "-o", "out", "--constrain", "bio", *more], "equence")


def test_constraint_on_labels_that_are_numbers(folder):
    (folder / "n.jsonl").write_text('{"tokens": ["a", "b"], "labels": [1, 2]}\n')
    assert program(folder, ["train", "n.jsonl", "-o", "model", "--quiet"])[0] == 0
    refused(folder, ["tag", "model", "n.jsonl", "-o", "out", "--constrain", "bio"], "'1'", "iob2")


# ---------------------------------------------------------------------- output

WRITERS = {
    "train": ["train", "data", "--quiet"],
    "tag": ["tag", "tagger", "data"],
    "prune": ["prune", "tagger"],
    "classify-train": ["classify-train", "docs.jsonl", "--quiet"],
    "classify": ["classify", "classifier", "docs.jsonl"],
}


@pytest.fixture(params=WRITERS)
def writer(request, folder):
    (folder / "docs.jsonl").write_text('{"label": "a", "text": "x"}\n{"label": "b", "text": "y"}\n')
    return WRITERS[request.param]


def test_output_place(folder, writer):
    refused(folder, [*writer, "-o", "nowhere/out"], "nowhere/out", "no folder nowhere")
    refused(folder, [*writer, "-o", "sub"], "sub", "folder")
    refused(folder, [*writer, "-o", "data/out"], "data/out", "no folder data")
    refused(folder, [*writer, "-o", "n" * 300], "too long")


def test_output_is_an_input(folder, writer):
    named = [name for name in writer[1:] if not name.startswith("-")]
    for name in named:
        refused(folder, [*writer, "-o", f"sub/../{name}"], name, "also an input")


def test_output_is_the_template_or_the_held_out_file(folder):
    (folder / "t").write_text("U:%x[0,0]\n")
    (folder / "dev").write_text(COLUMNS)
    refused(folder, ["train", "data", "--template", "t", "--dev", "dev", "-o", "t"], "t is also an input")
    refused(folder, ["train", "data", "--template", "t", "--dev", "dev", "-o", "dev"], "dev is also an input")


@pytest.mark.parametrize("denied", ["folder", "file"])
def test_output_without_permission(folder, writer, monkeypatch, denied):
    path = folder if denied == "folder" else folder / "out"  # root may do anything, so the answer is made up
    permitted = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: os.path.abspath(p) != str(path) and permitted(p, mode))
    refused(folder, [*writer, "-o", "out"], "cannot write out")


@pytest.mark.parametrize("step", ["open", "write", "fsync", "replace"])
def test_full_disk(folder, writer, monkeypatch, step):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if step != "write":
        monkeypatch.setattr(os, step, full)
    else:
        opened = os.fdopen

        class Full:
            def __init__(self, *given):
                self.stream = opened(*given)

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.stream.close()

            def writelines(self, parts):
                for part in parts:
                    self.stream.write(part[: len(part) // 2])
                full()

        monkeypatch.setattr(os, "fdopen", Full)
    refused(folder, [*writer, "-o", "out"], "cannot write out", "No space left")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_full_device(folder, writer):
    refused(folder, [*writer, "-o", "/dev/full"], "cannot write /dev/full", "No space left")


def test_a_long_name_is_fine(folder):
    assert program(folder, ["tag", "tagger", "data", "-o", "n" * 250])[0] == 0


@pytest.mark.parametrize("case", ["ragged", "latin-1", "binary", "utf-16", "missing"])
def test_old_output_outlives_bad_text(folder, case):
    content, parts = DATA[case]
    files = {} if content is None else {"bad": content}
    name = "nowhere" if content is None else "bad"
    model = "columns" if case == "ragged" else "tagger"
    refused(folder, ["tag", model, name, "-o", "out"], *parts, files=files)


def test_late_mistakes_leave_the_old_output_too(folder, monkeypatch):
    monkeypatch.setattr("loglin.corpus.files.BLOCK", 64)  # so that pieces are written before the mistake is found
    refused(folder, ["tag", "tagger", "bad", "-o", "out"], "bad, line 31", files={"bad": "a O\nb O\n\n" * 10 + "c\n"})


# ---------------------------------------------------------------------- model files


def with_header(content, change):
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    manifest = json.loads(header["__metadata__"]["loglin"])
    change(header, manifest)
    if "__metadata__" in header:
        header["__metadata__"]["loglin"] = json.dumps(manifest)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


def zipped():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("weights", b"\0" * 100)
    return stream.getvalue()


FOREIGN = {
    "empty": b"",
    "text": b"this is a text file and no model\n" * 10,
    "pickle": pickle.dumps({"weights": list(range(100))}),
    "zip": zipped(),
    "zeros": bytes(1000),
    "huge header": b"\xff" * 100,
    "deep header": (100_000).to_bytes(8, "little") + b"[" * 100_000,
    "header is a list": (2).to_bytes(8, "little") + b"[]" + bytes(10),
    "other tensors": (2).to_bytes(8, "little") + b"{}" + bytes(10),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_foreign_model(folder, case):
    for arguments in (["tag", "bad", "data", "-o", "out"], ["inspect", "bad"], ["prune", "bad", "-o", "out"]):
        refused(folder, arguments, "bad", "no loglin model", files={"bad": FOREIGN[case]})


def test_model_missing_or_a_folder(folder):
    for command in (
        ["tag", "{}", "data", "-o", "out"],
        ["eval", "{}", "data"],
        ["classify", "{}", "data", "-o", "out"],
    ):
        refused(folder, [a.format("nowhere") for a in command], "nowhere", "No such file")
        refused(folder, [a.format("sub") for a in command], "sub", "directory")


def test_truncated_model(folder, models):
    content = models["tagger"]
    for size in (5, 9, 100, len(content) // 2, len(content) - 1):
        refused(folder, ["tag", "bad", "data", "-o", "out"], "bad", files={"bad": content[:size]})


def _set(place, *keys):
    *path, last, value = keys

    def change(header, manifest):
        target = header if place == "header" else manifest
        for key in path:
            target = target[key]
        target[last] = value

    return change


HOSTILE = {
    "version": _set("manifest", "version", 99),
    "version text": _set("manifest", "version", "1"),
    "task": _set("manifest", "task", "shell"),
    "labels gone": _set("manifest", "labels", []),
    "labels number": _set("manifest", "labels", 3),
    "one label less": _set("manifest", "labels", ["B-P", "O"]),
    "order": _set("manifest", "order", 7),
    "features": _set("manifest", "features", None),
    "kind": _set("manifest", "features", "kind", "pickle"),
    "template": _set("manifest", "features", "template", 5),
    "offsets": _set("header", "weights", "data_offsets", [0, 10**12]),
    "negative offsets": _set("header", "weights", "data_offsets", [-8, 0]),
    "shape": _set("header", "weights", "shape", [10**12]),
    "dtype": _set("header", "weights", "dtype", "O"),
    "weights elsewhere": _set("header", "weights", {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}),
    "no metadata": lambda header, manifest: header.pop("__metadata__"),
    "no weights": lambda header, manifest: header.pop("weights"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_model(folder, models, case):
    bad = with_header(models["tagger"], HOSTILE[case])
    for arguments in (["tag", "bad", "data", "-o", "out"], ["inspect", "bad"]):
        refused(folder, arguments, "bad", files={"bad": bad})


@pytest.mark.parametrize(
    "change", [("columns", None), ("columns", "x"), ("label_column", []), ("label_column", 10**30)]
)
def test_hostile_record(folder, models, change):
    bad = with_header(models["tagger"], _set("manifest", "record", *change))
    refused(folder, ["tag", "bad", "data", "-o", "out"], "damaged", files={"bad": bad})
    refused(folder, ["eval", "bad", "data"], "damaged")


# ---------------------------------------------------------------------- JSON lines, CRFsuite, SVMlight

GOOD = '{"tokens": ["a", "b"], "labels": ["A", "B"]}\n'
SENTENCES = {
    "broken": (GOOD + "\n{", ["line 3", "not JSON"]),
    "no object": (GOOD + "[1]\n", ["line 2", "[1]"]),
    "deep": (GOOD + "[" * 100_000, ["line 2", "deep"]),
    "no tokens": (GOOD + '{"words": ["a"]}\n', ["line 2", '"tokens"', "words"]),
    "tokens text": (GOOD + '{"tokens": "a b"}\n', ["line 2", '"tokens"']),
    "few labels": (GOOD + '{"tokens": ["a", "b"], "labels": ["A"]}\n', ["line 2", "2 tokens"]),
    "no labels": (GOOD + '{"tokens": ["a", "b"]}\n', ["sentence 1", '"labels"']),
    "label object": (GOOD + '{"tokens": ["a"], "labels": [{}]}\n', ["line 2", "{}"]),
    "label NaN": (GOOD + '{"tokens": ["a"], "labels": [NaN]}\n', ["line 2", "nan"]),
    "value NaN": ('{"tokens": [{"w": NaN}], "labels": ["A"]}\n', ["line 1", "'w'", "nan"]),
    "value infinite": ('{"tokens": [{"w": 1e999}], "labels": ["A"]}\n', ["line 1", "'w'", "inf"]),
    "dict among words": (GOOD + '{"tokens": [{"w": 1}], "labels": ["A"]}\n', ["sentence 1, token 0"]),
    "null token": ('{"tokens": ["a", null], "labels": ["A", "B"]}\n', ["token 1", "None"]),
    "half a character": (GOOD + '{"tokens": ["\\ud800"], "labels": ["A"]}\n', ["line 2", "ud800"]),
    "nothing": ("\n\n", ["no sentences"]),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_json_sentences(folder, case):
    text, parts = SENTENCES[case]
    refused(folder, ["train", "bad.jsonl", "-o", "out"], *parts, files={"bad.jsonl": text})
    if case not in ("no labels", "label object", "label NaN", "value NaN", "value infinite", "nothing"):
        refused(folder, ["tag", "tagger", "bad.jsonl", "-o", "out"], *parts)


@pytest.mark.parametrize("label", ["null", '["A"]'])
def test_uncertain_labels_cannot_be_compared(folder, label):
    files = {"good.jsonl": GOOD, "bad.jsonl": f'{{"tokens": ["a"], "labels": [{label}]}}\n'}
    refused(folder, ["train", "good.jsonl", "--dev", "bad.jsonl", "-o", "out"], "bad.jsonl", "token 0", files=files)
    refused(folder, ["eval", "tagger", "bad.jsonl"], "bad.jsonl", "token 0")
    refused(folder, ["train", "bad.jsonl", "--scheme", "iob1:iob2", "-o", "out"], "bad.jsonl", "token 0")


def test_held_out_file_of_another_kind(folder):
    files = {"words.jsonl": GOOD, "attributes.jsonl": '{"tokens": [{"w": 1}], "labels": ["A"]}\n'}
    refused(folder, ["train", "words.jsonl", "--dev", "attributes.jsonl", "-o", "out"], "attributes.jsonl", files=files)
    refused(folder, ["train", "attributes.jsonl", "--dev", "words.jsonl", "-o", "out"], "words.jsonl")
    refused(folder, ["train", "data", "--dev", "words.jsonl", "-o", "out"], "words.jsonl")


ATTRIBUTES = {
    "no number": ("A\tw\n\nB\tw:x\n", ["line 3", "'x'", "'w:x'"]),
    "NaN": ("A\tw:nan\n", ["line 1", "'w'", "nan"]),
    "infinite": ("A\tw:1e999\n", ["line 1", "'w'"]),
    "backslash": ("A\tw\\\n", ["line 1", "backslash"]),
    "nothing": ("\n", ["no sentences"]),
    "too large": ("A\tw:1e300\nB\tv:1e300\n\nB\tw:-1e300\n", ["too large"]),
}


@pytest.mark.parametrize("case", ATTRIBUTES)
def test_crfsuite_attributes(folder, case):
    text, parts = ATTRIBUTES[case]
    arguments = ["train", "bad.crfsuite", "-o", "out", "--quiet"]
    refused(folder, arguments, *parts, files={"bad.crfsuite": text})


EXAMPLES = {
    "NaN": ("bad.svm", "1 3:1\n0 3:nan\n", ["line 2", "'3:nan'"]),
    "no value": ("bad.svm", "1 3\n", ["line 1", "'3'"]),
    "no index": ("bad.svm", "1 :3\n", ["line 1", "':3'"]),
    "one class": ("bad.svm", "1 3:1\n", ["'1'", "two classes"]),
    "nothing": ("bad.svm", "\n# none\n", ["no examples"]),
    "JSON NaN": ("bad.jsonl", '{"label": "a", "features": {"x": NaN}}\n', ["line 1", "'x'", "nan"]),
    "JSON broken": ("bad.jsonl", '{"label": "a", "text": "x"}\n{"label"\n', ["line 2", "not JSON"]),
    "JSON no text": ("bad.jsonl", '{"label": "a"}\n', ["line 1", '"text"']),
    "JSON no label": ("bad.jsonl", '{"text": "a"}\n', ["example 1", '"label"']),
    "JSON label": ("bad.jsonl", '{"text": "a", "label": {}}\n', ["example 1", "{}"]),
    "JSON half": ("bad.jsonl", '{"text": "a", "label": "\\udfff"}\n', ["line 1", "udfff"]),
    "JSON number": ("bad.jsonl", '{"label": "a", "features": 5}\n{"label": "b", "text": "x"}\n', ["example 1", "5"]),
}


@pytest.mark.parametrize("case", EXAMPLES)
def test_examples(folder, case):
    name, text, parts = EXAMPLES[case]
    refused(folder, ["classify-train", name, "-o", "out"], name, *parts, files={name: text})
    if case not in ("one class", "nothing", "JSON label", "JSON no label"):
        refused(folder, ["classify", "classifier", name, "-o", "out"], name, *parts)


# ---------------------------------------------------------------------- whole processes


def test_in_a_process_of_its_own(folder):
    before = snapshot(folder)
    done = subprocess.run(
        [*PROGRAM, "tag", "nowhere", "data", "-o", "out"], cwd=folder, capture_output=True, text=True, check=False
    )
    check_sentence(done.returncode, done.stderr, "nowhere")
    assert done.stdout == ""
    assert snapshot(folder) == before


def test_closed_pipe(folder):
    (folder / "long").write_text(COLUMNS * 20_000)
    with subprocess.Popen(
        [*PROGRAM, "tag", "tagger", "long"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"a B-P B-P\n"
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_standard_output_on_a_full_disk(folder):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, "tag", "tagger", "data"], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    check_sentence(done.returncode, done.stderr, "No space left")


# ---------------------------------------------------------------------- numbers and nesting beyond all measure

HUGE, DIGITS = str(2**70), "9" * 400
DEEP = "[" * 5000 + "1" + "]" * 5000


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["tag", "tagger", "data", "--beam", HUGE], ["--beam", "too large"]),
        (["tag", "tagger", "data", "--threads", "5000"], ["threads is 5000", "at most 1024"]),
        (["tag", "tagger", "data", "--nbest", HUGE], ["--nbest", "too large"]),
        (["train", "data", "-o", "out", "--threads", "5000"], ["threads is 5000"]),
        (["train", "data", "-o", "out", "--l2", "1e400"], ["l2 is inf"]),
        (["train", "data", "-o", "out", "--seed", "-1"], ["seed is -1", "at least 0"]),
        (["train", "data", "-o", "out", "--seed", HUGE], [f"seed is {HUGE}", "at most"]),
        (["train", "data", "-o", "out", "--max-iter", HUGE], ["--max-iter", "too large"]),
        (["train", "data", "-o", "out", "--min-count", HUGE], ["--min-count", "too large"]),
    ],
)
def test_numbers_beyond_all_measure(folder, arguments, parts):
    refused(folder, arguments, *parts)


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("d.jsonl", '{"tokens": [{"w": ' + DIGITS + '}], "labels": ["A"]}\n', ["'w' has the value 999", "finite"]),
        ("d.jsonl", '{"tokens": [' + DIGITS * 20 + '], "labels": ["A"]}\n', ["line 1", "thousands of digits"]),
        ("d.jsonl", '{"tokens": ' + DEEP + ', "labels": ["A"]}\n', ["line 1", "nested too deep"]),
    ],
)
def test_json_beyond_all_measure(folder, name, content, parts):
    (folder / name).write_text(content)
    refused(folder, ["train", name, "-o", "out"], *parts)


@pytest.mark.parametrize(
    ("template", "parts"),
    [
        ("U0:" + "%x[0,0]/" * 400, ["joins 400", "fewer items"]),
        ('U0:%t[0,0,"' + "(" * 3000 + ")" * 3000 + '"]', ["nested more than 50 deep"]),
        ('U0:%m[0,0,"a{99999999999999999999}"]', ["not a regular expression"]),
    ],
)
def test_templates_beyond_all_measure(folder, template, parts):
    (folder / "t").write_text(template + "\n")
    refused(folder, ["train", "data", "--template", "t", "-o", "out"], *parts)
