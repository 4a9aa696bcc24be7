"""Hidden Markov models against enumeration, sampling, hand-worked answers and the NP chunks of CoNLL-2000."""

import itertools
import json

import numpy as np
import pytest

from loglin.corpus import schemes
from loglin.corpus.columns import from_sentences
from loglin.corpus.sections import Section
from loglin.errors import LoglinError
from loglin.generative.hmm import HMM
from support.errors import refused
from support.hmms import LABELS, np_chunks, small

OOV = "<oov>"


def naive_probability(hmm, sentence, labels):
    """q0(x, y) by its definition, for sentences of tuples of strings and label codes."""
    L = len(hmm.labels)
    product, a, b = 1.0, L, L
    for token, c in zip(sentence, labels, strict=True):
        product *= hmm.transition[a if hmm.order == 2 else 0, b, c]
        for k, column in enumerate(hmm.columns):
            names = hmm.values[k].strings
            value = token[column] if token[column] in names else OOV
            product *= hmm.emissions[k][c, names.index(value)]
        a, b = b, c
    return product * hmm.transition[a if hmm.order == 2 else 0, b, L]


def every_sentence(hmm, longest):
    tokens = list(itertools.product(*(v.strings for v in hmm.values)))
    for n in range(longest + 1):
        for sentence in itertools.product(tokens, repeat=n):
            for labels in itertools.product(range(len(hmm.labels)), repeat=n):
                yield list(sentence), list(labels)


@pytest.fixture(scope="module")
def chunks(conll2000):
    corpus, codes = np_chunks(conll2000 / "train.txt")
    chosen = np.arange(corpus.n_sentences - 900)
    return corpus.select(chosen), codes[: corpus.offsets[len(chosen)]], *np_chunks(conll2000 / "test.txt")


# ---------------------------------------------------------------------- sums over all sentences


def test_path_sums_of_the_note():
    hmm = small()
    i, o = hmm.sums.into[0], hmm.sums.out[0]
    np.testing.assert_allclose(i, [2.285714, 2.714286, 1], atol=1e-6)
    np.testing.assert_allclose(o, 1)
    assert i[0] * hmm.transition[0, 0, 1] == pytest.approx(0.685714, abs=1e-6)
    assert i[0] * hmm.emissions[0][0, 0] == pytest.approx(1.6)
    assert hmm.expected_length() == pytest.approx(5)
    t = hmm.transition[0, :2, :2]
    three = np.linalg.matrix_power(t, 3)[0] @ hmm.emissions[0][:, 1]
    assert i[0] * three == pytest.approx(0.750171, abs=1e-6)  # Eq. 12


@pytest.mark.parametrize("order", [1, 2])
def test_path_sums_against_powers(order):
    """i and G as truncated sums over the lengths of paths, state by state."""
    hmm = small(order, seed=3, L=3)
    S = 4
    i, o = (a[0] if order == 1 else a for a in (hmm.sums.into, hmm.sums.out))
    states = list(itertools.product(range(S), repeat=order))
    t = np.zeros((len(states), len(states)))
    for r, s in itertools.product(range(len(states)), repeat=2):
        before, after = states[r], states[s]
        if before[1:] == after[:-1] and after[-1] < 3:
            t[r, s] = hmm.transition[before[0] if order == 2 else 0, before[-1], after[-1]]
    total, power = np.zeros_like(t), np.eye(len(states))
    for _ in range(200):
        power = power @ t
        total += power
    np.testing.assert_allclose(i.ravel(), total[-1] + (np.arange(len(states)) == len(states) - 1), atol=1e-12)
    reached = i.ravel() > 0
    gaps = hmm.gaps().reshape(t.shape)
    np.testing.assert_allclose(gaps[np.ix_(reached, reached)], total[np.ix_(reached, reached)], atol=1e-12)
    np.testing.assert_allclose(o.ravel()[reached], 1)
    assert hmm.expected_length() == pytest.approx(4)  # stops with probability 0.2 everywhere: 1 / 0.2 − 1
    visits = i[:3] if order == 1 else i[:, :3].sum(axis=0)
    np.testing.assert_allclose(hmm.visits(), visits)


@pytest.mark.parametrize("order", [1, 2])
def test_expected_gaps_against_samples(order):
    hmm = small(order, seed=4, L=3)
    corpus, codes = hmm.sample(20_000, np.random.default_rng(0))
    words = corpus.columns[0].strings()
    counts = np.zeros((corpus.n_sentences, 2))
    for s, (b, e) in enumerate(itertools.pairwise(corpus.offsets.tolist())):
        for p, q in itertools.combinations(range(b, e), 2):
            if codes[p] == 1 and codes[q] == 2:
                counts[s] += 1, words[p] == "w0" and words[q] == OOV
    expected = hmm.expected_gap(1, 2), hmm.expected_gap(1, 2, {0: "w0"}, {0: "never seen"})
    z = (counts.mean(axis=0) - expected) / (counts.std(axis=0) / np.sqrt(len(counts)))
    assert np.abs(z).max() < 3.5


def test_models_that_never_end():
    t = np.array([[0.5, 0.3, 0.2], [0, 1, 0], [0.6, 0.4, 0]])
    hmm = HMM.of(["x", "y"], t, [np.eye(2)], [["a", "b"]])
    for call in (lambda: hmm.sums, hmm.expected_length, hmm.gaps, lambda: hmm.expected_gap("x", "y")):
        refused(call, "'y'", "STOP", "smooth")
    refused(lambda: hmm.sample(5, np.random.default_rng(0), longest=20), "more than 20")
    t[2, 1] = 0  # no way to y: it does not matter; but x to y is one
    t[0, :2] = 0.8, 0
    assert HMM.of(["x", "y"], t, [np.eye(2)], [["a", "b"]]).visits().tolist() == pytest.approx([3, 0])


# ---------------------------------------------------------------------- sentences


@pytest.mark.parametrize("order", [1, 2])
def test_probabilities_against_the_definition_and_one(order):
    hmm = small(order, seed=1, V=1, stop=0.4)
    pairs = list(every_sentence(hmm, 3))
    corpus = from_sentences([x for x, _ in pairs])
    codes = np.array([c for _, y in pairs for c in y])
    found = hmm.log_probability(corpus, codes)
    np.testing.assert_allclose(np.exp(found), [naive_probability(hmm, x, y) for x, y in pairs], rtol=1e-12)
    assert np.exp(found).sum() == pytest.approx(1 - 0.6**4, abs=1e-12)  # all but sentences of four tokens or more
    for s, chain in enumerate(hmm.chains(corpus)):
        if len(pairs[s][0]):
            assert chain.score(pairs[s][1]) == pytest.approx(found[s], abs=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_prediction_is_the_best_of_all(order):
    hmm = small(order, seed=2, L=3)
    sentences = [[("w0", "X"), ("w1", "?"), ("new", "X"), ("w0", "X")], [], [("w1", "X")], [("w1", "?"), ("w0", "X")]]
    codes = hmm.predict(from_sentences(sentences)).tolist()
    best = [
        max(itertools.product(range(3), repeat=len(x)), key=lambda y, x=x: naive_probability(hmm, x, y))
        for x in sentences
    ]
    assert codes == [c for y in best for c in y]


def test_zeros_are_impossible_and_named():
    training = from_sentences([["a", "b"], ["a", "b", "b"]], "data.txt")
    hmm = HMM.fit(training, np.array([0, 1, 0, 1, 1]), ["P", "Q"], smoothing=0, oov="unseen", order=2)
    hmm.check_support(training, [0, 1, 0, 1, 1])
    assert np.isfinite(hmm.log_probability(training, [0, 1, 0, 1, 1])).all()
    other = from_sentences([["a", "b"], ["a", "zz"], ["a"], []], "new.txt")
    assert (hmm.log_probability(other, [0, 1, 0, 1, 0]) == -np.inf).tolist() == [False, True, True, True]
    refused(lambda: hmm.check_support(other.select(np.array([0, 3])), [0, 1]), "sentence 1 is empty")
    other = other.select(np.arange(3))
    parts = "new.txt", "sentence 1, token 1", "'zz'", "column 0", "'Q'", "smooth"
    refused(lambda: hmm.check_support(other, [0, 1, 0, 1, 0]), *parts)
    refused(lambda: hmm.check_support(other.select(np.array([0, 2])), [0, 1, 0]), "sentence 1, token 0", "end behind")
    refused(lambda: hmm.check_support(other.select(np.array([0])), [1, 1]), "sentence 0, token 0", "'a'", "'Q'")
    ones = from_sentences([["b", "b", "b", "b"]], "b.txt")
    refused(lambda: hmm.check_support(ones, [1, 1, 1, 1]), "sentence 0, token 0", "label 'Q' there")
    refused(lambda: hmm.predict(other), "new.txt", "sentence 1", "smooth")


@pytest.mark.parametrize("order", [1, 2])
def test_sampling_frequencies(order):
    hmm = small(order, seed=5, L=2, V=2)
    corpus, codes = hmm.sample(5000, np.random.default_rng(1))
    assert np.isfinite(hmm.log_probability(corpus, codes)).all()
    fitted = HMM.fit(corpus, codes, [0, 1], order=order, smoothing=0, oov="unseen")
    reached = hmm.sums.reached
    np.testing.assert_allclose(fitted.transition[reached], hmm.transition[reached], atol=0.035)
    for k in range(2):
        number = hmm.values[k].codes_of(fitted.values[k])
        assert sorted(number) == list(range(len(hmm.values[k])))  # <oov> was seen: it is one value, not two
        np.testing.assert_allclose(fitted.emissions[k], hmm.emissions[k][:, number], atol=0.02)
    assert corpus.n_tokens / 5000 == pytest.approx(hmm.expected_length(), abs=0.2)


# ---------------------------------------------------------------------- estimates


def test_counting_by_hand():
    corpus = from_sentences([["a", "a", "b"], ["a"], ["b", "a"]])
    codes = [0, 1, 1, 0, 1, 1]
    plain = HMM.fit(corpus, codes, ["P", "Q"], order=1, smoothing=0, oov="unseen")
    np.testing.assert_allclose(plain.transition[0], [[0, 1 / 2, 1 / 2], [0, 1 / 2, 1 / 2], [2 / 3, 1 / 3, 0]])
    assert plain.values[0].strings == ["a", "b", OOV]
    np.testing.assert_allclose(plain.emissions[0], [[1, 0, 0], [1 / 2, 1 / 2, 0]])
    added = HMM.fit(corpus, codes, ["P", "Q"], order=1, smoothing=2, transition_smoothing=1, oov="unseen")
    np.testing.assert_allclose(added.emissions[0], [[4 / 8, 2 / 8, 2 / 8], [4 / 10, 4 / 10, 2 / 10]])
    np.testing.assert_allclose(added.transition[0, 2], [3 / 6, 2 / 6, 1 / 6])
    prior = HMM.fit(corpus, codes, ["P", "Q"], order=1, smoothing=2, prior="unigram", oov="unseen")
    p = np.array([4, 2, 1]) / 7
    np.testing.assert_allclose(prior.emissions[0], [([2, 0, 0] + 2 * p) / 4, ([2, 2, 0] + 2 * p) / 6])
    first = HMM.fit(corpus, codes, ["P", "Q"], order=2, smoothing=0)
    assert first.values[0].strings == [OOV, "a", "b"]
    np.testing.assert_allclose(first.emissions[0], [[1 / 2, 1 / 2, 0], [1 / 4, 1 / 2, 1 / 4]])
    np.testing.assert_allclose(first.transition[2, 0], [0, 1 / 2, 1 / 2])
    np.testing.assert_allclose(first.transition[0, 1], [0, 1, 0])
    assert not first.transition[0, 0].any()
    smooth = HMM.fit(corpus, codes, ["P", "Q"], order=2, transition_smoothing=0.5)
    np.testing.assert_allclose(smooth.transition[0, 0], 1 / 3)
    assert not smooth.transition[0, 2].any()  # nothing stands before START
    assert smooth.expected_length() > 0


def test_chosen_columns():
    corpus = from_sentences([[("a", "X", "1"), ("b", "Y", "2")], [("a", "X", "1"), ("b", "Y", "2")]])
    hmm = HMM.fit(corpus, [0, 1, 0, 1], ["P", "Q"], columns=[-2])
    assert hmm.columns == [1]
    assert [v.strings for v in hmm.values] == [[OOV, "X", "Y"]]
    sampled, codes = hmm.sample(3, np.random.default_rng(0))
    assert sampled.columns[0].strings() == ["_"] * len(codes)
    assert codes.tolist() == [0, 1] * 3
    refused(lambda: HMM.fit(corpus, [0, 1, 0, 1], ["P", "Q"], columns=[3]), "no column 3")
    refused(lambda: HMM.fit(corpus, [0, 1, 0, 1], ["P", "Q"], columns=[0, -3]), "[0, 0]", "twice")


def test_mistakes():
    corpus = from_sentences([["a", "b"], ["c"]], "data.txt")
    for options, parts in [
        ({"order": 3}, ["order 3", "1 or 2"]),
        ({"oov": "last"}, ["oov 'last'"]),
        ({"prior": "flat"}, ["prior 'flat'"]),
        ({"smoothing": -1}, ["smoothing is -1"]),
        ({"transition_smoothing": np.nan}, ["transition_smoothing is nan"]),
    ]:
        refused(lambda options=options: HMM.fit(corpus, [0, 0, 1], ["P", "Q"], **options), *parts)
    refused(lambda: HMM.fit(corpus, [0, 1], ["P", "Q"]), "3 tokens")
    refused(lambda: HMM.fit(corpus, [0, 1, -1], ["P", "Q"]), "sentence 1, token 0", "code -1")
    refused(lambda: HMM.of(["P"], np.ones((2, 2)), [np.ones((1, 1))], [["a"]]), "at most one")
    refused(lambda: HMM.of(["P"], np.eye(2), [np.ones((1, 4))], [["a"]]), "[1] values")
    hmm = HMM.fit(corpus, [0, 1, 0], ["P", "Q"])
    refused(lambda: hmm.expected_gap("R", "P"), "'R'", "P, Q")
    refused(lambda: hmm.expected_gap("Q", "P", {7: "a"}), "column 7")


@pytest.mark.parametrize("source", ["data", "scheme"])
def test_locally_uniform(source):
    corpus = from_sentences(
        [["a", "b", "a", "b", "b"], ["a"], ["c", "a"], ["a", "a", "b"], ["b", "b"], ["a", "b", "b"]]
    )
    codes = [0, 1, 1, 0, 2, 2, 2, 0, 0, 0, 1, 2, 2, 0, 1, 2]
    legal = schemes.legal(LABELS, "iob2") if source == "scheme" else None
    hmm = HMM.locally_uniform(corpus, codes, LABELS, legal=legal)
    assert (hmm.transition[0] > 0).sum(axis=1).tolist() == [4, 4, 3, 3]
    np.testing.assert_allclose(hmm.visits(), [1, 1 / 3, 1])
    assert hmm.expected_length() == pytest.approx(7 / 3)
    np.testing.assert_allclose(hmm.sums.out[0], 1)
    assert (hmm.emissions[0] == hmm.emissions[0][0]).all()
    np.testing.assert_allclose(dict(zip(hmm.values[0].strings, hmm.emissions[0][0], strict=True))[OOV], 4 / 19)


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize("oov", ["first", "unseen"])
@pytest.mark.parametrize("order", [1, 2])
def test_round_trip_through_arrays(order, oov):
    training, codes = small(order, seed=6, V=9).sample(50, np.random.default_rng(0))
    hmm = HMM.fit(training, codes, ["P", "Q"], order=order, oov=oov)
    section = hmm.to_section()
    assert all(array.ndim == 1 for array in section.arrays.values())
    copies = {name: a.copy() for name, a in section.arrays.items()}
    again = HMM.from_section(Section(json.loads(json.dumps(section.manifest)), copies))
    assert again.is_consistent()
    other, labels = small(order, seed=7, V=12).sample(50, np.random.default_rng(1))
    assert (again.log_probability(other, labels) == hmm.log_probability(other, labels)).all()
    assert (again.predict(other) == hmm.predict(other)).all()
    assert (again.oov, again.columns, again.order, again.labels) == (oov, [0, 1], order, ["P", "Q"])


def test_damaged_arrays():
    hmm = HMM.fit(from_sentences([["a", "b"], ["a", "b"]]), [0, 1, 0, 1], ["P", "Q"])
    section = hmm.to_section()
    manifest, arrays = section.manifest, section.arrays
    for name in (*manifest, *arrays):
        with pytest.raises((KeyError, ValueError, TypeError)):
            HMM.from_section(Section(*({k: v for k, v in part.items() if k != name} for part in (manifest, arrays))))
    for change in (
        {"labels": ["P"]},
        {"labels": "PQ"},
        {"labels": []},
        {"order": 1},
        {"order": "2"},
        {"columns": [0, 1]},
        {"columns": [-1]},
        {"columns": 3},
        {"oov": "unseen"},
        {"oov": []},
        {"values": []},
        {"values": {"template": "U0:%x[0,1]"}},
    ):
        with pytest.raises((KeyError, ValueError, TypeError)):
            HMM.from_section(Section(manifest | change, arrays))
    for change in (
        {"transition": -arrays["transition"]},
        {"transition": arrays["transition"] * 2},
        {"transition": arrays["transition"] * np.nan},
        {"transition": arrays["transition"].astype(np.float32)},
        {"emission.0": np.append(arrays["emission.0"], [0, 0])},
        {"emission.0": arrays["emission.0"].astype(int)},
        {"values.keys.0": arrays["values.keys.0"] + 7},
        {"values.keys.0": arrays["values.keys.0"] - 7},
        {"values.vocabulary.0.starts": arrays["values.vocabulary.0.starts"] + 100},
    ):
        with pytest.raises(ValueError, match=next(iter(change)).split(".")[0]):
            HMM.from_section(Section(manifest, arrays | change))
    with pytest.raises(ValueError, match="labels"):
        HMM.from_section(Section(manifest | {"labels": ["P", ["Q"]]}, arrays))


# ---------------------------------------------------------------------- NP chunks


def f1(gold, found, offsets):
    def spans(codes):
        names = [LABELS[c] for c in codes.tolist()]
        cuts = itertools.pairwise(offsets.tolist())
        return {(b, *phrase) for b, e in cuts for phrase in schemes.entities(names[b:e])}

    wanted, given = spans(gold), spans(found)
    return 200 * len(wanted & given) / (len(wanted) + len(given))


def test_np_chunking(chunks):
    training, codes, test, gold = chunks
    hmm = HMM.fit(training, codes, LABELS)
    assert [e.shape for e in hmm.emissions] == [(3, 9063), (3, 45)]
    mean = training.n_tokens / training.n_sentences
    assert mean == pytest.approx(23.7170, abs=1e-4)
    assert hmm.expected_length() == pytest.approx(mean, abs=1e-9)
    np.testing.assert_allclose(hmm.sums.out[hmm.sums.reached], 1)
    assert f1(gold, hmm.predict(test), test.offsets) == pytest.approx(86.94, abs=0.1)
    hmm.check_support(training, codes)
    hmm.check_support(test, gold)


def test_the_locally_uniform_base_finds_no_chunk(chunks):
    training, codes, test, gold = chunks
    hmm = HMM.locally_uniform(training, codes, LABELS)
    np.testing.assert_allclose(hmm.visits(), [1, 1 / 3, 1])
    assert f1(gold, hmm.predict(test), test.offsets) == 0


@pytest.mark.parametrize("order", [1, 2])
def test_labels_in_another_order(order):
    corpus = from_sentences([["a", "b", "c"], ["b"], ["c", "a"]] * 3)
    codes = np.array([0, 1, 2, 1, 2, 0] * 3)
    hmm = HMM.fit(corpus, codes, ["X", "Y", "Z"], order=order, smoothing=0.5)
    other = hmm.with_labels(["Z", "X", "Y"])
    assert other.log_probability(corpus, np.array([1, 2, 0])[codes]) == pytest.approx(
        hmm.log_probability(corpus, codes)
    )
    with pytest.raises(LoglinError, match="give the same"):
        hmm.with_labels(["X", "Y"])
