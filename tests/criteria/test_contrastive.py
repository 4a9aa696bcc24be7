"""Learning where labels are hidden: criteria against enumeration, known answers, Tagger and the shell."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import oracle
from loglin import LoglinError, Tagger, select_tagger
from loglin.corpus.columns import from_sentences
from loglin.corpus.trees import read
from loglin.decoding.chains import Decoder
from loglin.models.chain import Model
from loglin.neighborhoods import Transducer
from loglin.problems.hidden import unlabeled_value
from support.corpora import corpus_folder
from support.hidden_labels import PARTLY, SENTENCES, WORDS, criterion_of, untrained
from support.shell import check_sentence, program

DEFINITIONS = {
    "trans1": lambda x: oracle.exchanged(x, 1),
    "trans2": lambda x: oracle.exchanged(x, 2),
    "del1word": oracle.del1word,
    "delortrans1": lambda x: oracle.del1word(x) | oracle.exchanged(x, 1),
    "del1subseq": oracle.del1subseq,
    "length": lambda x: set(itertools.product(sorted(WORDS), repeat=len(x))),
    "observed": lambda x: {tuple(s) for s in SENTENCES},
}
TEMPLATES = {"trigram": 2, "bigram": 1, "trigram-spelling": 2, "U:%x[0,0]\nB\nT": 2, "U:%x[0,0]\nU1:%lower[0,0]\nB": 1}
WIDE = "U:%x[0,0]\nU1:%edge[-2,0]\nU2:%edge[1,0]\nB\nB1:%edge[-2,0]\nB2:%edge[1,0]\nT"  # ends in every way


def log_z(tagger, sentences):
    """log Σ_y u(x, y) of each sentence through chains, which share nothing with lattices but the features."""
    decoder = Decoder(tagger.model_)
    return [chain.partition() for chain in decoder.chains(decoder.design(from_sentences(sentences)))]


# the largest set is enumerated for two templates
PAIRS = [
    (name, template)
    for template in (*TEMPLATES, WIDE)
    for name in DEFINITIONS
    if name != "length" or template in ("trigram", "bigram")
]


@pytest.mark.parametrize(("name", "template"), PAIRS)
def test_criterion_is_its_definition(name, template):
    sentences = SENTENCES[:4] if name == "length" else SENTENCES
    tagger = untrained(template, TEMPLATES.get(template, 2))
    expected = 0.0
    for s in sentences:
        around = sorted(DEFINITIONS[name](tuple(s)))
        expected += log_z(tagger, [s])[0] - oracle.log_sum(log_z(tagger, [list(x) for x in around]))
    # pools hold the words of the training text: all five
    found = unlabeled_value(tagger.model_, from_sentences(sentences), name)
    assert found == pytest.approx(expected, abs=1e-8)


def test_conditional_neighborhood_keeps_columns():
    sentences = [[("a", "P"), ("b", "Q")], [("c", "P"), ("b", "P"), ("d", "Q")]]
    tagger = untrained("U:%x[0,0]\nU1:%x[0,1]\nB\nT", sentences=sentences)
    types = {token for s in sentences for token in s}
    expected = 0.0
    for s in sentences:
        choices = [sorted(t for t in types if t[1] == token[1]) for token in s]
        around = [list(x) for x in itertools.product(*choices)]
        expected += log_z(tagger, [s])[0] - oracle.log_sum(log_z(tagger, around))
    found = unlabeled_value(tagger.model_, from_sentences(sentences), "conditional:1")
    assert found == pytest.approx(expected, abs=1e-8)


def test_functions_and_transducers():
    tagger = untrained("trigram")
    reverse = Transducer.parse("0 copy 0 \n 0 delete 1 \n 1 copy 1 \n final 0 1", "mine")
    corpus = from_sentences(SENTENCES)
    assert unlabeled_value(tagger.model_, corpus, reverse) == unlabeled_value(tagger.model_, corpus, "del1word")

    def reversed_too(sentence):
        return [sentence[::-1], sentence]

    expected = 0.0
    for s in SENTENCES:
        around = sorted({tuple(s), tuple(s[::-1])})
        expected += log_z(tagger, [s])[0] - oracle.log_sum(log_z(tagger, [list(x) for x in around]))
    assert unlabeled_value(tagger.model_, corpus, reversed_too) == pytest.approx(expected, abs=1e-9)
    trained = Tagger("contrastive", neighborhood=reversed_too, dictionary=WORDS).fit(SENTENCES)
    assert trained.model_.record["neighborhood"] == "reversed_too"


def test_marginal_likelihood_is_the_sum_over_all_sentences():
    tagger = untrained("bigram", 1, words={"a": ["X"], "b": ["X", "Y"]}, sentences=[["a", "b"], ["b"]])
    tagger.model_.weights = tagger.model_.weights * 0.3 - 2.0  # long sentences are rare enough
    tagger._adopt(tagger.model_)
    every = [list(x) for n in range(1, 15) for x in itertools.product("ab", repeat=n)]
    sums = log_z(tagger, every)
    whole = oracle.log_sum(sums)
    expected = sum(log_z(tagger, [["a", "b"], ["b"]])) - 2 * whole
    found = unlabeled_value(tagger.model_, from_sentences([["a", "b"], ["b"]]), "everything")
    assert found == pytest.approx(expected, abs=1e-6)
    tagger.model_.weights = tagger.model_.weights + 5.0
    with pytest.raises(LoglinError, match="no limit"):
        unlabeled_value(tagger.model_, from_sentences([["a"]]), "everything")


# ---------------------------------------------------------------------- gradients


@pytest.mark.parametrize(
    "given",
    [
        *({"neighborhood": name} for name in [*DEFINITIONS, "del1word+trans2"]),
        {"order": 1, "template": "bigram"},
        {"order": 1, "template": "bigram-spelling", "neighborhood": "length"},
        {"labels": PARTLY},
        {"labels": PARTLY, "neighborhood": "length"},
        {"criterion": "mixture", "labels": PARTLY, "settings": {"weight": 0.3}},
        {"dictionary": 0, "settings": {"labels": 3}},
        {"beta": 0.4},
        {"beta": 0.4, "neighborhood": "length", "labels": PARTLY},
    ],
)
def test_gradients(given):
    given = dict(given)
    beta, labels = given.pop("beta", 1.0), given.pop("labels", None)
    criterion = criterion_of(labels, **given)
    criterion.beta = beta
    rng = np.random.default_rng(3)
    w = rng.standard_normal(criterion.n_features)
    _, gradient = criterion(w)
    chosen = rng.choice(len(w), 25, replace=False)
    chosen = np.union1d(chosen, np.argsort(-np.abs(gradient))[:15])

    def along(x):
        moved = w.copy()
        moved[chosen] = x
        return criterion(moved)[0]

    np.testing.assert_allclose(gradient[chosen], oracle.numeric_gradient(along, w[chosen]), atol=2e-6)


def test_gradient_of_marginal_likelihood():
    for order, template in ((1, "bigram"), (2, "trigram")):
        criterion = criterion_of(None, "marginal-likelihood", order, template)
        rng = np.random.default_rng(1)
        w = 0.1 * rng.standard_normal(criterion.n_features) - 1.5
        _, gradient = criterion(w)
        chosen = np.argsort(-np.abs(gradient))[:20]

        def along(x, w=w, chosen=chosen, criterion=criterion):
            moved = w.copy()
            moved[chosen] = x
            return criterion(moved)[0]

        np.testing.assert_allclose(gradient[chosen], oracle.numeric_gradient(along, w[chosen]), atol=1e-5)


def test_annealing_flattens_the_observed_side_alone():
    criterion = criterion_of(None)
    w = np.random.default_rng(0).standard_normal(criterion.n_features)
    (contrast,) = criterion.contrasts
    W, E = criterion.features.scores(w)
    criterion.beta = 0.5
    soft = contrast.observed.totals(0.5 * W, 0.5 * E).partitions
    theirs = contrast.against.totals(W, E).partitions
    assert criterion(w)[0] == pytest.approx(float((theirs - 2 * soft).sum()))


def test_mixture_is_a_weighted_sum():
    labels = [["X", "Y", "Z", "X"], None, None, None, None, None, None]
    mixed = criterion_of(labels, "mixture", settings={"weight": 0.25})
    w = np.random.default_rng(2).standard_normal(mixed.n_features)
    values = [c.totals(*mixed.features.scores(w), 1.0, mixed.threads)[0] for c in mixed.contrasts]
    assert [len(v) for v in values] == [1, 6]
    tagger = untrained("trigram")
    tagger.model_.weights = w
    tagger._adopt(tagger.model_)
    decoder = Decoder(tagger.model_)
    (chain,) = decoder.chains(decoder.design(from_sentences(SENTENCES[:1])))
    gold = [tagger.classes_.index(y) for y in labels[0]]
    assert values[0][0] == pytest.approx(chain.score(gold) - chain.partition(), abs=1e-8)
    assert values[1].sum() == pytest.approx(
        0.25 * unlabeled_value(tagger.model_, from_sentences(SENTENCES[1:]), "trans1"), abs=1e-8
    )


# ---------------------------------------------------------------------- Tagger


@pytest.mark.parametrize("criterion", ["contrastive", "em", "marginal-likelihood"])
@pytest.mark.parametrize("order", [1, 2])
def test_learns_saves_and_decodes(criterion, order, tmp_path):
    tagger = Tagger(criterion, dictionary=WORDS, order=order, l2=0.1, dev=SENTENCES[:2]).fit(SENTENCES)
    assert tagger.classes_ == ["X", "Y", "Z"]
    assert math.isfinite(tagger.model_.record["held_criterion"])
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m")
    predicted = tagger.predict([*SENTENCES, [], ["new", "b"]])
    assert again.predict([*SENTENCES, [], ["new", "b"]]) == predicted
    for s, y in zip(SENTENCES, predicted, strict=False):
        assert all(label in WORDS[word] for word, label in zip(s, y, strict=True))
    decoder = Decoder(again.model_)
    for s, y in zip(SENTENCES, predicted, strict=False):  # lattices and chains agree
        (chain,) = decoder.chains(decoder.design(from_sentences([s])))
        assert [again.classes_[c] for c in chain.best()[0]] == y
    assert again.criterion == criterion
    assert again.model_.record["converged"]


def test_the_same_for_any_number_of_threads():
    weights = [Tagger("contrastive", dictionary=WORDS, threads=n).fit(SENTENCES).model_.weights for n in (1, 2, 3)]
    assert (weights[0] == weights[1]).all()
    assert (weights[0] == weights[2]).all()


def test_without_a_dictionary_labels_are_nameless_and_starts_random():
    settings = {"labels": 2, "starts": 3}
    tagger = Tagger("contrastive", settings=settings, seed=1, max_iter=30).fit(SENTENCES)
    assert tagger.classes_ == ["L0", "L1"]
    assert "the best of 3 starts" in tagger.model_.record["stopped"]
    assert len({label for y in tagger.predict(SENTENCES) for label in y}) == 2  # zero would be a saddle
    assert tagger.evaluate_unsupervised(SENTENCES, [["N"] * len(s) for s in SENTENCES], "many-to-one").as_dict()


def test_annealing_ends_at_beta_one():
    slow = Tagger("contrastive", dictionary=WORDS, settings={"annealing": 0.2}, tol=1e-8).fit(SENTENCES)
    direct = Tagger("contrastive", dictionary=WORDS, tol=1e-8).fit(SENTENCES)
    assert slow.model_.record["iterations"] == len(slow.model_.record["history"])  # of all rounds
    corpus = from_sentences(SENTENCES)
    for tagger in (slow, direct):
        w = tagger.model_.weights
        value = -unlabeled_value(tagger.model_, corpus) + 0.5 * float(w @ w)
        assert value == pytest.approx(tagger.model_.record["objective"], abs=1e-4)


def test_partly_labeled_and_weighted():
    labels = [["X", "Y", "Y", "X"], None, [None] * 5, ["Z"], None, ["Y", "X"], None]
    tagger = Tagger("mixture", dictionary=WORDS, settings={"weight": 0.5}).fit(SENTENCES, labels)
    assert tagger.predict(SENTENCES[:1]) == labels[:1]
    heavy = Tagger("mixture", dictionary=WORDS).fit(SENTENCES, labels, sample_weight=[5, 1, 1, 1, 1, 1, 1])
    assert heavy.model_.record["objective"] != tagger.model_.record["objective"]
    counted = Tagger("mixture", dictionary=1).fit(SENTENCES, labels)  # of the labelled tokens alone
    assert counted.model_.dictionary.words.strings == ["a", "b", "c", "d"]
    assert counted.model_.dictionary.labels.sum() == 5  # a X, b Y, c Y, d X Z


def test_variances_of_groups():
    plain = Tagger("contrastive", template="trigram", dictionary=WORDS, l2=1.0).fit(SENTENCES)
    text = "#! variance=0.001 T\n" + "U00:%x[0,0]\nU01:%edge[-1,0]\nB01:%edge[-2,0]\nB02:%edge[1,0]\nT\n"
    tight = Tagger("contrastive", template=text, dictionary=WORDS, l2=1.0).fit(SENTENCES)
    size = [float(np.abs(t.model_.index.split(t.model_.weights)[3]).max()) for t in (plain, tight)]
    assert size[1] < 0.05 * size[0]


# ---------------------------------------------------------------------- what is refused


LOSSY = Transducer.parse("0 delete 1 \n 1 copy 1 \n final 1", "lossy")


@pytest.mark.parametrize(
    ("given", "sentences", "labels", "part"),
    [
        ({"dictionary": 0}, SENTENCES, None, "there are no labels"),
        ({"template": "U:%x[0,0]\nB1:%x[0,0]\nT"}, SENTENCES, None, "B1:%x[0,0]"),
        ({"neighborhood": "shuffle"}, SENTENCES, None, "'shuffle' is neither a neighborhood"),
        (
            {"criterion": "crf", "neighborhood": "trans1"},
            SENTENCES,
            [["X"] * len(s) for s in SENTENCES],
            "no neighborhood",
        ),
        ({"criterion": "crf"}, SENTENCES, None, "needs labels"),
        ({"criterion": "mixture"}, SENTENCES, None, "some labelled sentences"),
        ({}, [["a"], []], None, "sentence 1 has no words"),
        ({}, SENTENCES, [["Y", "X", "Y", "X"], *[None] * 6], "the dictionary allows X"),
        ({}, [[{"w": "a"}]], None, "give tokens as strings"),
        ({"settings": {"starts": 0}}, SENTENCES, None, "starts is 0"),
        ({"settings": {"annealing": 2}}, SENTENCES, None, "annealing is 2"),
        ({"optimizer": "gis"}, SENTENCES, None, "not concave"),
        ({"criterion": "em", "optimizer": "lbfgs"}, SENTENCES, None, "its own way"),
        (
            {"neighborhood": Transducer.parse("0 delete 1 \n 1 copy 1 \n final 1", "lossy")},
            SENTENCES,
            None,
            "loses sentence",
        ),
    ],
)
def test_refused(given, sentences, labels, part):
    with pytest.raises(LoglinError, match=part.replace("[", r"\[").replace("%", "%")):
        Tagger(**({"criterion": "contrastive", "dictionary": WORDS} | given)).fit(sentences, labels)


def test_deletions_without_a_prior_diverge_and_say_so():
    with pytest.warns(UserWarning, match="without a prior weights grow without end"):
        tagger = Tagger("contrastive", neighborhood="del1word", dictionary=WORDS, l2=0.0, tol=1e-12).fit(SENTENCES)
    assert not tagger.model_.record["converged"]


# ---------------------------------------------------------------------- the shell


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "raw.txt").write_text("\n".join(" ".join(s) for s in SENTENCES))
    (tmp_path / "D").write_text("".join(f"{w}\t{' '.join(tags)}\n" for w, tags in WORDS.items()))
    (tmp_path / "labeled.txt").write_text("a/X b/Y c/Z d/X\nb/Y a/X\n")
    return tmp_path


def test_shell(folder):
    train = ["train", "raw.txt", "--criterion", "contrastive", "--neighborhood", "trans1", "--dictionary", "D"]
    code, out, _ = program(folder, [*train, "--dev", "raw.txt", "-o", "m", "--json", "--quiet"])
    assert code == 0
    found = json.loads(out)
    assert found["labels"] == 3
    assert math.isfinite(found["held_criterion"])
    code, out, _ = program(folder, ["tag", "m", "raw.txt", "--format", "text"])
    assert code == 0
    assert out.startswith("a/X b/")
    code, out, _ = program(folder, ["eval", "m", "labeled.txt", "--format", "text", "--words", "3"])
    assert code == 0
    assert "ambiguous words" in out
    assert Model.load(folder / "m").record["neighborhood"] == "trans1"
    mixed = ["train", "labeled.txt", "--format", "text", "--unlabeled", "raw.txt", "--dictionary", "D", "--quiet"]
    for criterion in ("mixture", "em"):
        code, out, _ = program(folder, [*mixed, "--criterion", criterion, "-o", "mixed"])
        assert code == 0
        assert "9 sentences" in out
    assert "log-likelihood" in out
    assert "MAP" in out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--criterion", "crf", "--unlabeled", "raw.txt", "--format", "text"], "learns from labels alone"),
        (["--criterion", "contrastive", "--neighborhood", "none-such", "--dictionary", "D"], "none-such"),
        (["--criterion", "contrastive"], "there are no labels"),
        (["--criterion", "contrastive", "--dictionary", "missing"], "missing"),
    ],
)
def test_shell_refuses(folder, arguments, part):
    code, _, err = program(folder, ["train", "raw.txt", *arguments, "-o", "m"])
    check_sentence(code, err, part)
    assert not (folder / "m").exists()


def test_columns_are_not_read_as_text(folder):
    (folder / "columns.txt").write_text("a X\nb Y\n\n" * 15)
    arguments = ["train", "columns.txt", "--criterion", "contrastive", "--dictionary", "D", "-o", "m", "--quiet"]
    code, _, err = program(folder, arguments)
    check_sentence(code, err, "all its lines have 2 words, like columns", "--format conll")
    assert program(folder, [*arguments, "--format", "conll", "--label-column", "-1"])[0] == 0
    (folder / "D").write_text("a\tX\nb\tX Y\nX\tX\nY\tY\n")
    assert program(folder, [*arguments, "--format", "text"])[0] == 0


def test_doubts_about_the_dictionary_are_told(folder):
    (folder / "D").write_text("a\tX\nb\tX Y\nc\tY\nd\tX Y\nq\tQ\n#! open X Y\n")
    code, _, err = program(folder, ["train", "raw.txt", "--criterion", "contrastive", "--dictionary", "D", "-o", "m"])
    assert code == 0
    assert "warning: the dictionary lacks 1 word" in err
    assert "1 label (Q)" in err
    (folder / "D").write_text("a\tX\nb\tX Y\n#! unknown=refuse\n")
    code, _, err = program(folder, ["train", "raw.txt", "--criterion", "contrastive", "--dictionary", "D", "-o", "m2"])
    check_sentence(code, err, "'c' is not in the tagging dictionary")


# ---------------------------------------------------------------------- real data


@pytest.fixture(scope="module")
def treebank():
    """The first 24,000 words, their tags, and the dictionary of all words."""
    sentences = read(corpus_folder("treebank")).sentences()
    words: dict = {}
    for s in sentences:
        for word, tag in s:
            words.setdefault(word, {})[tag] = None
    ends = np.cumsum([len(s) for s in sentences])
    chosen = sentences[: int(np.searchsorted(ends, 24_000)) + 1]
    return (
        [[w for w, _ in s] for s in chosen],
        [[t for _, t in s] for s in chosen],
        {w: list(t) for w, t in words.items()},
    )


@pytest.mark.parametrize(
    ("name", "objective", "within", "accuracy"), [("trans1", 2012.4, 0.002, 84.5), ("length", 140665, 0.003, 87.2)]
)
def test_trained_on_the_treebank(treebank, name, objective, within, accuracy):
    sentences, tags, words = treebank
    tagger = Tagger("contrastive", neighborhood=name, dictionary=words, l2=0.5).fit(sentences)
    assert tagger.model_.record["objective"] == pytest.approx(objective, rel=within)
    report = tagger.evaluate_unsupervised(sentences, tags)
    assert 100 * report.ambiguous_accuracy == pytest.approx(accuracy, abs=1.0)


# ---------------------------------------------------------------------- selection


def test_selection_by_the_criterion_and_by_an_oracle():
    labels = [["X", "Y", "Y", "X"], ["X", "Y", "Y", "X"], ["Y", "X", "Z", "X", "Y"]]
    tagger = Tagger("contrastive", dictionary=WORDS)
    grid = {"l2": [0.01, 1.0], "starts": [1, 2]}
    best, found = select_tagger(tagger, grid, SENTENCES, dev=SENTENCES[2:5], gold=(SENTENCES[:3], labels))
    assert [t.parameters for t in found.trials] == [{"l2": a, "starts": b} for a in (0.01, 1.0) for b in (1, 2)]
    assert found.selected.held_criterion == max(t.held_criterion for t in found.trials)
    assert found.oracle.accuracy == max(t.accuracy for t in found.trials)
    assert best.model_ is found.selected.model
    assert best.l2 == found.selected.parameters["l2"]
    assert best.settings == {"starts": found.selected.parameters["starts"]}
    for trial in found.trials:
        expected = unlabeled_value(trial.model, from_sentences(SENTENCES[2:5]), "trans1")
        assert trial.held_criterion == pytest.approx(expected)
    assert found.report().count("\n") == 4
    assert "(selected" in found.report()
    json.dumps(found.as_dict())
    with pytest.raises(LoglinError, match="give held-out text"):
        select_tagger(tagger, {"l2": [1]}, SENTENCES)
    with pytest.raises(LoglinError, match="at least one value"):
        select_tagger(tagger, {"l2": []}, SENTENCES, dev=SENTENCES)
    with pytest.raises(LoglinError, match="cannot be compared"):
        select_tagger(tagger, {"neighborhood": ["trans1", "length"]}, SENTENCES, dev=SENTENCES)
    assert "accuracy" not in select_tagger(tagger, {"l2": [1]}, SENTENCES, dev=SENTENCES)[1].report()


def test_selection_in_the_shell(folder):
    arguments = ["train", "raw.txt", "--criterion", "contrastive", "--dictionary", "D", "--dev", "raw.txt", "-o", "m"]
    more = ["--format", "text", "--gold", "labeled.txt", "--quiet"]
    code, out, _ = program(folder, [*arguments, *more, "--grid", "l2=0.1,1", "--grid", "starts=1,2"])
    assert code == 0
    assert out.count("starts 2") == 2
    assert "selected" in out
    assert "oracle" in out
    code, _, err = program(folder, [*arguments, "--grid", "l2"])
    check_sentence(code, err, "--grid is 'l2'; write NAME=V1,V2")
    code, _, err = program(folder, [*arguments, "--grid", "depth=1,2"])
    check_sentence(code, err, "--grid names 'depth'")
    code, _, err = program(folder, [*arguments, "--grid", "neighborhood=trans1,length"])
    check_sentence(code, err, "criteria of different neighborhoods cannot be compared")
    without = [a for a, b in zip(arguments, ["", *arguments], strict=False) if "--dev" not in (a, b)]
    code, _, err = program(folder, [*without, "--grid", "l2=1,2"])
    check_sentence(code, err, "give held-out text (dev)")
    code, _, err = program(folder, ["crf" if a == "contrastive" else a for a in arguments] + ["--grid", "l2=1,2"])
    check_sentence(code, err, "models are chosen by their criterion on text without labels")
