"""Sums over derivations against hand-worked answers, plain iteration, and sampled trees."""

import numpy as np
import pytest

from loglin.errors import LoglinError
from loglin.models.pcfg import PCFG


def doubling(p):
    return PCFG.of({("S", "S", "S"): p, ("S", "a"): 1 - p})


ENGLISH = {
    ("S", "NP", "VP"): 1.0,
    ("NP", "D", "N"): 0.6,
    ("NP", "NP", "PP"): 0.2,
    ("NP", "she"): 0.2,
    ("VP", "V", "NP"): 0.5,
    ("VP", "VP", "PP"): 0.2,
    ("VP", "sleeps"): 0.3,
    ("PP", "P", "NP"): 1.0,
    ("D", "the"): 0.7,
    ("D", "a"): 0.3,
    ("N", "dog"): 0.5,
    ("N", "park"): 0.5,
    ("V", "sees"): 1.0,
    ("P", "in"): 1.0,
}


def test_answers_of_the_note():
    tight, loose = doubling(0.25), doubling(0.75)
    assert [s.tolist() for s in tight.path_sums()] == [[pytest.approx(1)], [pytest.approx(2)]]
    assert tight.expected_length() == pytest.approx(1.5)
    assert [s.tolist() for s in loose.path_sums()] == [[pytest.approx(1 / 3)], [pytest.approx(2)]]
    assert loose.expected_length() == pytest.approx(0.5)  # 1/3 · 1.5: given that it ends, p and 1 − p change places


@pytest.mark.parametrize("seed", range(5))
def test_sums_against_plain_iteration(seed):
    """i as the limit of trees of growing depth, o as the sum over depths of the mean offspring."""
    rng = np.random.default_rng(seed)
    N, V = 4, 3
    weights = rng.dirichlet(np.full(N * N + V, 0.3), N)
    weights[:, N * N :] += 0.05
    weights /= weights.sum(axis=1, keepdims=True)
    grammar = PCFG([f"A{n}" for n in range(N)], list("xyz"), weights[:, : N * N].reshape(N, N, N), weights[:, N * N :])
    i = np.zeros(N)
    for _ in range(6_000):
        i = grammar.lexical.sum(axis=1) + np.array([row.ravel() @ np.outer(i, i).ravel() for row in grammar.binary])
    np.testing.assert_allclose(grammar.inside, i, atol=1e-6)
    o, level = np.zeros(N), np.eye(N)[0]
    for _ in range(6_000):
        o += level
        children = np.zeros(N)
        for a in range(N):
            children += level[a] * (grammar.binary[a] @ i + grammar.binary[a].T @ i)
        level = children
    assert level.max() < 1e-9
    np.testing.assert_allclose(grammar.outside, o, rtol=1e-5)
    binary, lexical = grammar.expected_rules()
    below = o * i  # expected nodes of each symbol
    np.testing.assert_allclose(binary.sum(axis=(1, 2)) + lexical.sum(axis=1), below, rtol=1e-5)


def test_expected_rules_against_samples():
    grammar = PCFG.of(ENGLISH)
    np.testing.assert_allclose(grammar.inside, 1)
    rng = np.random.default_rng(0)
    names = {s: [(r, p) for r, p in ENGLISH.items() if r[0] == s] for s in grammar.symbols}
    n = 4000
    uses, lengths = {rule: np.zeros(n) for rule in ENGLISH}, np.zeros(n)
    for k in range(n):
        agenda = ["S"]
        while agenda:
            rules = names[agenda.pop()]
            rule = rules[rng.choice(len(rules), p=[p for _, p in rules])][0]
            uses[rule][k] += 1
            lengths[k] += len(rule) == 2
            agenda += rule[1:] if len(rule) == 3 else ()
    binary, lexical = grammar.expected_rules()
    for rule, counts in uses.items():
        place = [grammar.symbols.index(s) for s in rule[: 1 if len(rule) == 2 else 3]]
        found = binary[tuple(place)] if len(rule) == 3 else lexical[place[0], grammar.words.index(rule[1])]
        assert found == pytest.approx(counts.mean(), abs=4 * counts.std() / np.sqrt(n) + 1e-9), rule
    assert grammar.expected_length() == pytest.approx(lengths.mean(), abs=4 * lengths.std() / np.sqrt(n))
    assert grammar.expected_length() == pytest.approx(1 + binary.sum())  # a tree of n words has n − 1 binary rules


def test_symbols_that_never_end():
    grammar = PCFG.of(
        {("S", "S", "T"): 0.5, ("S", "a"): 0.5, ("T", "T", "T"): 1.0, ("U", "U", "V"): 1.0, ("V", "b"): 1}
    )
    np.testing.assert_allclose(grammar.inside, [0.5, 0, 0, 1], atol=1e-12)


def test_mistakes():
    def refused(call, *parts):
        with pytest.raises(LoglinError) as caught:
            call()
        assert all(part in str(caught.value) for part in parts)

    refused(lambda: PCFG.of({("S", "NP", "VP"): 1.0}), "('S', 'NP', 'VP')", "normal form")
    refused(lambda: PCFG.of({("S",): 1.0}), "('S',)", "normal form")
    refused(lambda: PCFG.of({("S", "a"): 1.5}), "1.5")
    refused(lambda: PCFG.of({("S", "a"): 0.7, ("S", "b"): 0.7}), "'S'", "1.4", "normalize")
    refused(doubling(0.5).path_sums, "no finite expected size")
