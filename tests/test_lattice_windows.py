"""Templates that look at neighboring words where labels are hidden: lattices of windows, their features, taggers."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracle
from loglin.errors import LoglinError
from loglin.neighborhoods import WordLattices, neighborhood
from loglin.neighborhoods.windows import widened

N_WORDS = 4
SENTENCES = st.lists(st.lists(st.integers(0, N_WORDS - 1), min_size=1, max_size=6), min_size=1, max_size=3)
REACH = st.integers(0, 2)


def turned(sentence):
    """A neighborhood by a function: shorter, longer and turned."""
    return [sentence[::-1], sentence[:2], [*sentence, 0], [3]]


DEFINITIONS = {
    "trans1": lambda x: oracle.exchanged(x, 1),
    "del1word": oracle.del1word,
    "delortrans1": lambda x: oracle.del1word(x) | oracle.exchanged(x, 1),
    "del1subseq": oracle.del1subseq,
    "turned": lambda x: {x, *(tuple(y) for y in turned(list(x)))},
}


def lattices_of(name, sentences):
    return neighborhood(turned if name == "turned" else name).lattices(sentences, N_WORDS)


def check_form(wide, i, observed):
    """Deterministic, in topological order, without dead states, the observed sentence on states of its own."""
    first, last = wide.states[i : i + 2]
    arcs = [
        (q - first, int(wide.symbols[a]), int(wide.targets[a]))
        for q in range(first, last)
        for a in range(wide.arcs[q], wide.arcs[q + 1])
    ]
    final = wide.final[first:last].tolist()
    assert [a[:2] for a in arcs] == sorted({a[:2] for a in arcs})
    assert all(q < r < last - first for q, _, r in arcs)
    assert {r for *_, r in arcs} == set(range(1, last - first))
    assert all(final[q] or any(a[0] == q for a in arcs) for q in range(last - first))
    assert final[0] == 0
    if observed is None:
        assert set(final) <= {0, 1}
        return
    assert final.count(2) == 1
    q = 0
    for symbol in observed:
        (r,) = [r for p, read, r in arcs if (p, read) == (q, symbol)]
        assert [a for a in arcs if a[2] == r] == [(q, symbol, r)]
        q = r
    assert final[q] == 2


@pytest.mark.parametrize("name", DEFINITIONS)
@settings(max_examples=60, deadline=None)
@given(sentences=SENTENCES, left=REACH, right=REACH)
@example(sentences=[[0]], left=2, right=2)
@example(sentences=[[1, 1, 1, 1, 1, 1], [1]], left=1, right=2)
def test_windows_of_a_neighborhood_are_those_of_its_strings(name, sentences, left, right):
    words = lattices_of(name, sentences)
    wide, windows = widened(words, left, right)
    rows = [tuple(row) for row in windows.tolist()]
    assert len(rows) == len(set(rows)) == wide.n_symbols
    assert set(wide.symbols.tolist()) == set(range(len(rows)))
    assert wide.of.tolist() == words.of.tolist()
    for i, sentence in enumerate(sentences):
        strings = list(wide.strings(i))
        found = [tuple(rows[k] for k in string) for string in strings]
        expected = [oracle.windows(x, left, right) for x in DEFINITIONS[name](tuple(sentence))]
        assert sorted(found) == sorted(expected)
        own = [rows.index(window) for window in oracle.windows(tuple(sentence), left, right)]
        check_form(wide, i, own)


@settings(max_examples=60, deadline=None)
@given(sentences=SENTENCES, left=REACH, right=REACH)
def test_chains_and_shared_sets_know_the_same_windows(sentences, left, right):
    near, windows = widened(lattices_of("trans1", sentences), left, right)
    chains, more = widened(WordLattices.chains(sentences, N_WORDS), left, right, windows)
    assert more.tolist() == windows.tolist()  # every sentence is its own neighbor
    together, more = widened(neighborhood("observed").lattices(sentences, N_WORDS), left, right, windows)
    assert more.tolist() == windows.tolist()
    assert together.separate
    for i, sentence in enumerate(sentences):
        (string,) = chains.strings(i)
        assert tuple(tuple(windows[k].tolist()) for k in string) == oracle.windows(tuple(sentence), left, right)
        assert string in set(near.strings(i))
        assert string in set(together.strings(0))
        check_form(chains, i, string)
    check_form(together, 0, None)
    other, more = widened(WordLattices.chains([[3, 3, 3]], N_WORDS), left, right, windows)
    assert more[: len(windows)].tolist() == windows.tolist()
    assert tuple(tuple(more[k].tolist()) for k in next(other.strings(0))) == oracle.windows((3, 3, 3), left, right)


def test_windows_of_nothing_and_of_pools():
    wide, windows = widened(WordLattices.chains([], 3), 1, 2)
    assert len(wide) == 0
    assert windows.shape == (0, 4)
    with pytest.raises(LoglinError, match="pools of words have no windows"):
        widened(neighborhood("length").lattices([[0]], 1), 1, 0)
