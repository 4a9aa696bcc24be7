"""loglin inspect and prune, on small models."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from loglin.demo.ingredients import generate
from support.shell import refusal, run

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%x[0,1]\nB\nB1:%x[0,1]\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """l1.model of words, two.model of words and shapes, test.txt and two.txt to tag."""
    folder = tmp_path_factory.mktemp("inspect")
    for name, lines in (("train", generate(150, 0)), ("test", generate(40, 1))):
        one = "\n".join("".join(f"{w} {y}\n" for w, y in line) for line in lines)
        two = "\n".join("".join(f"{w} {'D' if w[0].isdigit() else 'W'} {y}\n" for w, y in line) for line in lines)
        (folder / f"{name}.txt").write_text(one)
        (folder / f"{name}.two.txt").write_text(two)
    (folder / "template").write_text(TEMPLATE)
    run("train", folder / "train.txt", "-o", folder / "l1.model", "--l1", 0.5, "--quiet")
    run("train", folder / "train.two.txt", "--template", folder / "template", "-o", folder / "two.model", "--quiet")
    rows = [{"label": y, "text": t} for y, t in [("up", "good fine"), ("down", "bad poor"), ("up", "good")] * 6]
    (folder / "texts.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    run("classify-train", folder / "texts.jsonl", "-o", folder / "texts.model", "--quiet")
    return folder


def test_overview_counts_what_is_there(folder):
    value = json.loads(run("inspect", folder / "two.model", "--top", 3, "--json"))
    assert value["task"] == "tag"
    assert value["order"] == 1
    assert value["bytes"] == (folder / "two.model").stat().st_size
    assert value["record"]["data"] == "train.two.txt"
    assert [t["template"] for t in value["templates"]] == TEMPLATE.split()
    words = {line.split()[0] for line in (folder / "train.two.txt").read_text().splitlines() if line}
    assert value["templates"][0]["attributes"] == len(words)
    assert value["templates"][2]["attributes"] == 2
    assert value["templates"][4]["attributes"] == 2
    assert value["attributes"] == sum(t["attributes"] for t in value["templates"][:3])
    assert value["features"] == value["active_features"]


def test_top_weights_are_the_largest_of_the_model(folder):
    from loglin.models.chain import Model

    value = json.loads(run("inspect", folder / "l1.model", "--top", 2, "--label", "B-QTY", "--json"))
    assert list(value["weights"]) == ["B-QTY"]
    model = Model.load(folder / "l1.model")
    label = model.labels.index("B-QTY")
    mine = [w for w, y in zip(model.weights, model.index.labels, strict=False) if y == label]
    assert [w for _, w in value["weights"]["B-QTY"]["positive"]] == sorted(mine, reverse=True)[:2]
    assert [w for _, w in value["weights"]["B-QTY"]["negative"]] == [w for w in sorted(mine)[:2] if w < 0]
    assert all("B-QTY" in t["labels"] for t in value["transitions"])


def test_text_names_labels_templates_and_training(folder):
    text = run("inspect", folder / "two.model")
    for part in ("B-NAME", "U1:%x[-1,0]/%x[0,0]", "strongest transitions", "stopped because", "train.two.txt"):
        assert part in text
    assert " where B1:" in run("inspect", folder / "two.model", "--top", 200)
    text = run("inspect", folder / "texts.model")
    assert "classifier" in text
    assert "good" in text


def test_explanation_of_a_tagger(folder):
    value = json.loads(run("inspect", folder / "l1.model", "--explain", "2 cups flour", "--json"))
    assert value["labels"] == ["B-QTY", "B-UNIT", "B-NAME"]
    assert [e["text"] for e in value["entities"]] == ["2", "cups", "flour"]
    assert value["position"] == min(range(3), key=value["probabilities"].__getitem__)
    why = value["explanation"]
    assert sum(why["probabilities"].values()) == pytest.approx(1)
    assert why["probabilities"][why["label"]] == pytest.approx(value["probabilities"][value["position"]])
    text = run("inspect", folder / "l1.model", "--explain", "2 cups flour", "--position", -1)
    assert "token 2: 'flour' is B-NAME" in text
    assert "labels before" in text
    assert "labels after" not in text
    assert "labels after" in run("inspect", folder / "l1.model", "--explain", "2 cups flour", "--position", 0)


def test_explanation_needs_every_column(folder):
    text = run("inspect", folder / "two.model", "--explain", "1/2/D cups/W flour/W")
    assert "1/2" in text
    assert "write every token as word/column1" in refusal("inspect", folder / "two.model", "--explain", "2 cups")
    assert "is empty" in refusal("inspect", folder / "l1.model", "--explain", " ")
    assert "give 0 to 1" in refusal("inspect", folder / "l1.model", "--explain", "a b", "--position", 2)
    assert "its labels are" in refusal("inspect", folder / "l1.model", "--label", "Z")


def test_explanation_of_a_classifier(folder):
    value = json.loads(run("inspect", folder / "texts.model", "--explain", "Good unheard!", "--json"))
    assert value["label"] == "up"
    assert value["unknown"] == ["unheard"]
    features = [v["feature"] for v in value["votes"]]
    assert sorted(features) == ["(intercept)", "good"]
    assert "not in the model: unheard" in run("inspect", folder / "texts.model", "--explain", "Good unheard!")


def test_explanation_of_attributes(tmp_path):
    (tmp_path / "d.crfsuite").write_text("X\tw=a\tcap\nY\tw=b\n\n" * 5)
    run("train", tmp_path / "d.crfsuite", "-o", tmp_path / "m", "--quiet")
    value = json.loads(run("inspect", tmp_path / "m", "--explain", "w=a/cap w=b", "--json"))
    assert value["labels"] == ["X", "Y"]
    assert value["entities"] == []


def test_pruning_zeros_keeps_every_prediction(folder, tmp_path):
    value = json.loads(run("prune", folder / "l1.model", "-o", tmp_path / "small", "--json"))
    assert value["after"]["features"] < value["before"]["features"]
    assert value["after"]["bytes"] < value["before"]["bytes"]
    assert value["after"]["bytes"] == (tmp_path / "small").stat().st_size
    test = folder / "test.txt"
    assert run("tag", folder / "l1.model", test, "--marginals") == run("tag", tmp_path / "small", test, "--marginals")


def test_pruning_harder_and_in_half_precision(folder, tmp_path):
    text = run("prune", folder / "l1.model", "-o", tmp_path / "small", "--threshold", 0.2, "--half")
    assert "→" in text
    small = json.loads(run("inspect", tmp_path / "small", "--json"))
    assert small["record"]["pruned"] == 0.2
    assert min(abs(t["weight"]) for t in small["transitions"]) > 0.19
    assert "give less than the largest" in refusal(
        "prune", folder / "l1.model", "-o", tmp_path / "none", "--threshold", 1000
    )
    assert not (tmp_path / "none").exists()


def test_what_is_no_model_is_one_sentence(tmp_path):
    (tmp_path / "m").write_text("not a model at all")
    command = [sys.executable, "-c", "from loglin.cli.main import main; main()", "inspect", tmp_path / "m"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("loglin: ")
    assert done.stderr.count("\n") == 1


def test_whether_a_file_is_whole(folder, tmp_path):
    path = folder / "l1.model"
    size, (_, digits) = path.stat().st_size, run("inspect", path, "--verify").rsplit(maxsplit=1)
    assert run("inspect", path, "--verify") == f"{path} is whole: {size:,} bytes with the checksum {digits}\n"
    value = json.loads(run("inspect", path, "--verify", "--json"))
    assert value == {"model": str(path), "whole": True, "checksum": digits, "bytes": size}
    older = GOLDEN / "crf-1.model"
    assert f"{older} has no checksum" in run("inspect", older, "--verify")
    assert json.loads(run("inspect", older, "--verify", "--json"))["whole"] is None
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    (tmp_path / "m").write_bytes(content)
    assert "its checksum is wrong" in refusal("inspect", tmp_path / "m", "--verify")


def test_language_models(tmp_path):
    from loglin import LanguageModel

    path = str(tmp_path / "lm")
    text = ["the cat sat", "the dog sat", "a cat ran"] * 3
    LanguageModel(features=("bigram", "suffix", "cache"), max_iter=3, min_count=1).fit(text).save(path)
    value = json.loads(run("inspect", path, "--json", "--top", 2))
    assert (value["task"], value["vocabulary"], len(value["weights"])) == ("language", 6, 2)
    sizes = {kind["kind"]: kind["features"] for kind in value["kinds"]}
    assert list(sizes) == ["unigram", "bigram", "suffix", "cache"]
    assert sum(sizes.values()) == value["features"]
    shown = run("inspect", path)
    for told in ("language model", "6 words: cat sat the", f"bigram   {sizes['bigram']} features", "objective"):
        assert told in shown
    LanguageModel(criterion="kneser-ney").fit(text).save(path)
    assert "3-gram" in run("inspect", path)
    for given, told in ((["--explain", "the"], "loglin lm next"), (["--label", "the"], "leave out --label")):
        assert told in refusal("inspect", path, *given)
