"""loglin classify-train and classify, on small files."""

import gzip
import json
import random
import warnings

import pytest
from click.testing import CliRunner

from loglin import LoglinError
from loglin.cli.classifying import loaded_classifier
from loglin.cli.main import cli
from loglin.criteria.registry import criteria
from support.shell import program, run

WORDS = {
    "food": ["flour", "oven", "bake", "sugar"],
    "sport": ["goal", "team", "coach", "league"],
    "tech": ["chip", "code", "bug", "laptop"],
}
COMMON = ["the", "a", "of", "we", "they"]


def failure(*arguments):
    """Exit code and standard error of a command that must fail, as a user sees them."""
    code, out, err = program(".", arguments)
    assert out == ""
    return code, err


def documents(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        label = rng.choice(sorted(WORDS))
        yield {"label": label, "text": " ".join(rng.choices(WORDS[label], k=3) + rng.choices(COMMON, k=3))}


def write_lines(path, objects):
    path.write_text("".join(json.dumps(o) + "\n" for o in objects))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Training and test documents, and a model of them."""
    folder = tmp_path_factory.mktemp("classify")
    data = write_lines(folder / "train.jsonl", documents(120, 0))
    test = write_lines(folder / "test.jsonl", documents(60, 1))
    model = folder / "model"
    run("classify-train", data, "-o", model, "--quiet")
    return data, test, model


def test_separable_documents_are_all_right(files):
    _, test, model = files
    scores = json.loads(run("classify", model, test, "--eval", "--json"))
    assert scores["accuracy"] == 1.0
    assert scores["unit"] == "token"
    assert set(scores["by_type"]) == set(WORDS)
    assert scores["unseen_labels"] == []


def test_a_label_a_line_as_the_file_says(files):
    _, test, model = files
    right = [json.loads(line)["label"] for line in test.read_text().splitlines()]
    assert run("classify", model, test).split() == right
    assert run("classify", model, given=test.read_text()).split() == right


def test_training_summary_has_the_keys_of_train(files, tmp_path):
    data, test, _ = files
    summary = json.loads(run("classify-train", data, "--dev", test, "-o", tmp_path / "m", "--json"))
    expected = {"objective", "iterations", "evaluations", "stopped", "converged", "n_features"}
    expected |= {"certificate", "active_features", "labels", "sentences", "tokens", "seconds", "peak_memory_mb"}
    assert set(summary) == expected | {"threads", "model", "dev_score"}
    assert summary["labels"] == 3
    assert summary["sentences"] == 120
    assert summary["dev_score"] == 1.0


def test_probabilities_sum_to_one(files):
    _, test, model = files
    for line in run("classify", model, test, "--proba").splitlines():
        best, *rest = line.split("\t")
        probabilities = dict(zip(rest[::2], map(float, rest[1::2]), strict=True))
        assert list(probabilities) == sorted(WORDS)
        assert sum(probabilities.values()) == pytest.approx(1, abs=2e-6)
        assert max(probabilities, key=probabilities.get) == best
    for line in run("classify", model, test, "--json").splitlines():
        value = json.loads(line)
        assert sum(value["probabilities"].values()) == pytest.approx(1, abs=1e-12)
        assert value["probability"] == value["probabilities"][value["label"]]


def test_nbest_is_in_order(files):
    _, test, model = files
    for line in run("classify", model, test, "--nbest", 2).splitlines():
        fields = line.split("\t")
        assert len(fields) == 4
        assert float(fields[1]) >= float(fields[3])
    value = json.loads(run("classify", model, test, "--nbest", 9, "--json").splitlines()[0])
    assert value["nbest"][0]["label"] == value["label"]
    assert len(value["nbest"]) == 3


def test_the_intercept_is_not_penalized(tmp_path):
    # without attributes the classes' shares are the answer, however strong the penalty
    data = write_lines(tmp_path / "d.jsonl", [{"label": y, "features": []} for y in "aaab"])
    run("classify-train", data, "-o", tmp_path / "m", "--l2", 1000, "--tol", 1e-12, "--quiet")
    value = json.loads(run("classify", tmp_path / "m", "--json", given='{"text": ""}\n'))
    assert value["probabilities"]["a"] == pytest.approx(0.75, abs=1e-4)


def test_svmlight_by_name_and_by_content(tmp_path):
    rng = random.Random(0)
    rows = [(rng.choice([-1, 1]), rng.random()) for _ in range(80)]
    text = "".join(f"{y:+d} 1:{y * (0.1 + x):.3f} 4:{x:.3f} # note\n" for y, x in rows)
    (tmp_path / "d.svm").write_text(text)
    (tmp_path / "d.dat.gz").write_bytes(gzip.compress(text.encode()))
    outputs = set()
    for name in ("d.svm", "d.dat.gz"):
        run("classify-train", tmp_path / name, "-o", tmp_path / "m", "--quiet")
        assert json.loads(run("classify", tmp_path / "m", tmp_path / name, "--eval", "--json"))["accuracy"] == 1
        outputs.add(run("classify", tmp_path / "m", "--proba", given=text))
    assert len(outputs) == 1


def test_chunk_like_classes_are_counted_as_classes(tmp_path):
    rows = [{"label": y, "features": [f"w{y}"]} for y in ("O", "B-x", "I-x") * 5]
    data = write_lines(tmp_path / "d.jsonl", rows)
    run("classify-train", data, "--dev", data, "-o", tmp_path / "m", "--quiet")
    scores = json.loads(run("classify", tmp_path / "m", data, "--eval", "--json"))
    assert set(scores["by_type"]) == {"O", "B-x", "I-x"}


def test_numbers_as_labels_and_classes_never_seen(tmp_path):
    data = write_lines(tmp_path / "d.jsonl", [{"label": y, "features": {"x": y}} for y in (0, 1) * 20])
    run("classify-train", data, "-o", tmp_path / "m", "--quiet")
    other = write_lines(tmp_path / "o.jsonl", [{"label": 7, "features": {"x": 1}}, {"label": 1, "features": {"x": 1}}])
    scores = json.loads(run("classify", tmp_path / "m", other, "--eval", "--json"))
    assert scores["unseen_labels"] == ["7"]
    assert scores["accuracy"] == 0.5


def test_observed_has_fewer_features(files, tmp_path):
    data, _, _ = files
    every = json.loads(run("classify-train", data, "-o", tmp_path / "m", "--json"))
    seen = json.loads(run("classify-train", data, "-o", tmp_path / "m", "--json", "--observed"))
    assert seen["n_features"] < every["n_features"]


def test_output_file_and_report(files, tmp_path):
    _, test, model = files
    report = run("classify", model, test, "--eval", "-o", tmp_path / "labels")
    assert "accuracy 100.00%" in report
    assert len((tmp_path / "labels").read_text().split()) == 60
    assert [p.name for p in tmp_path.iterdir()] == ["labels"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"label": "a", "features": [3]}\n{"label": "b", "features": []}\n', "example 1: 3 is neither"),
        ('{"label": "a", "text": "x"}\n{"text": "y"}\n', 'example 2 has no "label"'),
    ],
)
def test_bad_examples_are_one_sentence(tmp_path, content, expected):
    data = tmp_path / "d.jsonl"
    data.write_text(content)
    code, message = failure("classify-train", data, "-o", tmp_path / "m")
    assert code == 1
    assert message.startswith(f"loglin: {data}: ")
    assert expected in message
    assert message.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_a_tagger_is_refused(tmp_path):
    (tmp_path / "d").write_text("a X\nb Y\n\n")
    run("train", tmp_path / "d", "-o", tmp_path / "m", "--quiet")
    code, message = failure("classify", tmp_path / "m", tmp_path / "d")
    assert code == 1
    assert "use loglin tag" in message


# ---------------------------------------------------------------------- label sets, candidates, other criteria


def sets_of_labels(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        labels = [label for label in sorted(WORDS) if rng.random() < 0.4]
        words = [w for label in labels for w in rng.choices(WORDS[label], k=2)] + rng.choices(COMMON, k=3)
        yield {"labels": labels, "text": " ".join(words)}


def test_label_sets_from_file_to_file(tmp_path):
    data = write_lines(tmp_path / "train.jsonl", sets_of_labels(150, 0))
    test = write_lines(tmp_path / "test.jsonl", sets_of_labels(60, 1))
    summary = json.loads(
        run("classify-train", data, "-o", tmp_path / "m", "--l2", 0.01, "--threshold", "out-of-fold", "--json")
    )
    assert 0 < summary["threshold"] < 1
    scores = json.loads(run("classify", tmp_path / "m", test, "--eval", "--json"))
    assert scores["unit"] == "label"
    assert scores["f1"] > 0.95
    right = [json.loads(line)["labels"] for line in test.read_text().splitlines()]
    lines = run("classify", tmp_path / "m", test).splitlines()
    assert (
        sum(line.split("|") == labels if labels else line == "" for line, labels in zip(lines, right, strict=True)) > 50
    )
    value = json.loads(run("classify", tmp_path / "m", "--json", given=json.dumps({"text": "goal team oven"}) + "\n"))
    assert value["labels"] == ["food", "sport"]
    assert "micro F1" in run("classify", tmp_path / "m", test, "--eval")
    assert "is food and sport" in run("inspect", tmp_path / "m", "--explain", "goal team oven")
    margins = json.loads(run("classify-train", data, "-o", tmp_path / "m2", "--criterion", "margin", "--json"))
    assert margins["threshold"] == 0


def choices(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        names = rng.sample("abcdefgh", rng.randint(2, 4))
        length = {name: rng.random() for name in names}
        answer = max(names, key=length.__getitem__)
        yield {"label": answer, "candidates": {name: {"length": length[name]} for name in names}}


def test_candidates_from_file_to_file(tmp_path):
    data = write_lines(tmp_path / "train.jsonl", choices(200, 0))
    test = write_lines(tmp_path / "test.jsonl", choices(50, 1))
    assert "candidates" in run("classify-train", data, "-o", tmp_path / "m", "--l2", 0.001, "--quiet")
    assert json.loads(run("classify", tmp_path / "m", test, "--eval", "--json"))["accuracy"] > 0.9
    for line in run("classify", tmp_path / "m", test, "--json").splitlines():
        value = json.loads(line)
        assert sum(value["probabilities"].values()) == pytest.approx(1)
        assert value["label"] == max(value["probabilities"], key=value["probabilities"].get)
    assert "length" in run("inspect", tmp_path / "m")


@pytest.mark.parametrize(
    "options",
    [
        ["--criterion", "perceptron"],
        ["--criterion", "perceptron", "--set", "averaged=false"],
        ["--criterion", "margin"],
        ["--criterion", "least-squares"],
        ["--criterion", "margin", "--set", "loss=softmax"],
        ["--criterion", "naive-bayes"],
        ["--criterion", "naive-bayes", "--set", "kind=bernoulli", "--set", "alpha=0.5"],
        ["--criterion", "naive-bayes", "--set", "objective=conditional"],
        ["--cutoff", "2", "--variance", "goal=9", "--variance", "t*=0.5"],
        ["--optimizer", "conjugate-gradient"],
    ],
)
def test_every_criterion_learns(files, tmp_path, options):
    data, test, _ = files
    assert "model written" in run("classify-train", data, "-o", tmp_path / "m", "--quiet", *options)
    assert json.loads(run("classify", tmp_path / "m", test, "--eval", "--json"))["accuracy"] > 0.9
    assert "votes" in run("inspect", tmp_path / "m", "--explain", "goal team")


@pytest.mark.parametrize(
    ("lines", "options", "expected"),
    [
        ([{"labels": ["a"], "text": "x"}, {"label": "b", "text": "y"}], [], "example 2 differs in kind"),
        ([{"labels": "a", "text": "x"}], [], "give a list of labels"),
        ([{"labels": [], "text": "x"}], [], "no example has a label"),
        ([{"labels": [["a"]], "text": "x"}], [], "give strings or numbers"),
        ([{"label": "a", "candidates": {}}], [], "give an object"),
        ([{"label": "a", "candidates": {"b": ["x"]}}], [], "'a' is not among its candidates"),
        ([{"label": "a", "candidates": {"a": [3]}}], [], "example 1: 3 is neither"),
        ([{"label": "a", "text": "x"}, {"label": "b", "text": "y"}], ["--threshold", "0.5"], "is for label sets"),
        ([{"labels": ["a"], "text": "x"}, {"labels": [], "text": "y"}], ["--threshold", "half"], "is 'half'"),
        ([{"labels": ["a"], "text": "x"}], ["--criterion", "naive-bayes"], "one label an example"),
        ([{"labels": ["a"], "text": "x"}], ["--criterion", "perceptron"], "one label an example"),
        ([{"label": "a", "text": "x"}, {"label": "b", "text": "y"}], ["--variance", "x"], "PATTERN=VALUE"),
        ([{"label": "a", "text": "x"}, {"label": "b", "text": "y"}], ["--variance", "x=0"], "above 0"),
        ([{"label": "a", "text": "x"}], ["--criterion", "naive-bayes", "--set", "kid=1"], "no setting 'kid'"),
        ([{"label": "a", "text": "x"}], ["--criterion", "naive-bayes", "--l2", "3"], "--l2 has no meaning"),
        ([{"label": "a", "text": "x"}], ["--criterion", "naive-bayes", "--continue", "m"], "--continue has no meaning"),
        ([{"label": "a", "text": "x"}], ["--criterion", "naive-bayes", "--set", "kind=3"], "kind is '3'; choose"),
        ([{"label": "a", "text": "x"}], ["--criterion", "naive-bayes", "--dev", "d.jsonl"], "a criterion that is opt"),
        ([{"label": "a", "text": "x"}, {"label": "b", "text": "y"}], ["--continue", "none"], "none"),
        ([{"label": "a", "text": "x"}], ["--criterion", "naive-bayes", "--variance", "x=1"], "--variance has no"),
    ],
)
def test_bad_sets_and_candidates_are_one_sentence(tmp_path, lines, options, expected):
    data = write_lines(tmp_path / "d.jsonl", lines)
    code, message = failure("classify-train", data, "-o", tmp_path / "m", "--quiet", *options)
    assert code == 1
    assert expected in message
    assert message.count("\n") == 1
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("criterion", ["likelihood", "naive-bayes"])
def test_classifying_uses_the_threads_asked_for(criterion, tmp_path):
    (tmp_path / "data.jsonl").write_text('{"label": "a", "text": "x"}\n{"label": "b", "text": "y"}\n')
    run("classify-train", tmp_path / "data.jsonl", "--criterion", criterion, "-o", tmp_path / "m")
    assert loaded_classifier(str(tmp_path / "m"), 1)._decoder.threads == 1


def test_examples_of_another_kind_are_refused_wherever_they_stand(tmp_path):
    one = '{"label": "ab", "text": "x"}\n{"label": "b", "text": "y"}\n'
    choice = '{"label": "p", "candidates": {"p": ["x"], "q": ["y"]}}\n'
    (tmp_path / "one.jsonl").write_text(one)
    (tmp_path / "sets.jsonl").write_text('{"labels": ["ab"], "text": "x"}\n{"labels": ["b"], "text": "y"}\n')
    (tmp_path / "choices.jsonl").write_text(choice)
    run("classify-train", tmp_path / "one.jsonl", "-o", tmp_path / "one")
    run("classify-train", tmp_path / "sets.jsonl", "-o", tmp_path / "sets")

    def refused(*arguments, given=None):
        with pytest.raises(LoglinError) as error:
            CliRunner().invoke(
                cli, [str(a) for a in arguments], input=given, catch_exceptions=False, standalone_mode=False
            )
        return str(error.value)

    unlabelled = '{"text": "x"}\n' + choice
    assert 'example 2 has "candidates"' in refused("classify", tmp_path / "one", "-", given=unlabelled)
    assert 'example 1 has "candidates"' in refused(
        "classify-train", tmp_path / "one.jsonl", "--dev", tmp_path / "choices.jsonl", "-o", tmp_path / "m"
    )
    assert "has one label, 'ab'" in refused("classify", tmp_path / "sets", tmp_path / "one.jsonl", "--eval")
    number = '{"label": 5, "text": "x"}\n'
    assert "has one label, 5" in refused("classify", tmp_path / "sets", "-", "--eval", given=number)


@pytest.mark.parametrize("documents", [["x", "y"], ["x z", "z", "z"]])
def test_weights_without_end_are_told_once_and_not_as_a_python_warning(tmp_path, documents):
    data = tmp_path / "d.jsonl"
    data.write_text("".join(json.dumps({"label": y, "text": t}) + "\n" for y, t in zip("aba", documents, strict=False)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = run("classify-train", data, "--l2", 0, "--quiet", "-o", tmp_path / "m.model", "--threads", 1)
    assert out.count("give l2 above 0") == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"label": "a", "text": 3}', 'd.jsonl, line 1: "text" is 3; give a string in quotes'),
        ("[1]", "d.jsonl, line 1: '[1]' is no object; write {…}"),
    ],
)
def test_lines_of_another_form_are_told_as_what_they_are(tmp_path, line, told):
    (tmp_path / "d.jsonl").write_text(line + "\n")
    code, err = failure("classify-train", tmp_path / "d.jsonl", "-o", tmp_path / "m.model")
    assert code == 1
    assert told in err


def test_a_threshold_that_no_probability_reaches_is_refused(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"labels": ["a"], "text": "x"}\n{"labels": ["b"], "text": "y"}\n')
    code, err = failure("classify-train", tmp_path / "d.jsonl", "--threshold", 7, "-o", tmp_path / "m.model")
    assert (code, err) == (1, "loglin: --threshold is 7; give a probability from 0 to 1\n")


def test_training_goes_on_from_another_classifier(files, tmp_path):
    data, test, _ = files
    few = json.loads(run("classify-train", data, "-o", tmp_path / "m", "--json", "--max-iter", 2))
    more = json.loads(
        run("classify-train", data, "-o", tmp_path / "m2", "--json", "--max-iter", 2, "--continue", tmp_path / "m")
    )
    assert more["objective"] < few["objective"]
    run("classify-train", data, "-o", tmp_path / "nb", "--criterion", "naive-bayes", "--quiet")
    run("classify-train", data, "-o", tmp_path / "m3", "--continue", tmp_path / "nb", "--quiet")
    assert json.loads(run("classify", tmp_path / "m3", test, "--eval", "--json"))["accuracy"] == 1.0


def test_every_criterion_is_listed_with_its_settings():
    shown = run("classify-train", "--settings")
    for structure in ("local", "joint"):
        for name, criterion in criteria(structure).items():
            assert f"{name}: {criterion.line}" in shown
            assert all(f"    {f.name} = " in shown for f in criterion.settings())
