"""Language models against enumeration: features, probabilities, gradients, caches, files, samples."""

from __future__ import annotations

import contextlib
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin import LanguageModel, LoglinError, MaxEnt, Tagger, load
from loglin.corpus.plaintext import Text, from_lines
from loglin.features.histories import Classes, HistoryExtractor
from loglin.features.triggers import Triggers, information
from loglin.features.words import Words
from loglin.generative.ngram import NGramModel
from loglin.models.cache import AGES, N_FEATURES, RANKS, TIMES, CacheModel, cached_mass
from loglin.models.next_word import NextWordModel
from loglin.objectives.cache import CacheLikelihood
from loglin.objectives.next_word import NextWordLikelihood
from loglin.problems.histories import LanguageOptions, inverse_variances
from loglin.threads import Threads

KINDS = (
    "bigram", "trigram", "5-gram", "skip", "skip-3", "skip-1-3", "suffix", "prefix", "class", "class-pair", "trigger",
    "document",
)  # fmt: skip
CLASSES = {"aa": "A", "ba": "B", "Bab": "B", "c": "A"}
WORDS = ["aa", "ba", "Bab", "c", "cab", "d"]
LINES = [
    "#! author=A topic=x", "the cat sat on the mat", "the dog sat on the cat", "", "#! author=B", "a bird sang",
    "the bird sat on a cat", "",
] * 3  # fmt: skip

sentences = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), min_size=1, max_size=4)
attributes = st.dictionaries(st.sampled_from(["by", "on"]), st.sampled_from(["x", "y"]), max_size=2)
texts = st.lists(st.tuples(attributes, sentences), min_size=1, max_size=3)


def text_of(documents: oracle.Documents) -> Text:
    lines: list = []
    for given_attributes, said in documents:
        marks = " ".join(f"{k}={v}" for k, v in given_attributes.items())
        lines += [f"#! {marks}", *said, []]
    return from_lines(lines)


def built(documents, kinds, vocabulary, window=4, min_count=1):
    """An extractor fitted to a text, its running text and the counts of its features."""
    text = text_of(documents)
    words = Words.most_frequent(text, vocabulary)
    running = words.encode(text)
    triggers = Triggers.choose(running, len(words.names), window, 6, 1) if "trigger" in kinds else None
    extractor = HistoryExtractor(words, tuple(kinds), Classes.of(CLASSES), triggers)
    return extractor, running, extractor.fit(running, dict.fromkeys(kinds, min_count))


def described(extractor, numbers) -> dict:
    """{(attribute, word): number} of a vector over features."""
    strings, n = extractor.words.strings, extractor.words.n_predicted
    found = {("unigram", strings[w]): float(numbers[w]) for w in range(n)}
    for a in range(len(extractor.ptr) - 1):
        for i in range(extractor.ptr[a], extractor.ptr[a + 1]):
            found[extractor.name(a), strings[extractor.targets[i]]] = float(numbers[n + i])
    return found


def enumerated(extractor, documents, kinds, window=4):
    """For every token the names of its history's attributes, and the word as it is predicted."""
    known = set(extractor.words.names.strings)
    triggers = [
        n.removeprefix("trigger=") for n in map(extractor.name, range(len(extractor.ptr) - 1)) if "trigger=" in n
    ]
    for d, s, t, word in oracle.positions(documents):
        names = oracle.history_names(kinds, documents, d, s, t, known, CLASSES, window, triggers)
        yield names, word if word in known or word == "</s>" else "<unk>"


# ---------------------------------------------------------------------- features, probabilities, gradients


def check_all(documents, kinds, vocabulary, seed, min_count=1):
    extractor, running, observed = built(documents, kinds, vocabulary, min_count=min_count)
    weights = np.random.default_rng(seed).normal(size=len(observed))
    by_name, predicted = described(extractor, weights), extractor.words.strings[:-1]
    counts, expected, log_p = Counter(), Counter(), []
    for names, word in enumerated(extractor, documents, kinds):
        p = oracle.next_word(names, predicted, by_name)
        log_p.append(math.log(p[word]))
        counts.update((name, word) for name in [*names, "unigram"])
        for name in [*names, "unigram"]:
            expected.update({(name, w): p[w] for w in predicted if (name, w) in by_name})
    own = described(extractor, observed)
    assert {k: v for k, v in own.items() if v} == {
        k: v for k, v in counts.items() if k in own or (v >= min_count and not k[0].startswith("trigger="))
    }
    model = NextWordModel(extractor, weights)
    np.testing.assert_allclose(model.log_probabilities(running, np.arange(len(running) + 1), running.words), log_p)
    tree, _ = extractor.tree(running)
    criterion = NextWordLikelihood(tree, extractor.ptr, extractor.targets, observed, Threads(1))
    value, gradient = criterion(weights)
    assert value == pytest.approx(-math.fsum(log_p))
    for key, slope in described(extractor, gradient).items():
        assert slope == pytest.approx(expected[key] - counts[key], abs=1e-9)
    return criterion, weights


@settings(max_examples=25, deadline=None)
@given(texts, st.sampled_from(KINDS), st.integers(1, 7), st.integers(0, 99), st.integers(1, 2))
def test_each_kind(documents, kind, vocabulary, seed, min_count):
    check_all(documents, [kind], vocabulary, seed, min_count)


@settings(max_examples=25, deadline=None)
@given(texts, st.lists(st.sampled_from(KINDS), unique=True, max_size=8), st.integers(1, 7), st.integers(0, 99))
def test_kinds_together(documents, kinds, vocabulary, seed):
    criterion, weights = check_all(documents, kinds, vocabulary, seed)
    _, gradient = criterion(weights)
    for i in np.random.default_rng(seed).integers(len(weights), size=5):
        step = np.zeros(len(weights))
        step[i] = 1e-5
        slope = (criterion(weights + step)[0] - criterion(weights - step)[0]) / 2e-5
        assert slope == pytest.approx(gradient[i], abs=1e-5)


def test_any_number_of_threads_gives_the_same_bits():
    extractor, running, observed = built([({}, [s.split() for s in LINES if s and s[0] != "#"])], KINDS[:10], 8)
    tree, _ = extractor.tree(running)
    weights = np.random.default_rng(0).normal(size=len(observed))
    values = []
    for n in (1, 2, 3):
        criterion = NextWordLikelihood(tree, extractor.ptr, extractor.targets, observed, Threads(n))
        assert len(criterion.chunks) > 1
        values.append(criterion(weights))
    assert all(value == values[0][0] and np.array_equal(g, values[0][1]) for value, g in values)


@pytest.mark.without_jit
@pytest.mark.parametrize("size", [30.0, 200.0])
def test_large_weights_neither_overflow_nor_cancel(size):
    documents = [({}, [["aa", "ba"], ["aa", "c", "aa", "ba"]])]
    extractor, running, observed = built(documents, ["bigram", "trigram", "class"], 4)
    for sign in (1, -1):
        weights = np.zeros(len(observed))
        weights[extractor.words.n_predicted :] = sign * size  # of −200, what is left of Z would be rounding alone
        by_name = described(extractor, weights)
        model = NextWordModel(extractor, weights)
        found = model.log_probabilities(running, np.arange(len(running) + 1), running.words)
        names = enumerated(extractor, documents, ["bigram", "trigram", "class"])
        for log_p, (attributes_of, word) in zip(found, names, strict=True):
            scores = {w: sum(by_name.get((a, w), 0.0) for a in attributes_of) for w in extractor.words.strings[:-1]}
            assert log_p == pytest.approx(scores[word] - oracle.log_sum(list(scores.values())), abs=1e-8)


def test_mutual_information():
    table = np.array([[30, 20], [10, 40]])  # a or not, b or not
    p = table / table.sum()
    truth = (p * np.log(p / (p.sum(axis=1, keepdims=True) * p.sum(axis=0)))).sum()
    assert information(np.array([30]), 50, np.array([40]), 100)[0] == pytest.approx(truth)
    assert information(np.array([10]), 50, np.array([40]), 100)[0] < 0


def test_triggers_find_what_announces_what():
    lines = ["so rain", "so umbrella", "", "so sun", "so hat", ""] * 12
    text = from_lines(lines)
    words = Words.most_frequent(text, 100)
    chosen = Triggers.choose(words.encode(text), len(words.names), 10, 2, 12)
    pairs = {(words.strings[a], words.strings[b]) for a, b in zip(*chosen.pairs[:2], strict=True)}
    assert pairs == {("rain", "umbrella"), ("sun", "hat")}


# ---------------------------------------------------------------------- counted models


@pytest.mark.without_jit
@settings(max_examples=20, deadline=None)
@given(sentences, st.integers(1, 4), st.booleans(), st.integers(1, 7))
def test_kneser_ney(said, order, modified, vocabulary):
    text = text_of([({}, said)])
    words = Words.most_frequent(text, vocabulary)
    running, predicted, known = words.encode(text), words.strings[:-1], set(words.names.strings)
    model = NGramModel.count(running, words, order, modified)
    shown = [[w if w in known else "<unk>" for w in sentence] for sentence in said]
    p = oracle.kneser_ney(shown, order, modified, len(predicted))
    ptr = np.arange(len(running) + 1) * len(predicted)
    found = np.exp(model.log_probabilities(running, ptr, np.tile(np.arange(len(predicted)), len(running))))
    np.testing.assert_allclose(found.reshape(len(running), -1).sum(axis=1), 1)
    histories = [("<s>",) * order + tuple(s[:t]) for s in shown for t in range(len(s) + 1)]
    truth = [p(w, h[len(h) - order + 1 :] if order > 1 else ()) for h in histories for w in predicted]
    np.testing.assert_allclose(found, truth)


# ---------------------------------------------------------------------- the cache


@settings(max_examples=20, deadline=None)
@given(texts, st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_cache(documents, vocabulary, window, seed):
    text = text_of(documents)
    words = Words.most_frequent(text, vocabulary)
    running, predicted = words.encode(text), words.strings[:-1]
    base = NGramModel.count(running, words, 2)
    theta = np.random.default_rng(seed).normal(size=N_FEATURES)
    ptr = np.arange(len(running) + 1) * len(predicted)
    every = np.tile(np.arange(len(predicted), dtype=np.int32), len(running))
    p = np.exp(base.log_probabilities(running, ptr, every)).reshape(len(running), -1)
    q = np.exp(CacheModel(base, window, theta).log_probabilities(running, ptr, every)).reshape(len(running), -1)
    mass, hit = cached_mass(base, window, running)
    truth = np.zeros_like(mass)
    for row, (d, s, t, word) in enumerate(oracle.positions(documents)):
        last = oracle.recent(documents, d, s, t, set(words.names.strings), window)
        scores = p[row].copy()
        expected_hit = -1
        for w in set(last):
            age, times, rank = last[::-1].index(w) + 1, last.count(w), predicted.index(w)
            f = (sum(times >= TIMES) * (len(AGES) + 1) + sum(age >= AGES)) * (len(RANKS) + 1) + sum(rank >= RANKS)
            scores[rank] *= np.exp(theta[f])
            truth[row, f] += p[row, rank]
            expected_hit = f if w == word else expected_hit
        np.testing.assert_allclose(q[row], scores / scores.sum())
        assert hit[row] == expected_hit
    np.testing.assert_allclose(mass, truth)
    own = np.log(q[np.arange(len(q)), running.words] / p[np.arange(len(p)), running.words])
    value, gradient = CacheLikelihood(mass, hit)(theta)
    assert value == pytest.approx(-own.sum())
    step = 1e-5 * np.random.default_rng(1).normal(size=N_FEATURES)
    slope = (CacheLikelihood(mass, hit)(theta + step)[0] - CacheLikelihood(mass, hit)(theta - step)[0]) / 2
    assert slope == pytest.approx(float(gradient @ step), abs=1e-9)


@pytest.mark.without_jit
def test_a_cache_in_blocks_is_the_same(monkeypatch):
    text = from_lines(LINES * 2)
    words = Words.most_frequent(text, 6)
    running = words.encode(text)
    announced = LanguageModel(features=("trigger",), vocabulary=6, trigger_window=20, min_count=1, max_iter=5).fit(text)
    for base in (NGramModel.count(running, words, 3), announced.model_):
        model = CacheModel(base, 7, np.linspace(-1, 2, N_FEATURES))
        monkeypatch.setattr("loglin.models.cache.BLOCK", 10**6)
        whole = model.log_probabilities(running, np.arange(len(running) + 1), running.words)
        monkeypatch.setattr("loglin.models.cache.BLOCK", 10)
        np.testing.assert_allclose(model.log_probabilities(running, np.arange(len(running) + 1), running.words), whole)


# ---------------------------------------------------------------------- the estimator

EVERYTHING = (*KINDS, "cache")
SETTINGS = [
    {},
    {"features": EVERYTHING, "classes": {"cat": "N", "dog": "N"}, "min_count": 1, "window": 5, "trigger_window": 7},
    {"criterion": "kneser-ney", "features": ("bigram", "trigram", "cache")},
    {"criterion": "modified-kneser-ney"},
    {"features": ()},
    {"vocabulary": 1},
]


@pytest.fixture(scope="module", params=range(len(SETTINGS)), ids=lambda i: str(sorted(SETTINGS[i]))[:40])
def fitted(request):
    return LanguageModel(**SETTINGS[request.param]).fit(LINES)


HISTORIES = [
    "",
    "the",
    "the cat",
    "#! author=B\na bird sang\nthe bird",
    "#! author=Nobody\nan unknown word",
    ["the", "cat"],
]


@pytest.mark.without_jit
@pytest.mark.parametrize("history", HISTORIES, ids=repr)
def test_next_words_sum_to_one_and_are_explained(fitted, history):
    ranked = fitted.next(history, 100)
    assert math.fsum(p for _, p in ranked) == pytest.approx(1)
    assert [p for _, p in ranked] == sorted((p for _, p in ranked), reverse=True)
    assert len(ranked) == len(fitted.vocabulary_)
    for word, p in ranked[:3]:
        assert fitted.probability(history, word) == pytest.approx(p)
        assert math.exp(math.fsum(v.weight for v in fitted.explain(history, word))) == pytest.approx(p)


def test_without_cache():
    both = LanguageModel(features=("bigram", "cache"), window=5).fit(LINES)
    plain = both.without_cache()
    assert plain.perplexity(LINES) == pytest.approx(LanguageModel(features=("bigram",)).fit(LINES).perplexity(LINES))
    assert plain.perplexity(LINES) != both.perplexity(LINES)
    assert plain.features == ("bigram",)
    assert plain.without_cache() is plain


def test_chain_rule(fitted):
    words = ["the", "cat", "yodels", "</s>"]
    steps = [math.log(fitted.probability(words[:t], w)) for t, w in enumerate(words)]
    assert fitted.score("the cat yodels") == pytest.approx(math.fsum(steps))
    whole = fitted.evaluate(["the cat yodels", "", "the dog"])
    assert fitted.scores(["the cat yodels", "", "the dog"]).sum() == pytest.approx(whole.log_probability)
    assert whole.perplexity == pytest.approx(math.exp(-whole.log_probability / 7))
    assert whole.tokens == 7
    assert whole.unknown == (1 if len(fitted.vocabulary_) > 3 else 3)
    assert fitted.perplexity(LINES) < len(fitted.vocabulary_)


def test_files(fitted, tmp_path):
    fitted.save(tmp_path / "lm.model")
    again = load(tmp_path / "lm.model")
    assert isinstance(again, LanguageModel)
    for history in HISTORIES:
        assert again.next(history) == fitted.next(history)
        assert again.explain(history, "cat") == fitted.explain(history, "cat")
    assert again.perplexity(LINES) == fitted.perplexity(LINES)
    assert list(again.features) == list(fitted.features)
    assert again.record_["tokens"] == fitted.record_["tokens"]
    again.save(tmp_path / "second.model")
    assert load(tmp_path / "second.model").score("the cat") == fitted.score("the cat")


def test_samples_follow_the_probabilities(fitted):
    drawn = fitted.sample(150, history="the", seed=3, unknown=True, max_length=2)
    counts = Counter(s[1] if len(s) > 1 else "</s>" for s in drawn)
    squares = 0.0
    for word, p in fitted.next("the", 100):
        squares += (counts[word] - 150 * p) ** 2 / (150 * p)
    freedom = len(fitted.vocabulary_) - 1
    assert squares < freedom + 5 * math.sqrt(2 * freedom) + 5  # χ²
    assert drawn == fitted.sample(150, history="the", seed=3, unknown=True, max_length=2)
    assert not any("<unk>" in s for s in fitted.sample(5, seed=1, max_length=20))


def test_temperature():
    model = LanguageModel().fit(LINES)
    best = model.next("the", 1)[0][0]
    assert all(s[1] == best for s in model.sample(20, history="the", seed=0, temperature=0.01, max_length=2))


def test_parameters_are_sklearns():
    from sklearn.base import clone

    model = LanguageModel(features=("bigram",), variances={"bigram": 2.0})
    assert clone(model).get_params() == model.get_params()


def test_variances_and_counts():
    options = LanguageOptions(
        features=("bigram", "trigram", "5-gram", "skip-3"), variances={"trigram": 4.0}, min_count={"skip-3": 7}
    )
    extractor, _, _ = built([({}, [["aa", "ba"]])], ["bigram", "trigram"], 4)
    assert set(inverse_variances(extractor, options)) == {1 / 10, 1 / options.variance("bigram"), 1 / 4}
    assert options.count("skip-3") == 7
    assert LanguageOptions(min_count=3).count("bigram") == 3
    strict, loose = (LanguageModel(features=("bigram",), variances={"bigram": v}).fit(LINES) for v in (0.01, 100.0))
    assert loose.perplexity(LINES) < strict.perplexity(LINES)


def test_an_interrupted_fit_keeps_what_it_has():
    from loglin.optimize.record import StopTraining

    def stop(iteration):
        if iteration.number == 3:
            raise StopTraining("enough")

    model = LanguageModel(callbacks=[stop]).fit(LINES)
    assert model.record_["stopped"] == "enough"
    assert model.record_["iterations"] == 3
    assert model.perplexity(LINES) < len(model.vocabulary_)


def test_documents_matter():
    model = LanguageModel(features=("bigram", "document"), min_count=1).fit(LINES)
    assert model.probability("#! author=B\n", "a") > 2 * model.probability("#! author=A\n", "a")


def test_classes_from_tags():
    lines = ["the/D cat/N sat/V", "a/D dog/N sat/V", "the/D dog/N sang/V"] * 3
    model = LanguageModel(features=("class",), tagged=True, min_count=1).fit(lines)
    assert model.model_.extractor.classes.names.strings == ["D", "N", "V"]
    assert "class=N" in [v.feature for v in model.explain("the cat", "sat")]


@pytest.mark.parametrize(
    ("given_settings", "lines", "parts"),
    [
        ({}, [], ["no words", "sentence"]),
        ({}, ["", "#! a=b", ""], ["no words"]),
        ({"criterion": "crf"}, LINES, ["'crf'", "kneser-ney"]),
        ({"features": ("bigram", "sufix")}, LINES, ["'sufix'", "suffix"]),
        ({"features": "bigram"}, LINES, ["'bigram'", "list"]),
        ({"features": ("class",)}, LINES, ["classes", "tagged"]),
        ({"criterion": "kneser-ney", "features": ("skip",)}, LINES, ["skip", "likelihood"]),
        ({"vocabulary": 0}, LINES, ["vocabulary", "0"]),
        ({"vocabulary": 2.5}, LINES, ["vocabulary", "2.5"]),
        ({"variances": {"bigram": -1}}, LINES, ["bigram", "-1"]),
        ({"variances": {"skip": 1}}, LINES, ["'skip'", "leave"]),
        ({"variances": {"bigram": math.nan}}, LINES, ["nan"]),
        ({"min_count": {"bigram": 0}}, LINES, ["min_count of bigram", "0"]),
        ({"tol": math.inf}, LINES, ["tol", "inf"]),
        ({"max_iter": 0}, LINES, ["max_iter", "0"]),
        ({"window": 0}, LINES, ["window", "0"]),
        ({"features": ("cache",)}, ["only one sentence"], ["cache", "more text"]),
        ({"tagged": True}, ["a/b c"], ["line 1", "'c'"]),
    ],
)
def test_refusals(given_settings, lines, parts):
    with pytest.raises(LoglinError) as caught:
        LanguageModel(**given_settings).fit(lines)
    assert all(part in str(caught.value) for part in parts), caught.value
    assert ";" in str(caught.value)


def test_more_refusals(tmp_path):
    model = LanguageModel(features=("bigram",)).fit(["a b", "a"])
    for call, part in (
        (lambda: model.perplexity([""]), "no words"),
        (lambda: model.score(""), "no words"),
        (lambda: model.sample(temperature=0), "temperature"),
        (lambda: model.next([3]), "3"),
    ):
        with pytest.raises(LoglinError, match=part):
            call()
    assert len(model.scores([""])) == 0
    model.save(tmp_path / "lm")
    for other in (Tagger, MaxEnt):
        with pytest.raises(LoglinError, match="language model"):
            other.load(tmp_path / "lm")


def test_damaged_files(tmp_path, fitted):
    fitted.save(tmp_path / "lm")
    whole = (tmp_path / "lm").read_bytes()
    length = int.from_bytes(whole[:8], "little")
    rng = np.random.default_rng(0)
    for cut in (0, 9, length // 2, length + 8, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:cut])
        with pytest.raises(LoglinError, match=r"[;]"):
            LanguageModel.load(tmp_path / "cut")
    for _ in range(60):
        broken = bytearray(whole)
        for place in rng.integers(8 + length, len(whole), size=8):
            broken[place] = rng.integers(256)
        (tmp_path / "broken").write_bytes(broken)
        try:
            model = LanguageModel.load(tmp_path / "broken")
        except LoglinError:
            continue
        with contextlib.suppress(LoglinError):  # either refused, or probabilities still
            assert math.fsum(p for _, p in model.next("the cat", 99)) == pytest.approx(1, abs=1e-6)


def test_samples_go_on_after_attributes_and_lists_of_tokens():
    lines = ["#! author=A", "the cat sat", "the dog sat", "", "#! author=B", "a cat ran", "a dog ran", ""] * 4
    model = LanguageModel(features=("bigram", "document"), min_count=1).fit(lines)
    after = model.sample(3, history="#! author=A", seed=1)
    assert after == model.sample(3, history="#! author=A\n", seed=1)
    assert model.next("#! author=A") == model.next("#! author=A\n")
    assert model.sample(2, history=["the", "cat"], seed=1) == model.sample(2, history="the cat", seed=1)


def test_a_sampled_sentence_may_begin_like_attributes():
    model = LanguageModel(features=("bigram", "trigram")).fit([["#!", "x", "y"]] * 20)
    assert ["#!", "x", "y"] in model.sample(5, seed=1)
    assert model.next("\\#! x") == model.next(["#!", "x"])


def test_the_smallest_temperature_takes_the_likeliest_word():
    model = LanguageModel().fit(["the cat sat", "the cat ran", "the cat sat"])
    assert model.sample(1, seed=1, temperature=1e-320) == model.sample(1, seed=1, temperature=1e-3)


def test_counts_may_be_numpy_numbers():
    options = [LanguageOptions(min_count=kind(4)) for kind in (int, np.int64)]
    assert [o.count("bigram") for o in options] == [4, 4]


def test_weights_that_could_not_be_loaded_are_not_saved(tmp_path):
    model = LanguageModel(max_iter=2).fit(["the cat sat", "the dog sat"])
    model.model_.weights[-1] = 300.0
    with pytest.raises(LoglinError, match="larger than 200"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
