"""Expectation maximization against enumeration, hmmlearn, counting, hand-worked answers and the treebank."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin.corpus import datasets
from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.labels import gold_of_column
from loglin.criteria import ExpectationMaximization
from loglin.decoding.chains import Decoder
from loglin.errors import LoglinError
from loglin.features.dictionary import TagDictionary
from loglin.features.index import FeatureIndex
from loglin.generative.hmm import HMM
from loglin.models.chain import Model
from loglin.optimize.record import StopTraining
from loglin.problems.hidden_chains import HiddenText
from loglin.problems.lattices import LatticeText, TokenTypes
from loglin.threads import Threads
from support.solving import run_of

TOY = [list("abcd"), list("bbcb"), list("dca")]
TOY_WORDS = {"a": [0], "b": [0, 1], "c": [1, 2], "d": [0, 1, 2]}
NO_TOLERANCE = {"max_iter": 12, "tol": 0.0}


def text_of(sentences, words=None, L=3, known=None, more=()):
    """Sentences with a dictionary word → labels, if any, and ``known`` labels (sentence, token) → labels."""
    corpus = from_sentences(sentences)
    types = TokenTypes.of(corpus, *([from_sentences(more)] if more else []))
    allowed = np.array([[words is None or c in words[token] for c in range(L)] for token in types.tokens])
    annotation = np.ones((corpus.n_tokens, L), bool)
    for (s, t), some in (known or {}).items():
        annotation[corpus.offsets[s] + t] = [c in some for c in range(L)]
    return LatticeText.of(types, corpus.offsets, allowed, annotation if known else None)


def em(text, order=2, L=3, seed=0, threads=None, limits=None, **chosen):
    return maximized(text, list(range(L)), order, chosen, seed, threads, **(limits or {}))


def maximized(text, labels, order, chosen, seed=0, threads=None, weight=None, tol=1e-4, **limits):
    run = run_of(seed=seed, tol=tol, **limits)
    return ExpectationMaximization(**chosen).maximize(text, labels, order, run, threads, weight)


def toy(order=2, limits=None, **chosen):
    return em(text_of(TOY, TOY_WORDS), order, limits=limits, **({"smoothing": 0} | chosen))


def likelihoods(result):
    return [-i.value for i in result.iterations]


def own_likelihood(hmm, sentences):
    """By the HMM's chains, which know of no lattice."""
    return sum(chain.partition() for chain in hmm.chains(from_sentences(sentences)))


# ---------------------------------------------------------------------- known answers


def test_likelihoods_of_the_toy():
    found = toy(start="per-tag")
    assert likelihoods(found)[:3] == pytest.approx([-23.46586938, -14.18099797, -11.97044302], abs=1e-8)
    assert found.converged
    assert found.starts == [found.log_likelihood]
    assert found.map_value == found.log_likelihood  # without smoothing


def test_uniform_emissions_are_one_of_all_words():
    first = likelihoods(toy(start="uniform", limits={"max_iter": 1}))[0]
    ways = 1 * 2 * 2 * 3, 2 * 2 * 2 * 2, 3 * 2 * 1
    assert first == pytest.approx(sum(math.log(n / 4 ** (m + 1) / 4**m) for n, m in zip(ways, (4, 4, 3), strict=True)))


def test_the_likelihood_is_that_of_the_model():
    for order in (1, 2):
        for smoothing in (0, 0.5):
            found = toy(order, smoothing=smoothing)
            assert found.log_likelihood == pytest.approx(own_likelihood(found.model, TOY), rel=1e-12)
            assert found.log_likelihood == -found.iterations[-1].value


def test_labeled_text_is_counted():
    """With all labels known and all allowed, one step gives the HMM that counting gives."""
    labels = [[0, 1, 2, 2], [1, 0, 0, 1], [2, 2, 0]]
    known = {(s, t): [c] for s, row in enumerate(labels) for t, c in enumerate(row)}
    for order in (1, 2):
        found = em(text_of(TOY, known=known), order, smoothing=0.7, limits={"max_iter": 2}).model
        corpus, codes = from_sentences(TOY), np.concatenate(labels)
        counted = HMM.fit(corpus, codes, [0, 1, 2], order=order, smoothing=0.7, transition_smoothing=0.7, oov="unseen")
        np.testing.assert_allclose(found.transition, counted.transition, atol=1e-12)
        assert [v.strings for v in found.values] == [v.strings for v in counted.values]
        np.testing.assert_allclose(found.emissions[0], counted.emissions[0], atol=1e-12)


# ---------------------------------------------------------------------- each step against enumeration


@st.composite
def problems(draw):
    """A small text of one or two columns, a dictionary or none, labels known in part, weights."""
    L, order, width = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    token = st.tuples(*([st.sampled_from("abc")] * width))
    sentences = draw(st.lists(st.lists(token, min_size=1, max_size=4), min_size=1, max_size=4))
    some = st.lists(st.integers(0, L - 1), min_size=1, max_size=L, unique=True)
    tokens = sorted({x for s in sentences for x in s})
    words = draw(st.one_of(st.none(), st.fixed_dictionaries({x: some for x in tokens})))
    known = {}
    for s, sentence in enumerate(sentences):
        for t, x in enumerate(sentence):
            if draw(st.integers(0, 3)) == 0:
                known[s, t] = [draw(st.sampled_from(words[x] if words else list(range(L))))]
    weights = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=len(sentences), max_size=len(sentences)))
    if width == 1:
        sentences = [[x[0] for x in s] for s in sentences]
        words = words and {x[0]: some for x, some in words.items()}
    return sentences, words, known, np.array(weights), L, order


def as_rows(hmm):
    """An HMM as the oracle writes it, without zeros."""
    L, rows, names = len(hmm.labels), {}, [*range(len(hmm.labels)), "START"]
    for (a, b, c), p in np.ndenumerate(hmm.transition):
        before = (names[a], names[b]) if hmm.order == 2 else (names[b],)
        if p:
            rows.setdefault(("step", before), {})["STOP" if c == L else c] = p
    for k, table in enumerate(hmm.emissions):
        for (c, x), p in np.ndenumerate(table):
            if p:
                rows.setdefault(("emit", (k, c)), {})[hmm.values[k].strings[x]] = p
    return rows


def smoothed_rows(smoothing, sentences, words, L, order):
    """λ for all that an M step smooths."""
    if not smoothing:
        return {}
    rows = {("step", ("START",) * order): {c: smoothing for c in [*range(L), "STOP"]}}
    for b in range(L):
        befores = [(b,)] if order == 1 else [(a, b) for a in [*range(L), "START"]]
        rows |= {("step", before): {c: smoothing for c in [*range(L), "STOP"]} for before in befores}
    for x in (x for s in sentences for x in s):
        for c in range(L) if words is None else words[x]:
            for k, value in enumerate(x):  # a string of one letter is a tuple of one column
                rows.setdefault(("emit", (k, c)), {})[value] = smoothing
    for c in range(L):
        for k in range(len(sentences[0][0])):
            rows.setdefault(("emit", (k, c)), {})["<oov>"] = smoothing
    return rows


def compare_rows(found, expected):
    assert found.keys() == expected.keys()
    for row, values in expected.items():
        known = found[row].keys() | values.keys()  # of what hardly ever occurs one side may hold 1e-26, the other none
        assert {x: found[row].get(x, 0.0) for x in known} == pytest.approx(
            {x: values.get(x, 0.0) for x in known}, abs=1e-10
        )


@given(problems(), st.sampled_from([0, 0.1, 2.0]), st.sampled_from(["uniform", "per-tag", "random"]), st.data())
@settings(max_examples=150, deadline=None)
def test_steps_equal_enumeration(problem, smoothing, start, data):
    sentences, words, known, weight, L, order = problem
    beta = data.draw(st.sampled_from([1.0, 0.3]))
    text = text_of(sentences, words, L, known)
    listed = [
        [(tuple(x), known.get((s, t), range(L) if words is None else words[x])) for t, x in enumerate(sentence)]
        for s, sentence in enumerate(sentences)
    ]
    hidden = HiddenText(text, list(range(L)), order, None, smoothing, weight, None)
    hmm = hidden.start(start, np.random.default_rng(1))
    smoothed = smoothed_rows(smoothing, sentences, words, L, order)
    for _ in range(3):
        plain, tempered, following = oracle.em_step(as_rows(hmm), listed, weight, smoothed, order, beta)
        value, counts = hidden.expected(hmm, beta)
        assert hidden.log_likelihood(hmm) == pytest.approx(plain, abs=1e-9)
        assert value == pytest.approx(tempered, abs=1e-9)
        hmm = hidden.maximized(counts)
        compare_rows(as_rows(hmm), following)
        prior = math.fsum(
            n * math.log(following[row][x]) for row, values in smoothed.items() for x, n in values.items()
        )
        assert hidden.log_prior(hmm) == pytest.approx(prior, rel=1e-9)


@given(problems(), st.sampled_from([0, 0.1, 2.0]), st.sampled_from(["uniform", "per-tag", "random"]))
@settings(max_examples=100, deadline=None)
def test_what_em_climbs_never_falls(problem, smoothing, start):
    sentences, words, known, weight, L, order = problem
    text = text_of(sentences, words, L, known)
    limits = {"weight": weight, **NO_TOLERANCE}
    found = em(text, order, L, smoothing=smoothing, start=start, limits=limits)
    assert len(found.map_values) == len(found.iterations)
    assert (np.diff(found.map_values) >= -1e-9 * np.maximum(1, np.abs(found.map_values[1:]))).all()
    if not smoothing:
        assert found.map_values == likelihoods(found)
    for table in (found.model.transition, *found.model.emissions):
        total = table.sum(axis=-1)
        if len(found.iterations) > 1:  # a uniform start has rows that sum to less
            assert ((np.abs(total - 1) < 1e-12) | (total == 0)).all()
    assert found.model.is_consistent()


@given(problems(), st.sampled_from([0, 2.0]))
@settings(max_examples=40, deadline=None)
def test_annealing_climbs_what_is_tempered(problem, smoothing):
    """(1/β) log Σ p^β + λ Σ log p, a bound that each step at β raises."""
    sentences, words, known, weight, L, order = problem
    hidden = HiddenText(text_of(sentences, words, L, known), list(range(L)), order, None, smoothing, weight, None)
    hmm, values = hidden.start("random", np.random.default_rng(2)), []
    for _ in range(8):
        value, counts = hidden.expected(hmm, 0.4)
        values.append(value / 0.4 + hidden.log_prior(hmm))
        hmm = hidden.maximized(counts)
    assert (np.diff(values) >= -1e-9 * np.maximum(1, np.abs(values[1:]))).all()


def test_counts_that_vanish_become_zero():
    """Numbers near the smallest would send every pass to the slow kernel."""
    found = toy(limits={"max_iter": 400, "tol": 0.0})
    tables = [found.model.transition, *found.model.emissions]
    assert min(table[table > 0].min() for table in tables) > 1e-61
    assert found.iterations[-1].active < found.iterations[0].active


def test_the_gradient_vanishes_at_the_end():
    found = toy(1, smoothing=1, limits={"max_iter": 3000, "tol": 1e-15})
    norms = [i.gradient_norm for i in found.iterations]
    assert norms[0] > 0.1
    assert norms[-1] < 1e-5


# ---------------------------------------------------------------------- hmmlearn


def without_stop(hmm):
    """Start, transitions and emissions of a first-order HMM given that sentences go on, and no word is unknown."""
    t, e = hmm.transition[0, :, :-1], hmm.emissions[0][:, : len(hmm.values[0]) - 1]
    return t[-1] / t[-1].sum(), t[:-1] / t[:-1].sum(axis=1, keepdims=True), e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_steps_equal_those_of_hmmlearn(smoothing):
    """hmmlearn has no STOP: one that every label has alike changes no posterior, so it is set anew each step."""
    peer = pytest.importorskip("hmmlearn.hmm")
    rng, L, V, stop = np.random.default_rng(3), 3, 5, 0.25
    lengths = [1, 4, 7, 12]
    words = np.concatenate([np.arange(V), rng.integers(0, V, sum(lengths) - V)])
    cuts = np.cumsum(lengths)[:-1]
    sentences = [[str(w) for w in s] for s in np.split(words, cuts)]
    hidden = HiddenText(text_of(sentences, L=L), list(range(L)), 1, None, smoothing, None, None)
    theirs = peer.CategoricalHMM(
        L, n_iter=1, init_params="", n_features=V, startprob_prior=1 + smoothing, transmat_prior=1 + smoothing,
        emissionprob_prior=1 + smoothing,
    )  # fmt: skip
    ours = hidden.start("random", rng)
    assert ours.values[0].strings == [*map(str, range(V)), "<oov>"]
    for _ in range(5):
        theirs.startprob_, theirs.transmat_, theirs.emissionprob_ = without_stop(ours)
        go_on = np.concatenate([theirs.transmat_ * (1 - stop), np.full((L, 1), stop)], axis=1)
        transition = np.concatenate([go_on, [[*theirs.startprob_, 0.0]]])
        ours = HMM.of(ours.labels, transition, [theirs.emissionprob_], [[*map(str, range(V))]])
        steps = len(lengths) * math.log(stop) + (sum(lengths) - len(lengths)) * math.log(1 - stop)
        value, counts = hidden.expected(ours, 1.0)
        assert value == pytest.approx(theirs.score(words[:, None], lengths) + steps, abs=1e-9)
        ours = hidden.maximized(counts)
        theirs.fit(words[:, None], lengths)
        for mine, other in zip(
            without_stop(ours), (theirs.startprob_, theirs.transmat_, theirs.emissionprob_), strict=True
        ):
            np.testing.assert_allclose(mine, other, atol=1e-9)


# ---------------------------------------------------------------------- starts


def test_several_starts_keep_the_best():
    found, again, other = (toy(starts=4, start="per-tag", seed=seed) for seed in (0, 0, 1))
    assert len(found.starts) == 4
    assert found.log_likelihood == max(found.starts) > found.starts[0] == toy(start="per-tag").log_likelihood
    assert found.starts == again.starts
    assert found.starts[0] == other.starts[0]
    assert not set(found.starts[1:]) & set(other.starts[1:])
    assert [i.number for i in found.iterations] == list(range(1, len(found.iterations) + 1))
    assert "the best of 4 starts" in found.stopped


def test_labels_that_nothing_tells_apart_start_at_random():
    found = em(text_of(TOY), smoothing=0)
    assert "(0, 1, 2) started at random" in found.stopped
    rows = found.model.emissions[0]
    assert min(np.abs(rows[a] - rows[b]).max() for a, b in ((0, 1), (0, 2), (1, 2))) > 0.1
    assert "random" not in em(text_of(TOY), smoothing=0, start="random").stopped
    half = text_of(TOY, TOY_WORDS | {"b": [1, 2], "d": [1, 2]})
    hidden = HiddenText(half, [0, 1, 2], 2, None, 0.0, None, None)
    assert hidden.alike.tolist() == [False, True, True]
    e = hidden.start("uniform", np.random.default_rng(0)).emissions[0]
    np.testing.assert_allclose(
        e.sum(axis=1),
        [
            0.25,
            0.75,
            0.75,
        ],
    )
    assert np.abs(e[1] - e[2]).max() > 0.01
    assert "(1, 2) started at random" in em(half, smoothing=0).stopped
    parted = em(text_of(TOY, known={(0, 0): [0], (0, 1): [1]}), smoothing=0)
    assert "random" not in parted.stopped
    assert "random" not in em(text_of(TOY, TOY_WORDS, L=5), L=5).stopped  # labels without words need no start


def test_words_of_other_text_are_words_of_the_model():
    words = TOY_WORDS | {"z": [2]}
    with_z = em(text_of(TOY, words, more=[["z"]]), smoothing=0.5)
    z = with_z.model.values[0].code("z")
    assert with_z.model.emissions[0][:, z] == pytest.approx([0, 0, with_z.model.emissions[0][2, z]])
    assert 0 < with_z.model.emissions[0][2, z] < 0.2
    assert em(text_of(TOY, words, more=[["z"]]), smoothing=0).model.emissions[0][:, z].tolist() == [0, 0, 0]


def test_unknown_words_have_any_label_if_smoothed():
    assert own_likelihood(toy(smoothing=0.1).model, [["unknown"]]) > -math.inf
    assert (toy(smoothing=0.1).model.emissions[0][:, -1] > 0).all()
    assert own_likelihood(toy().model, [["unknown"]]) == -math.inf


# ---------------------------------------------------------------------- weights, labels known in part


def test_a_weight_is_a_number_of_copies():
    for smoothing in (0, 0.5):
        weighted = em(text_of(TOY, TOY_WORDS), smoothing=smoothing, limits={"weight": np.array([3, 1, 0])})
        copies = em(text_of([TOY[0]] * 3 + [TOY[1]], TOY_WORDS), smoothing=smoothing)
        assert weighted.log_likelihood == pytest.approx(copies.log_likelihood, rel=1e-9)
        np.testing.assert_allclose(weighted.model.transition, copies.model.transition, atol=1e-9)


def test_sentences_without_words_say_nothing():
    text = text_of([TOY[0], [], *TOY[1:]], TOY_WORDS)
    assert em(text, smoothing=0).log_likelihood == toy().log_likelihood


def test_labels_of_a_few_sentences_name_the_rest():
    """x and y alternate; one labelled sentence decides which label has which, without a dictionary."""
    sentences = [list("xyxy"), list("yxyxy"), list("xyx"), list("yx")] * 4
    for x in (0, 1):
        text = text_of(sentences, L=2, known={(0, 0): [x], (0, 1): [1 - x]})
        e = em(text, 1, 2, smoothing=0.01, limits={"tol": 1e-8}).model.emissions[0]
        assert e[x, 0] > 0.95
        assert e[1 - x, 1] > 0.95


# ---------------------------------------------------------------------- annealing


def test_annealing_ends_with_the_likelihood():
    seen = []
    limits = {"callback": lambda iteration, hmm: seen.append((iteration, hmm))}
    found = toy(annealing=0.1, limits=limits)
    assert found.converged
    assert len(found.iterations) > len(toy().iterations)
    for iteration, hmm in seen[::10]:
        assert -iteration.value == pytest.approx(own_likelihood(hmm, TOY), rel=1e-12)
    short = toy(annealing=0.1, limits={"max_iter": 3})
    assert not short.converged
    assert "annealing was at 0.1" in short.stopped


def test_annealing_goes_through_its_rounds(monkeypatch):
    used, expected = [], HiddenText.expected
    monkeypatch.setattr(HiddenText, "expected", lambda self, hmm, beta: used.append(beta) or expected(self, hmm, beta))
    toy(annealing=0.2, annealing_rate=2)
    assert sorted(set(used)) == pytest.approx([0.2, 0.4, 0.8, 1.0])
    assert used == sorted(used)
    assert min(used.count(beta) for beta in used) > 1


def test_annealing_at_one_is_em():
    assert likelihoods(toy(annealing=1.0, annealing_rate=3)) == likelihoods(toy())


# ---------------------------------------------------------------------- how it runs


def test_tolerance_is_of_the_likelihood():
    for smoothing in (0, 3):
        found = toy(smoothing=smoothing, limits={"tol": 1e-3})
        changes = np.abs(np.diff(likelihoods(found))) / np.abs(likelihoods(found)[1:])
        assert changes[-1] <= 1e-3 < changes[:-1].min()
        assert "tol = 0.001" in found.stopped


def test_a_text_explained_wholly_ends_the_climb():
    """The log-likelihood goes to zero, beside which no change is small but zero."""
    found = em(text_of([["a", "b"]] * 2, L=2), L=2, smoothing=0)
    assert found.converged
    assert found.log_likelihood == pytest.approx(0, abs=1e-9)


def test_limits_and_requests():
    found = toy(limits={"max_iter": 3})
    assert (len(found.iterations), found.converged) == (3, False)
    assert "max_iter = 3" in found.stopped
    asked = toy(starts=5, limits={"stop": lambda: "interrupted by SIGINT"})
    assert (len(asked.iterations), len(asked.starts), asked.converged) == (1, 1, False)
    assert asked.stopped.startswith("interrupted by SIGINT")

    def stop(iteration, hmm):
        if iteration.number == len(toy().iterations) + 2:
            raise StopTraining("enough")

    ended = toy(starts=5, limits={"callback": stop})
    assert len(ended.starts) == 2
    assert ended.log_likelihood == max(ended.starts) == toy().log_likelihood
    assert not ended.converged
    assert ended.stopped.startswith("enough")


def test_the_same_numbers_with_one_thread_and_two():
    rng = np.random.default_rng(0)
    sentences = [["abcd"[w] for w in rng.integers(0, 4, n)] for n in rng.integers(1, 12, 300)]
    one, two = (em(text_of(sentences, TOY_WORDS), threads=Threads(n), limits=NO_TOLERANCE) for n in (1, 2))
    assert likelihoods(one) == likelihoods(two)
    assert one.model.transition.tobytes() == two.model.transition.tobytes()


@pytest.mark.parametrize(
    ("chosen", "part"),
    [
        ({"starts": 0}, "starts is 0"),
        ({"annealing": 0}, "annealing is 0"),
        ({"annealing": 1.5}, "annealing is 1.5"),
        ({"annealing_rate": 1}, "annealing_rate is 1"),
        ({"start": "zero"}, "uniform, per-tag, random"),
        ({"smoothing": -1}, "smoothing is -1"),
        ({"columns": "4"}, "no column 4"),
    ],
)
def test_wrong_settings(chosen, part):
    with pytest.raises(LoglinError, match=part):
        toy(**chosen)


def test_wrong_orders_and_empty_text():
    with pytest.raises(LoglinError, match="order 3"):
        toy(3)
    with pytest.raises(LoglinError, match="nothing to learn from"):
        em(text_of(TOY, TOY_WORDS), limits={"weight": np.zeros(3)})


def test_columns():
    sentences = [[("a", "X"), ("b", "Y")], [("b", "X")]]
    text = text_of(sentences, L=2)
    assert em(text, L=2, columns="1").model.columns == [1]
    assert em(text, L=2, columns=[1]).model.values[0].strings == ["X", "Y", "<oov>"]
    assert em(text, L=2).model.columns == [0, 1]


def test_saved_and_decoded(tmp_path):
    hmm = toy(smoothing=0.1).model
    n, nothing = hmm.extractor.n_attributes, np.empty(0, np.int32)
    index = FeatureIndex(
        3, np.zeros(n + 1, np.int64), nothing.astype(np.uint16), np.zeros(1, np.int64), nothing, nothing,
        np.empty(0, np.int64),
    )  # fmt: skip
    Model("tag", hmm.labels, hmm.extractor, index, np.empty(0, np.float32), 1, {}, hmm).save(tmp_path / "em.model")
    model = Model.load(tmp_path / "em.model")
    corpus = from_sentences([*TOY, list("abxba")])
    assert model.base.transition.tobytes() == hmm.transition.tobytes()
    assert Decoder(model).best(model.extractor.transform(corpus)).tolist() == hmm.predict(corpus).tolist()


# ---------------------------------------------------------------------- the treebank


@pytest.fixture(scope="module")
def treebank():
    """The first 24K words, labels, their lattices, gold codes, and the labels that each token may have."""
    try:
        whole = datasets.load("treebank")
    except LoglinError as missing:
        pytest.skip(str(missing))
    labels, gold = gold_of_column(whole.columns[1])
    n = int(np.searchsorted(whole.offsets, 24_000))
    words = Corpus(whole.columns[:1], whole.offsets, whole.source).select(np.arange(n))
    types = TokenTypes.of(words)
    allowed = TagDictionary.of(whole.columns[0], gold, 1).allowed(types.corpus.columns[0])
    return (
        words,
        labels,
        LatticeText.of(types, words.offsets, allowed),
        gold.codes[: words.n_tokens],
        allowed[types.codes],
    )


def ambiguous_accuracy(treebank, hmm):
    words, _, _, gold, allowed = treebank
    right = hmm.predict(words) == gold
    return 100 * right[allowed.sum(axis=1) > 1].mean()


def test_treebank(treebank):
    words, labels, text, _, _ = treebank
    assert (words.n_tokens, words.n_sentences, len(labels)) == (24_020, 1021, 45)
    found = maximized(text, labels, 2, {"smoothing": 0, "start": "per-tag"}, 0, Threads(2))
    assert found.converged
    assert found.log_likelihood == pytest.approx(-136_294, rel=1e-3)
    assert ambiguous_accuracy(treebank, found.model) == pytest.approx(62.5, abs=1)


def test_treebank_smoothed_to_convergence(treebank):
    """A test on the MAP value would stop at 79.3."""
    _, labels, text, _, _ = treebank
    chosen = {"smoothing": 3, "start": "uniform"}
    found = maximized(text, labels, 2, chosen, 0, Threads(2), tol=1e-6)
    assert (np.diff(found.map_values) >= 0).all()
    assert ambiguous_accuracy(treebank, found.model) == pytest.approx(85.1, abs=1)
