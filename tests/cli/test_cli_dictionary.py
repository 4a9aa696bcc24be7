"""loglin dictionary, and loglin train --dictionary FILE."""

from __future__ import annotations

import json

import pytest

from loglin.errors import LoglinError
from loglin.features.dictionary import read_dictionary
from support.corpora import corpus_folder
from support.shell import run

ROWS = [[("the", "D"), ("dog", "N"), ("saw", "V")], [("the", "D"), ("saw", "N")], [("cats", "N"), ("sleep", "V")]]
COLUMNS = "".join("".join(f"{w} {t}\n" for w, t in sentence) + "\n" for sentence in ROWS)
TAGGED = "".join(" ".join(f"{w}/{t}" for w, t in sentence) + "\n" for sentence in ROWS)
TREES = "".join("(S " + " ".join(f"({t} {w})" for w, t in sentence) + ")\n" for sentence in ROWS)
LINES = "".join(
    json.dumps({"tokens": [w for w, _ in sentence], "labels": [t for _, t in sentence]}) + "\n" for sentence in ROWS
)
WORDS = {"the": ["D"], "dog": ["N"], "saw": ["N", "V"], "cats": ["N"], "sleep": ["V"]}


def words_of(path) -> dict[str, list]:
    names, dictionary = read_dictionary(path)
    rows = zip(dictionary.words.strings, dictionary.labels, strict=True)
    return {word: sorted(n for n, has in zip(names, row, strict=True) if has) for word, row in rows}


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("data.txt", COLUMNS, []),
        ("data.txt", TAGGED, ["--format", "text"]),
        ("data.mrg", TREES, []),
        ("data.jsonl", LINES, []),
    ],
)
def test_formats(tmp_path, name, text, options):
    (tmp_path / name).write_text(text)
    out = tmp_path / "out.dict"
    found = json.loads(run("dictionary", tmp_path / name, "-o", out, "--json", *options))
    assert words_of(out) == WORDS
    assert (found["words"], found["ambiguous_words"], found["labels"]) == (5, 1, ["D", "N", "V"])
    assert found["unknown_words"] == "all"
    assert found["data"]["tokens"] == 7
    assert found["data"]["ambiguous_tokens"] == 2
    assert found["data"]["tags_per_token"] == pytest.approx(9 / 7)
    told = run("dictionary", tmp_path / name, *options)
    assert "5 words, 3 labels, 1 words with more than one" in told
    assert "2 tokens ambiguous (28.6%), 1.286 tags per token" in told


def test_a_folder_of_trees(tmp_path):
    for i, line in enumerate(TREES.splitlines()):
        (tmp_path / f"{i}.mrg").write_text(line)
    run("dictionary", tmp_path, "-o", tmp_path / "out.json")
    assert words_of(tmp_path / "out.json") == WORDS


def test_dilution_and_policies(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    data.write_text(COLUMNS)

    def made(*options):
        value = json.loads(run("dictionary", data, "-o", out, "--json", *options))
        assert read_dictionary(out)[1].policy(value["labels"]) == value["unknown_words"]
        return set(words_of(out)), value["unknown_words"]

    assert made("--min-count", 2) == ({"the", "saw"}, "all")
    assert made("--first", 1) == ({"the", "dog", "saw"}, "all")
    assert made("--first", 1, "--min-count", 2, "--unknown", "refuse") == ({"the", "saw"}, "refuse")
    assert made("--unknown", "N,V") == (set(WORDS), ["N", "V"])
    assert made("--unknown", "open", "--open-types", 3) == (set(WORDS), ["N"])
    assert "other words have one of N V" in run("dictionary", data, "--unknown", "N,V")
    for options, message in (
        (["--unknown", "X"], "'X', which is no label"),
        (["--unknown", "open"], "20 words"),
        (["--open-types", 3], "--unknown open too"),
        (["--format", "dictionary", "--first", 3], "leave them out"),
    ):
        with pytest.raises(LoglinError, match=message):
            run("dictionary", data, *options)


def test_check(tmp_path):
    (tmp_path / "data").write_text(COLUMNS)
    (tmp_path / "raw.txt").write_text("the cats saw the bird\n\nthe dog\n")
    run("dictionary", tmp_path / "data", "-o", tmp_path / "d", "--unknown", "N")
    told = run("dictionary", tmp_path / "d", "--format", "dictionary", "--check", tmp_path / "raw.txt")
    (tmp_path / "d.dict").write_bytes((tmp_path / "d").read_bytes())
    assert run("dictionary", tmp_path / "d.dict", "--check", tmp_path / "raw.txt") == told
    assert "raw.txt: 7 tokens, 5 words, 1 tokens and 1 words missing; 1 tokens ambiguous" in told
    assert "the dictionary lacks 1 word (bird) of the text, 1 tokens" in told
    (tmp_path / "raw").write_text("the x\ndog y\n")
    value = json.loads(run("dictionary", tmp_path / "data", "--check", tmp_path / "raw", "--json"))
    assert value["check"]["tokens"] == 2
    assert value["check"]["unused_labels"] == ["V"]
    assert value["data"]["unused_labels"] == []


def test_refusals(tmp_path):
    (tmp_path / "data").write_text(COLUMNS)
    (tmp_path / "raw.txt").write_text("\n\n")
    (tmp_path / "a.crfsuite").write_text("D\tw=the\n\n")
    (tmp_path / "a.jsonl").write_text('{"tokens": [{"w": 1}], "labels": ["D"]}\n')
    for words, message in (
        (["data", "-o", "data"], "also an input"),
        (["data", "--check", "raw.txt"], "raw.txt holds no tokens"),
        (["a.crfsuite"], "holds attributes"),
        (["a.jsonl"], "holds attributes"),
        (["data", "--check", "a.jsonl"], "holds attributes"),
        (["none"], "cannot read"),
        (["data", "--format", "text"], "has no tag"),
    ):
        paths = [w if w.startswith("-") or w == "text" else tmp_path / w for w in words]
        with pytest.raises(LoglinError, match=message):
            run("dictionary", *paths)


# ---------------------------------------------------------------------- loglin train --dictionary FILE


def test_training_with_a_file(tmp_path):
    data, model = tmp_path / "data", tmp_path / "model"
    data.write_text(COLUMNS)
    (tmp_path / "d").write_text("#! open N\n" + "".join(f"{w} {' '.join(y)}\n" for w, y in WORDS.items()) + "runs R\n")
    (tmp_path / "new").write_text("dog\nruns\nbirds\n")
    summary = json.loads(run("train", data, "--dictionary", tmp_path / "d", "-o", model, "--json"))
    assert summary["labels"] == 4
    assert run("tag", model, tmp_path / "new") == "dog N\nruns R\nbirds N\n"
    assert "tag dictionary: 6 words; others have one of N" in run("inspect", model)
    assert json.loads(run("inspect", model, "--json"))["unknown_words"] == ["N"]
    (tmp_path / "d").write_text("saw V\n")
    with pytest.raises(LoglinError, match=r"sentence 1, token 1: 'saw' has the label N.*allows V"):
        run("train", data, "--dictionary", tmp_path / "d", "-o", model)
    with pytest.raises(LoglinError, match="also an input"):
        run("train", data, "--dictionary", tmp_path / "d", "-o", tmp_path / "d")
    for wrong in ("-1", "none"):
        with pytest.raises(LoglinError, match="cannot read"):
            run("train", data, "--dictionary", wrong, "-o", model)


def test_treebank(tmp_path):
    folder = corpus_folder("treebank")
    value = json.loads(run("dictionary", folder, "--min-count", 3, "--unknown", "open", "--json", "-o", tmp_path / "d"))
    assert value["data"]["tokens"] == 94_084
    assert value["data"]["missing_tokens"] == sum_of_rare(folder)
    assert json.loads(run("dictionary", folder, "--json"))["data"]["missing_words"] == []


def sum_of_rare(folder) -> int:
    """Tokens of words seen once or twice, counted by other means."""
    from collections import Counter

    from loglin.corpus import trees

    counts = Counter(word for sentence in trees.read(folder).sentences() for word, _ in sentence)
    return sum(n for n in counts.values() if n < 3)
