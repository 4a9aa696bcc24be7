"""loglin lm: the commands as typed, their JSON, and what they refuse."""

from __future__ import annotations

import gzip
import json
import math

import pytest

from support.shell import check_sentence, program

TEXT = (
    "#! author=A\nthe cat sat on the mat\nthe dog sat on the cat\n\n#! author=B\na bird sang\nthe bird sat on a cat\n\n"
    * 3
)
TAGGED = "the/D cat/N sat/V\na/D dog/N sat/V\n" * 4


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lm")
    (folder / "text.txt").write_text(TEXT)
    (folder / "text.gz").write_bytes(gzip.compress(TEXT.encode("utf-16"), mtime=0))
    (folder / "tagged.txt").write_text(TAGGED)
    (folder / "classes.txt").write_text("cat N\n\ndog N\n", "utf-16")
    for arguments in (
        ["text.txt", "-o", "lm.model", "--features", "bigram,trigram,document,cache", "--variance", "trigram=2"],
        ["text.txt", "-o", "kn.model", "--criterion", "kneser-ney", "--vocabulary", 5],
        ["tagged.txt", "-o", "tagged.model", "--tagged", "--features", "class", "--min-count", 1],
        ["text.gz", "-o", "classes.model", "--features", "class", "--classes", "classes.txt", "--encoding", "utf-16"],
    ):
        code, out, err = program(folder, ["lm", "train", *arguments, "--quiet"])
        assert (code, err) == (0, ""), err
        assert "model written to" in out
    return folder


def lines(folder, *arguments, given=b""):
    code, out, err = program(folder, ["lm", *arguments], given)
    assert (code, err) == (0, ""), err
    return out.splitlines()


def test_training_says_what_it_did(trained, tmp_path):
    command = ["train", "text.txt", "-o", tmp_path / "m", "--json", "--min-count", "trigram=2", "--max-iter", 5]
    (line,) = lines(trained, *command)
    value = json.loads(line)
    assert value["tokens"] == 75
    assert value["documents"] == 6
    assert value["iterations"] == 5
    assert not value["converged"]
    assert value["n_features"] > 11
    shown = lines(trained, "train", "text.txt", "-o", tmp_path / "m", "--features", "cache", "--quiet")
    assert shown[0].startswith("6 documents, 12 sentences, 75 tokens, 9 words")
    assert shown[2].startswith("cache fitted on the last 1 sentences")


def test_perplexity(trained):
    (line,) = lines(trained, "perplexity", "lm.model", "text.txt", "--json")
    value = json.loads(line)
    assert value["perplexity"] == pytest.approx(math.exp(-value["log_probability"] / value["tokens"]))
    assert (value["tokens"], value["sentences"], value["unknown"]) == (75, 12, 0)
    shown = lines(trained, "perplexity", "kn.model", "text.txt")
    assert shown[0].startswith("perplexity ")
    assert "15 unknown words (20.0 %)" in shown[1]
    assert lines(trained, "perplexity", "tagged.model", "tagged.txt", "--tagged")[0].startswith("perplexity 1.")


def test_scores(trained):
    found = lines(trained, "score", "kn.model", given=b"the cat sat\n\nthe dog\n")
    assert [line.split("\t")[1] for line in found] == ["the cat sat", "the dog"]
    values = [
        json.loads(line) for line in lines(trained, "score", "kn.model", "--json", given=b"the cat sat\nthe dog\n")
    ]
    assert values[1]["sentence"] == ["the", "dog"]
    assert [f"{v['log_probability']:.4f}" for v in values] == [line.split("\t")[0] for line in found]
    assert lines(trained, "score", "kn.model", given=b"") == []


def test_next_words(trained):
    found = lines(trained, "next", "lm.model", "#! author=B\nthe", "-k", 3)
    assert len(found) == 3
    assert found[0].split()[1] in ("bird", "cat", "dog")
    values = [json.loads(line) for line in lines(trained, "next", "lm.model", "--json", "-k", 99)]
    assert sum(v["probability"] for v in values) == pytest.approx(1)
    votes = lines(trained, "next", "lm.model", "the cat", "--explain", "sat")
    assert any("trigram=the cat" in line for line in votes)
    (line,) = lines(trained, "next", "lm.model", "the cat", "--explain", "sat", "--json")
    value = json.loads(line)
    assert math.exp(sum(v["weight"] for v in value["votes"])) == pytest.approx(value["probability"])


def test_samples(trained):
    command = ["sample", "lm.model", "-n", 3, "--seed", 1, "--temperature", 0.5, "--history", "the bird"]
    found = lines(trained, *command)
    assert found == lines(trained, *command)
    assert len(found) == 3
    assert all(line.startswith("the bird") for line in found)
    assert json.loads(lines(trained, *command, "--json")[0])["sentence"] == found[0].split()


def test_help_has_examples(trained):
    for command in ([], ["train"], ["perplexity"], ["score"], ["next"], ["sample"]):
        assert "loglin lm " in "\n".join(lines(trained, *command, "--help")).split("Options:")[0].partition("\n")[2]


@pytest.mark.parametrize(
    ("arguments", "given", "parts"),
    [
        (["train", "empty", "-o", "x"], "", ["empty", "no words"]),
        (["train", "empty", "-o", "x"], "\n\n#! a=b\n\n", ["no words"]),
        (["train", "none.txt", "-o", "x"], "", ["none.txt"]),
        (["train", "empty", "-o", "empty"], "a b\n", ["empty", "also an input"]),
        (["train", "empty", "-o", "no/folder"], "a\n", ["no folder"]),
        (["train", "empty", "-o", "x", "--features", "sufix"], "a\n", ["'sufix'"]),
        (["train", "empty", "-o", "x", "--features", "class"], "a\n", ["classes", "tagged"]),
        (["train", "empty", "-o", "x", "--features", "cache"], "a\n", ["cache", "more text"]),
        (["train", "empty", "-o", "x", "--criterion", "crf"], "a\n", ["'crf'"]),
        (["train", "empty", "-o", "x", "--variance", "2"], "a\n", ["'2'", "KIND=NUMBER"]),
        (["train", "empty", "-o", "x", "--variance", "bigram=nan"], "a\n", ["nan"]),
        (["train", "empty", "-o", "x", "--min-count", "bigram=x"], "a\n", ["'bigram=x'"]),
        (["train", "empty", "-o", "x", "--min-count", "0"], "a\n", ["min_count", "0"]),
        (["train", "empty", "-o", "x", "--vocabulary", "0"], "a\n", ["vocabulary"]),
        (["train", "empty", "-o", "x", "--tagged"], "a/b c\n", ["line 1", "'c'"]),
        (["train", "empty", "-o", "x", "--encoding", "klingon"], "a\n", ["klingon"]),
        (["train", "empty", "-o", "x", "--classes", "empty", "--features", "class"], "a b c\n", ["line 1", "class"]),
        (["train", "empty", "-o", "x"], "a\n#! b=c\n", ["line 2", "blank line"]),
        (["train", "empty", "-o", "x", "--optimizer", "none"], "a\n", ["'none'"]),
        (["train", "empty", "-o", "x", "--optimizer", "gis"], "a\n", ["gis", "use auto"]),
        (["train", "empty", "-o", "x", "--criterion", "kneser-ney", "--optimizer", "lbfgs"], "a\n", ["kneser-ney"]),
        (["train", "empty", "-o", "x", "--criterion", "kneser-ney", "--dev", "empty"], "a\n", ["leave out dev"]),
        (["train", "empty", "-o", "x", "--criterion", "kneser-ney", "--continue", "lm.model"], "a\n", ["--continue"]),
        (["train", "empty", "-o", "x", "--continue", "empty"], "a b c d e f g\n", ["empty", "model"]),
        (["train", "empty", "-o", "x", "--dev", "none.txt"], "a\n", ["none.txt"]),
        (["train", "empty", "-o", "x", "--set", "order=3"], "a\n", ["no setting 'order'"]),
        (["perplexity", "lm.model", "empty"], "\n", ["empty", "no words"]),
        (["perplexity", "empty", "empty"], "a b c d e f\n", ["empty", "model"]),
        (["sample", "lm.model", "--temperature", "0"], "", ["temperature"]),
        (["next", "lm.model", "#! oops"], "", ["'oops'"]),
        (["nosuch"], "", ["nosuch"]),
    ],
)
def test_refusals(trained, tmp_path, arguments, given, parts):
    (tmp_path / "empty").write_text(given)
    (tmp_path / "lm.model").write_bytes((trained / "lm.model").read_bytes())
    before = sorted(p.name for p in tmp_path.iterdir())
    code, out, err = program(tmp_path, ["lm", *arguments])
    check_sentence(code, err, *parts)
    assert out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert (tmp_path / "empty").read_text() == given


def test_other_commands_refuse_language_models(trained):
    for arguments in (
        ["tag", "lm.model", "text.txt"],
        ["inspect", "lm.model", "--explain", "the cat"],
        ["prune", "lm.model", "-o", "smaller"],
        ["classify", "lm.model", "text.txt"],
    ):
        code, _, err = program(trained, arguments)
        check_sentence(code, err, "lm.model", "language model")


def test_one_word_and_one_sentence(trained, tmp_path):
    (tmp_path / "one").write_text("word\n")
    for criterion in ("likelihood", "kneser-ney", "modified-kneser-ney"):
        lines(tmp_path, "train", "one", "-o", "one.model", "--criterion", criterion, "--quiet")
        found = [json.loads(line) for line in lines(tmp_path, "next", "one.model", "--json")]
        assert {v["word"] for v in found} == {"word", "<unk>", "</s>"}
        assert sum(v["probability"] for v in found) == pytest.approx(1)
        assert found[0]["word"] == "word"


def test_the_cache_is_among_the_features_to_choose_from_and_has_settings_only_if_chosen(trained):
    code, _, err = program(trained, ["lm", "train", "text.txt", "--features", "cash", "-o", "x.model"])
    assert code == 1
    assert ", cache, " in err
    code, _, err = program(trained, ["lm", "train", "text.txt", "--variance", "cache=2", "-o", "x.model"])
    assert code == 1
    assert "'cache' has a setting but is none of the features" in err


def test_the_probability_of_an_unknown_word_is_told_as_that_of_unk(trained):
    _, out, _ = program(trained, ["lm", "next", "lm.model", "the cat", "--explain", "zebra"])
    assert "log p(<unk>, for 'zebra' is unknown), p = " in out
    _, out, _ = program(trained, ["lm", "next", "lm.model", "the cat", "--explain", "sat"])
    assert "log p(sat), p = " in out
    _, out, _ = program(trained, ["lm", "next", "lm.model", "the cat", "--explain", "zebra", "--json"])
    assert json.loads(out)["known"] is False


def test_counted_models_tell_of_no_iterations(trained):
    _, out, _ = program(trained, ["lm", "train", "text.txt", "--criterion", "kneser-ney", "-o", "again.model"])
    assert "n-grams are counted, not optimized" in out
    assert "iterations" not in out


def test_classes_that_are_missing_are_told_with_the_options_that_give_them(trained):
    code, _, err = program(trained, ["lm", "train", "text.txt", "--features", "class", "-o", "x.model"])
    assert code == 1
    assert "--classes FILE" in err
    assert "--tagged" in err


def test_text_of_another_kind_is_warned_of(trained):
    (trained / "tagged.txt").write_text("the/at cat/nn sat/vbd\n")
    code, _, err = program(trained, ["lm", "perplexity", "lm.model", "tagged.txt"])
    assert code == 0
    assert "3 of the 3 words of tagged.txt are unknown to lm.model" in err
    assert "--tagged" in err
    _, _, err = program(trained, ["lm", "perplexity", "lm.model", "tagged.txt", "--tagged"])
    assert err == ""


def test_training_stops_by_held_out_text_and_goes_on_from_a_model(trained, tmp_path):
    (tmp_path / "held").write_text("the cat sang\na dog sat on the bird\n")
    command = ["train", "text.txt", "--tol", 0, "--variance", "bigram=1e4", "--json", "-o", tmp_path / "m"]
    (line,) = lines(trained, *command, "--dev", tmp_path / "held")
    value = json.loads(line)
    assert value["iterations"] < 100
    assert "has not risen" in value["stopped"]
    (line,) = lines(trained, "perplexity", tmp_path / "m", tmp_path / "held", "--json")
    assert json.loads(line)["perplexity"] == pytest.approx(math.exp(-value["dev_score"]))
    shown = lines(trained, *command[:-3], "-o", tmp_path / "m2", "--dev", tmp_path / "held", "--quiet")
    assert shown[2].startswith("best log-probability of a token of the held-out text: -")
    first, again = (
        json.loads(lines(trained, "train", "text.txt", "-o", tmp_path / "further", "--json", "--max-iter", 5, *more)[0])
        for more in ([], ["--continue", "lm.model", "--optimizer", "conjugate-gradient"])
    )
    assert again["objective"] < first["objective"]


def test_criteria_are_listed(trained):
    assert lines(trained, "train", "--settings")[0].startswith("likelihood: ")
    assert "modified-kneser-ney" in "\n".join(lines(trained, "train", "--help"))
