"""CoNLL-2000: the figures that the engine must reach."""

from __future__ import annotations

import json

import pytest

from support.shell import run

OPTIMUM = 8932.8  # −log-likelihood + ½‖w‖², observed features


@pytest.fixture(scope="module")
def files(conll2000, crfpp_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("conll2000")
    (folder / "template").write_text(crfpp_template)
    return conll2000, folder


def train(files, name, *extra):
    data, folder = files
    words = ["train", data / "train.txt", "--template", folder / "template", "-o", folder / name, "--json", *extra]
    return json.loads(run(*words))


@pytest.fixture(scope="module")
def default(files):
    return train(files, "default")


def test_defaults_end_within_a_thousandth_of_the_optimum(default):
    assert default["n_features"] == 456_436
    assert default["objective"] == pytest.approx(OPTIMUM, rel=1e-3)
    assert default["converged"]
    assert set(default["seconds"]) == {"start", "read", "features", "train", "total"}


def test_convergence(files):
    assert train(files, "converged", "--tol", "1e-5")["objective"] == pytest.approx(OPTIMUM, rel=1e-4)


def test_f1(files, default):
    data, folder = files
    result = json.loads(run("eval", folder / "default", data / "test.txt", "--json"))
    assert result["f1"] >= 0.936
    assert (result["sentences"], result["tokens"]) == (2012, 47377)
    assert {"accuracy", "precision", "recall", "by_type", "tokens_per_second"} <= set(result)


def test_the_same_bytes_with_one_thread_and_two(files):
    _, folder = files
    for threads in (1, 2):
        train(files, f"threads{threads}", "--threads", threads, "--max-iter", 3)
    from loglin.models.chain import Model

    one, two = (Model.load(folder / f"threads{n}") for n in (1, 2))
    assert one.weights.tobytes() == two.weights.tobytes()


def test_perceptron_is_quick_and_good(files):
    data, folder = files
    train(files, "perceptron", "--criterion", "perceptron", "--max-iter", 10)
    result = json.loads(run("eval", folder / "perceptron", data / "test.txt", "--json"))
    assert result["f1"] >= 0.934


def test_tagging_equals_evaluation(files, default):
    data, folder = files
    tagged = folder / "tagged.txt"
    run("tag", folder / "default", data / "test.txt", "-o", tagged)
    rows = [line.split() for line in tagged.read_text().splitlines() if line]
    accuracy = sum(r[-1] == r[-2] for r in rows) / len(rows)
    result = json.loads(run("eval", folder / "default", data / "test.txt", "--json"))
    assert accuracy == pytest.approx(result["accuracy"])
    assert len(tagged.read_text().splitlines()) == len((data / "test.txt").read_text().splitlines())


@pytest.mark.full
def test_all_features(files):
    assert train(files, "all", "--all-features")["objective"] <= 7770
