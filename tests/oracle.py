"""The truth by enumeration: every analysis is listed with its score, and sums are sums over the list.

Nothing here comes from loglin, and nothing is fast. Impossible analyses (score -inf) are not listed.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable

import numpy as np

Listing = list[tuple[tuple[int, ...], float]]  # (labels, score) of every possible sequence


def chain_score(scores, transitions, trigrams, labels) -> float:
    """scores (T, L), transitions (L, L) or (T-1, L, L), trigrams None or (L, L, L)."""
    terms = [scores[t][y] for t, y in enumerate(labels)]
    for t in range(len(labels) - 1):
        step = transitions if np.ndim(transitions) == 2 else transitions[t]
        terms.append(step[labels[t]][labels[t + 1]])
    if trigrams is not None:
        terms += [trigrams[a][b][c] for a, b, c in zip(labels, labels[1:], labels[2:], strict=False)]
    return -math.inf if -math.inf in terms else math.fsum(terms)


def chain(scores, transitions, trigrams=None) -> Listing:
    """Every possible sequence in lexicographic order."""
    T, L = np.shape(scores)
    listed = ((y, chain_score(scores, transitions, trigrams, y)) for y in itertools.product(range(L), repeat=T))
    return [(y, score) for y, score in listed if score > -math.inf]


def local(scores, candidates=None) -> list[Listing]:
    """For each row, every possible label as a sequence of length one."""
    return [
        [
            ((l,), float(score))
            for l, score in enumerate(row)
            if score > -math.inf and (candidates is None or candidates[i][l])
        ]
        for i, row in enumerate(scores)
    ]


def log_partition(listing: Listing) -> float:
    if not listing:
        return -math.inf
    peak = max(score for _, score in listing)
    return peak + math.log(math.fsum(math.exp(score - peak) for _, score in listing))


def probabilities(listing: Listing) -> list[float]:
    peak = max(score for _, score in listing)
    weights = [math.exp(score - peak) for _, score in listing]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def node_marginals(listing: Listing, T: int, L: int) -> np.ndarray:
    nodes = np.zeros((T, L))
    for (y, _), p in zip(listing, probabilities(listing), strict=True):
        for t in range(T):
            nodes[t, y[t]] += p
    return nodes


def pair_marginals(listing: Listing, T: int, L: int) -> np.ndarray:
    pairs = np.zeros((max(T - 1, 0), L, L))
    for (y, _), p in zip(listing, probabilities(listing), strict=True):
        for t in range(T - 1):
            pairs[t, y[t], y[t + 1]] += p
    return pairs


def triple_counts(listing: Listing, T: int, L: int) -> np.ndarray:
    """Expected number of times that labels a, b, c stand in a row."""
    triples = np.zeros((L, L, L))
    for (y, _), p in zip(listing, probabilities(listing), strict=True):
        for t in range(T - 2):
            triples[y[t], y[t + 1], y[t + 2]] += p
    return triples


def ranked(listing: Listing) -> Listing:
    """Best first; equal scores in lexicographic order of labels."""
    return sorted(listing, key=lambda item: (-item[1], item[0]))


def best_set(listing: Listing, tolerance: float = 1e-9) -> set[tuple[int, ...]]:
    """Every sequence whose score is the maximum."""
    peak = max(score for _, score in listing)
    return {y for y, score in listing if score >= peak - tolerance * max(1.0, abs(peak))}


def entropy(listing: Listing) -> float:
    return math.fsum(-p * math.log(p) for p in probabilities(listing) if p > 0)


def span_probability(listing: Listing, start: int, allowed) -> float:
    """allowed (k, L): may position start + i take label l?"""
    return math.fsum(
        p
        for (y, _), p in zip(listing, probabilities(listing), strict=True)
        if all(mask[y[start + i]] for i, mask in enumerate(allowed))
    )


def numeric_gradient(f: Callable[[np.ndarray], float], x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Central differences of f at x, entry by entry."""
    x = np.array(x, dtype=np.float64)
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        kept = x[index]
        x[index] = kept + h
        above = f(x)
        x[index] = kept - h
        below = f(x)
        x[index] = kept
        gradient[index] = (above - below) / (2 * h)
    return gradient


def random_chain(rng: np.random.Generator, T: int, L: int, order: int = 1, per_step: bool = False):
    """scores (T, L), transitions (L, L) or (T-1, L, L), trigrams None or (L, L, L), all standard normal."""
    transitions = rng.normal(size=(max(T - 1, 0), L, L) if per_step else (L, L))
    trigrams = rng.normal(size=(L, L, L)) if order == 2 else None
    return rng.normal(size=(T, L)), transitions, trigrams


# ---------------------------------------------------------------------- criteria, each by its definition, maximized


def step_score(scores, transitions, trigrams, before, t: int, label: int) -> float:
    """Score of ``label`` at t after the labels ``before`` (those at 0 … t − 1, or only the last two or one)."""
    total = scores[t][label]
    if before:
        step = transitions if np.ndim(transitions) == 2 else transitions[t - 1]
        total += step[before[-1]][label]
    if len(before) > 1 and trigrams is not None:
        total += trigrams[before[-2]][before[-1]][label]
    return float(total)


def log_sum(values) -> float:
    peak = max(values)
    return peak + math.log(math.fsum(math.exp(v - peak) for v in values)) if peak > -math.inf else peak


def memm(scores, transitions, trigrams, gold) -> float:
    T, L = np.shape(scores)
    total = 0.0
    for t in range(T):
        options = [step_score(scores, transitions, trigrams, gold[:t], t, j) for j in range(L)]
        total += options[gold[t]] - log_sum(options)
    return total


def piecewise(scores, transitions, trigrams, gold, sources=None) -> float:
    """True steps, and none of the above after every wrong source; ``sources(t)`` lists other wrong ones."""
    T, L = np.shape(scores)
    order = 1 if trigrams is None else 2
    total = 0.0
    for t in range(T):
        true = tuple(gold[max(0, t - order) : t])
        everything = list(itertools.product(range(L), repeat=len(true))) if sources is None else sources(t)
        for before in {*everything, true}:
            options = [step_score(scores, transitions, trigrams, before, t, j) for j in range(L)]
            total -= log_sum([0.0, *options])
            if before == true:
                total += options[gold[t]]
    return total


def pseudolikelihood(scores, transitions, trigrams, gold) -> float:
    T, L = np.shape(scores)
    total = 0.0
    for t in range(T):
        options = []
        for j in range(L):
            changed = [*gold[:t], j, *gold[t + 1 :]]
            options.append(chain_score(scores, transitions, trigrams, changed))
        total += options[gold[t]] - log_sum(options)
    return total


def pseudolikelihood_nota(scores, transitions, gold, one_wrong: bool = False) -> float:
    """Every pair of neighbors; the true one predicts the true label, others none of the above (first order)."""
    T, L = np.shape(scores)
    total = 0.0
    for t in range(T):
        lefts = range(L) if t > 0 else [None]
        rights = range(L) if t + 1 < T else [None]
        for a, b in itertools.product(lefts, rights):
            true_left, true_right = t == 0 or a == gold[t - 1], t + 1 == T or b == gold[t + 1]
            if one_wrong and not true_left and not true_right:
                continue
            options = []
            for j in range(L):
                score = step_score(scores, transitions, None, [] if a is None else [a], t, j)
                if b is not None:
                    score += step_score(scores, transitions, None, [j], t + 1, b)
                options.append(score)
            total -= log_sum([0.0, *options])
            if true_left and true_right:
                total += options[gold[t]]
    return total


def margin(listing: Listing, gold, costs, soft: bool) -> float:
    """−(max or log Σ of score + cost, minus the gold score)."""
    raised = [score + sum(costs[g][y] for g, y in zip(gold, labels, strict=True)) for labels, score in listing]
    own = next(score for labels, score in listing if tuple(labels) == tuple(gold))
    return own - (log_sum(raised) if soft else max(raised))


def gold_probability(listing: Listing, gold, sharpness: float = 1.0) -> float:
    sharp = [(labels, sharpness * score) for labels, score in listing]
    pairs = zip(sharp, probabilities(sharp), strict=True)
    return next(p for (labels, _), p in pairs if tuple(labels) == tuple(gold))


def label_likelihood(listing: Listing, gold, L: int) -> float:
    nodes = node_marginals(listing, len(gold), L)
    return math.fsum(math.log(nodes[t, y]) for t, y in enumerate(gold))


def scaled_rows(scores, transitions, trigrams, alpha) -> Listing:
    """Every sequence where the step from label r scores alpha[r] times as much; alpha[L] from the start."""
    T, L = np.shape(scores)
    listing = []
    for y in itertools.product(range(L), repeat=T):
        parts = [step_score(scores, transitions, trigrams, y[:t], t, y[t]) for t in range(T)]
        factors = [alpha[L], *(alpha[label] for label in y[:-1])][:T]
        listing.append((y, math.fsum(f * s for f, s in zip(factors, parts, strict=True))))
    return listing


# ---------------------------------------------------------------------- labels that stand for labels


def best_mapping(gold: list, predicted: list, one_to_one: bool) -> int:
    """The most tokens that agree under any map of predicted labels to gold ones, by trying every map."""
    sources, targets = sorted(set(predicted)), sorted(set(gold))
    if one_to_one:
        targets += [None] * len(sources)  # a label may stand for nothing
        maps = itertools.permutations(targets, len(sources))
    else:
        maps = itertools.product(targets, repeat=len(sources))
    best = 0
    for images in maps:
        to_gold = dict(zip(sources, images, strict=True))
        best = max(best, sum(to_gold[p] == g for g, p in zip(gold, predicted, strict=True)))
    return best


def conditional_entropy(values: list, given: list) -> float:
    """H(values | given) in bits, term by term."""
    pairs, n = list(zip(values, given, strict=True)), len(values)
    return math.fsum(
        -pairs.count(pair) / n * math.log2(pairs.count(pair) / given.count(pair[1])) for pair in set(pairs)
    )


def terminals_and_brackets(text: str, deleted) -> tuple[list[tuple[str, str]], list[list], int]:
    """(word, tag) and [label, start, end] of a tree as evalb reads them, and the words that are no traces."""
    words, found, opened, length = [], [], [], 0
    for tag, word, label, closing in re.findall(r"\(([^\s()]+) ([^\s()]+)\)|\(([^\s()]*)|(\))", text):
        if word:
            length += tag != "-NONE-"
            words += [(word, tag)] if tag not in deleted else []
        elif closing:
            opened.pop()[2] = len(words)
        else:
            found.append([label, len(words), -1])
            opened.append(found[-1])
    return words, found, length


def evalb(gold: str, test: str, deleted, equal, labeled: bool = True) -> dict[str, int] | None:
    """evalb's counts of one sentence, one bracket after the other; None where it says that words do not match."""

    def same(a: str, b: str) -> bool:
        return a == b or (a, b) in equal or (b, a) in equal

    sides = [terminals_and_brackets(text, deleted) for text in (gold, test)]
    if [word for word, _ in sides[0][0]] != [word for word, _ in sides[1][0]]:
        return None
    kept = []
    for _, brackets, _ in sides:
        cut = [[re.match(r".[^-=]*|", label)[0], start, end] for label, start, end in brackets]
        kept.append([b for b in cut if b[1] < b[2] and not any(same(b[0], d) for d in deleted)])
    match, free = 0, list(kept[1])
    for label, start, end in kept[0]:
        for other in free:
            if other[1:] == [start, end] and (not labeled or same(label, other[0])):
                free.remove(other)
                match += 1
                break
    crossing = 0
    for _, c, d in kept[1]:
        crossing += any((a < c and c < b and b < d) or (c < a and a < d and d < b) for _, a, b in kept[0])
    tags = sum(same(a, b) for (_, a), (_, b) in zip(sides[0][0], sides[1][0], strict=True))
    words = len(sides[0][0])
    found = {"gold": len(kept[0]), "found": len(kept[1]), "correct": match, "crossing": crossing}
    return found | {"words": words, "tags": tags, "length": sides[0][2]}


# ---------------------------------------------------------------------- independent decisions over listed pairs


class ListedDecisions:
    """p(c | d) ∝ exp(w·f(d, c)) with f given: features (examples, classes, features), right class of each, weights.

    Value (−log-likelihood), gradient and everything that an optimizer may ask of independent decisions.
    """

    def __init__(self, features, gold, weight=None):
        self.f, self.gold = np.asarray(features, float), np.asarray(gold)
        n, _, self.n_features = self.f.shape
        self.weight = np.ones(n) if weight is None else np.asarray(weight, float)
        self.mass = float(self.weight.sum())
        self.given = self.f[np.arange(n), self.gold]

    def probabilities(self, w) -> np.ndarray:
        return np.array([probabilities([((c,), float(s)) for c, s in enumerate(row)]) for row in self.f @ w])

    def __call__(self, w) -> tuple[float, np.ndarray]:
        p = self.probabilities(w)
        own = p[np.arange(len(p)), self.gold]
        return -float(self.weight @ np.log(own)), self._sum(p) - self.empirical()

    def _sum(self, by_pair) -> np.ndarray:
        return np.einsum("d,dc,dcf->f", self.weight, by_pair, self.f)

    def empirical(self) -> np.ndarray:
        return self.weight @ self.given

    def feature_sums(self) -> np.ndarray:
        return self.f.sum(axis=2).ravel()

    def expected_by_level(self, w, levels, n_levels) -> np.ndarray:
        p, levels = self.probabilities(w), np.reshape(levels, self.f.shape[:2])
        return np.stack([self._sum(p * (levels == m)) for m in range(n_levels)], axis=1)

    def hessian_product(self, w, v) -> np.ndarray:
        p, scores = self.probabilities(w), self.f @ v
        return self._sum(p * (scores - (p * scores).sum(axis=1, keepdims=True)))

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        return self.weight @ self.f.min(axis=1), self.weight @ self.f.max(axis=1)

    def differences(self, limit) -> np.ndarray:
        rows = [
            self.given[d] - self.f[d, c]
            for d in range(len(self.f))
            for c in range(self.f.shape[1])
            if c != self.gold[d] and self.weight[d] > 0
        ]
        return np.array(rows)

    def negative(self) -> int | None:
        found = np.argwhere(self.f < 0)
        return int(found[0, 2]) if len(found) else None


# ---------------------------------------------------------------------- the next word

Documents = list[tuple[dict[str, str], list[list[str]]]]  # attributes and sentences


def positions(documents: Documents):
    """Every word to predict: (document, sentence, place, word), ends of sentences included."""
    for d, (_, sentences) in enumerate(documents):
        for s, sentence in enumerate(sentences):
            for t, word in enumerate([*sentence, "</s>"]):
                yield d, s, t, word


def recent(documents: Documents, d: int, s: int, t: int, known, window: int) -> list[str]:
    """The last known words of the document, the latest last."""
    said = [w for sentence in documents[d][1][:s] for w in sentence] + documents[d][1][s][:t]
    return [w for w in said if w in known][-window:]


def history_names(kinds, documents: Documents, d, s, t, known, classes, window, triggers) -> list[str]:
    """The names of the attributes of a history."""
    sentence, names = documents[d][1][s], []

    def raw(distance):
        return sentence[t - distance] if t >= distance else None

    def word(distance):
        return "<s>" if raw(distance) is None else raw(distance) if raw(distance) in known else "<unk>"

    def class_of(distance):
        return "<s>" if raw(distance) is None else classes.get(raw(distance), "<unk>")

    orders = {"bigram": 2, "trigram": 3, "4-gram": 4, "5-gram": 5}
    for kind in kinds:
        values = []
        if kind in orders:
            values = [" ".join(word(k) for k in range(orders[kind] - 1, 0, -1))]
        elif kind.startswith("skip"):
            far = sorted({int(k) for k in kind.split("-")[1:]} or {2}, reverse=True)
            values = [" ".join(word(k) for k in far)]
        elif kind in ("suffix", "prefix") and raw(1) is not None:
            cut = raw(1).lower()
            values = [cut[-k:] if kind == "suffix" else cut[:k] for k in range(1, min(4, len(cut)) + 1)]
        elif kind == "class":
            values = [class_of(1)]
        elif kind == "class-pair":
            values = [f"{class_of(2)} {class_of(1)}"]
        elif kind == "trigger":
            values = sorted(set(recent(documents, d, s, t, known, window)) & set(triggers))
        elif kind == "document":
            values = [f"{k}={v}" for k, v in documents[d][0].items()]
        names += [f"{kind}={value}" for value in values]
    return names


def next_word(names, predicted, weights) -> dict[str, float]:
    """p of every word: weights maps (attribute, word), and ("unigram", word)."""
    scores = {w: weights["unigram", w] + math.fsum(weights.get((a, w), 0.0) for a in names) for w in predicted}
    total = log_sum(list(scores.values()))
    return {w: math.exp(score - total) for w, score in scores.items()}


def kneser_ney(sentences: list[list[str]], order: int, modified: bool, n_words: int) -> Callable:
    """p(word, words before it), by the recursion over dictionaries; n_words can be predicted."""
    grams = []
    for sentence in sentences:
        padded = ["<s>"] * (order - 1) + [*sentence, "</s>"]
        grams += [tuple(padded[i : i + order]) for i in range(len(padded) - order + 1)]
    counts: list[dict] = [{} for _ in range(order + 1)]
    for gram in grams:
        counts[order][gram] = counts[order].get(gram, 0) + 1
    for n in range(order - 1, 0, -1):
        for gram in counts[n + 1]:
            counts[n][gram[1:]] = counts[n].get(gram[1:], 0) + 1

    def discount(n: int, count: int) -> float:
        of = [sum(c == i for c in counts[n].values()) for i in range(5)]
        fallback = min(count, 3) / 2 if modified else 0.5
        if not of[1] or not of[2] or (modified and not of[3]):
            return fallback
        y = of[1] / (of[1] + 2 * of[2])
        if not modified:
            return y
        found = [i - (i + 1) * y * of[i + 1] / of[i] for i in (1, 2, 3)]
        return found[min(count, 3) - 1] if all(0 < x < i for i, x in enumerate(found, 1)) else fallback

    def p(word: str, before: tuple[str, ...]) -> float:
        if len(before) >= order:
            before = before[len(before) - order + 1 :]
        lower = p(word, before[1:]) if before else 1 / n_words
        n = len(before) + 1
        seen = {g[-1]: c for g, c in counts[n].items() if g[:-1] == before}
        if not seen:
            return lower
        total, freed = sum(seen.values()), sum(discount(n, c) for c in seen.values())
        kept = seen[word] - discount(n, seen[word]) if word in seen else 0.0
        return (kept + freed * lower) / total

    return p


# ---------------------------------------------------------------- expectation maximization of hidden Markov models

Row = dict[tuple[str, tuple], dict]  # ("step", labels before) or ("emit", (column, label)) → value → number


def hmm_events(tokens: list[tuple], labels: tuple, order: int) -> list[tuple[tuple, object]]:
    """What an HMM must draw to make a labelled sentence: (row, value) of each draw; a token is a tuple of columns."""
    path, events = (("START",) * order + labels), []
    for t, (token, label) in enumerate(zip(tokens, labels, strict=True)):
        events.append((("step", path[t : t + order]), label))
        events += [(("emit", (k, label)), value) for k, value in enumerate(token)]
    return [*events, (("step", path[len(path) - order :]), "STOP")]


def em_step(model: Row, sentences, weights, smoothed: Row, order: int, beta: float = 1.0) -> tuple[float, float, Row]:
    """log Σ p and log Σ p^β of all sentences, weighted, and the model of the next step.

    Sentences are lists of (token, labels that it may have); ``smoothed`` holds what is added to counts.
    """
    plain, tempered, counts = 0.0, 0.0, {row: dict(values) for row, values in smoothed.items()}
    for sentence, weight in zip(sentences, weights, strict=True):
        tokens = [token for token, _ in sentence]
        ways = []
        for labels in itertools.product(*(allowed for _, allowed in sentence)):
            events = hmm_events(tokens, labels, order)
            ways.append((events, math.prod(model.get(row, {}).get(value, 0.0) for row, value in events)))
        total = math.fsum(p**beta for _, p in ways)
        plain += weight * math.log(math.fsum(p for _, p in ways))
        tempered += weight * math.log(total)
        for events, p in ways:
            for row, value in events:
                values = counts.setdefault(row, {})
                values[value] = values.get(value, 0.0) + weight * p**beta / total
    following = {}
    for row, values in counts.items():
        if (total := math.fsum(values.values())) > 0:
            following[row] = {value: n / total for value, n in values.items()}
    return plain, tempered, following


# ---------------------------------------------------------------- neighborhoods: sets of sentences as tuples


def del1word(x: tuple) -> set[tuple]:
    return ({x} | {x[:l] + x[l + 1 :] for l in range(len(x))}) - {()}


def exchanged(x: tuple, farthest: int) -> set[tuple]:
    """TRANS1 and its like: words l and k in each other's place, at most ``farthest`` apart."""
    found = {x}
    for l, k in itertools.combinations(range(len(x)), 2):
        if k - l <= farthest:
            found.add((*x[:l], x[k], *x[l + 1 : k], x[l], *x[k + 1 :]))
    return found


def del1subseq(x: tuple) -> set[tuple]:
    return {x[:i] + x[j:] for i in range(len(x) + 1) for j in range(i, len(x) + 1)} - {()}


def transduced(arcs: list[tuple[int, str, int]], final, x: tuple) -> set[tuple]:
    """All that a transducer writes: every way through it is walked."""
    found, ways = set(), [(0, 0, ())]
    while ways:
        state, i, written = ways.pop()
        if i == len(x) and state in final and written:
            found.add(written)
        for source, operation, target in arcs:
            if source == state:
                ways += [(target, i + n, written + more) for n, more in _edits(operation, x[i:])]
    return found


def _edits(operation: str, ahead: tuple) -> list[tuple[int, tuple]]:
    """(words read, words written) by each way to do one operation with the words ahead."""
    name, _, argument = operation.partition(":")
    if name == "epsilon":
        return [(0, ())]
    if name == "insert":
        return [(0, (int(w),)) for w in argument.strip("[]").split()]
    n = int(argument or 1) + (name == "swap") if name in ("swap", "permute") else 1
    if len(ahead) < n:
        return []
    if name == "copy":
        return [(1, ahead[:1])]
    if name == "delete":
        return [(1, ())]
    if name == "substitute":
        return [(1, (int(w),)) for w in argument.strip("[]").split()]
    if name == "swap":
        return [(n, (ahead[n - 1], *ahead[1 : n - 1], ahead[0]))]
    return [(n, order) for order in itertools.permutations(ahead[:n])]


def on_paths(arcs: list[tuple[int, int, float]], start, end) -> np.ndarray:
    """States on some path from a start to an end: (states,) bool."""
    step = np.eye(len(start), dtype=int)
    for r, s, p in arcs:
        step[r, s] |= p > 0
    ways = np.linalg.matrix_power(step, len(start))
    return ((np.asarray(start) > 0) @ ways > 0) & (ways @ (np.asarray(end) > 0) > 0)


def path_sums(arcs: list[tuple[int, int, float]], start, end, longest: int):
    """Weight of all paths of at most ``longest`` arcs, and that weight by arc used, first and last state."""
    useful = on_paths(arcs, start, end)
    start, end = np.where(useful, start, 0.0).tolist(), np.where(useful, end, 0.0).tolist()
    arcs = [(r, s, p if useful[r] and useful[s] else 0.0) for r, s, p in arcs]
    ahead = [list(end)]  # ahead[k][q]: paths of exactly k arcs from q
    for _ in range(longest):
        step = [0.0] * len(end)
        for r, s, p in arcs:
            step[r] += p * ahead[-1][s]
        ahead.append(step)
        if not any(step):
            break
    behind, out = list(start), [math.fsum(column) for column in zip(*ahead, strict=True)]
    into = [0.0] * len(start)
    for _ in range(len(ahead)):
        into = [a + b for a, b in zip(into, behind, strict=True)]
        step = [0.0] * len(start)
        for r, s, p in arcs:
            step[s] += p * behind[r]
        behind = step
    starts = [b * o for b, o in zip(start, out, strict=True)]
    ends = [i * e for i, e in zip(into, end, strict=True)]
    return sum(starts), [into[r] * p * out[s] for r, s, p in arcs], starts, ends


# ---------------------------------------------------------------- sets of strings, each with all of its labelings


def label_ngrams(labels: tuple[int, ...], order: int, L: int) -> list[tuple[int, int, int]]:
    """The cells of W that START (START) y₁ … yₙ STOP reads; in order 1 the first index is 0."""
    padded = [L] * order + [*labels, L + 1]
    if order == 1:
        return [(0, b, c) for b, c in itertools.pairwise(padded)]
    return list(zip(padded, padded[1:], padded[2:], strict=False))


def labeled_strings(strings, labels_of, W, E) -> Listing:
    """((words, labels), score) of every string and labeling; labels_of[w] are those of word w, E[w, label] scores."""
    H, S, _ = np.shape(W)
    listing = []
    for words in sorted(strings):
        for labels in itertools.product(*(labels_of[w] for w in words)):
            terms = [E[w, y] for w, y in zip(words, labels, strict=True)]
            terms += [W[cell] for cell in label_ngrams(labels, 1 if H == 1 else 2, S - 2)]
            if -math.inf not in terms:
                listing.append(((words, labels), math.fsum(terms)))
    return listing


def expected_uses(listing: Listing, shape) -> tuple[np.ndarray, dict[tuple[int, int], float]]:
    """Expected uses of label n-grams, of the shape of W, and of (word, label)."""
    steps, entries = np.zeros(shape), {}
    for ((words, labels), _), p in zip(listing, probabilities(listing) if listing else [], strict=True):
        for cell in label_ngrams(labels, 1 if shape[0] == 1 else 2, shape[1] - 2):
            steps[cell] += p
        for pair in zip(words, labels, strict=True):
            entries[pair] = entries.get(pair, 0.0) + p
    return steps, entries


def windows(words: tuple, left: int, right: int) -> tuple[tuple, ...]:
    """Every word with the words around it, -1 outside the sentence."""
    return tuple(
        tuple(words[t + o] if 0 <= t + o < len(words) else -1 for o in range(-left, right + 1))
        for t in range(len(words))
    )


# ---------------------------------------------------------------- templates, applied by hand

_ITEM = re.compile(r"%([a-z]+)\[(-?\d+),(\d+),?([^\]]*)\]")


def item_values(function: str, word: str, argument: str, common) -> list[str]:
    """What a function of a template makes of a word; nothing where it does not apply."""
    if function == "ngrams":
        n, m = map(int, argument.split(","))
        marked = f"<{word}>"
        return sorted({marked[i : i + k] for k in range(n, m + 1) for i in range(len(marked) - k + 1)})
    applies = {"edge": False, "rare": word not in common, "if": argument.strip('"') in word}.get(function, True)
    made = {"x": word, "lower": word.lower(), "rare": "rare", "if": "true"}
    made["suffix"] = word[-int(argument) :] if function == "suffix" else ""
    return [made[function]] if applies else []


def attribute_names(template: str, sentence, t: int, distance: bool = False, common=()) -> list[str]:
    """The attributes that a template line gives token t; tokens are tuples of columns."""
    names, end = [""], 0
    for match in _ITEM.finditer(template):
        function, offset, column, argument = match.groups()
        p = t + int(offset)
        if p < 0:
            values = [f"_B-{-p if distance else 1}"] if function != "ngrams" else []
        elif p >= len(sentence):
            values = [f"_B+{p - len(sentence) + 1 if distance else 1}"] if function != "ngrams" else []
        else:
            values = item_values(function, sentence[p][int(column)], argument, common)
        names = [name + template[end : match.start()] + value for name in names for value in values]
        end = match.end()
    return [name + template[end:] for name in names]


def template_score(templates: list[str], sentence, labels, weights: dict, distance: bool = False, common=()) -> float:
    """Σ of the weights of (attribute, labels): of one label for U, of two for B, of three for T."""
    terms, size = [], {"U": 1, "B": 2, "T": 3}
    for template in templates:
        n = size[template[0]]
        for t in range(n - 1, len(sentence)):
            for name in attribute_names(template, sentence, t, distance, common):
                terms.append(weights.get((name, tuple(labels[t - n + 1 : t + 1])), 0.0))
    return math.fsum(terms)


# ---------------------------------------------------------------- trees of context-free grammars

Node = tuple  # (symbol, child, …); a child is a node or a word
Production = tuple[str, ...]  # parent, then children; what is never a parent is a word


def trees(
    rules: dict[Production, float], words, start: str | dict[str, float] | None = None
) -> list[tuple[Node, float]]:
    """(tree, Σ of its rules' scores) of every tree over the words; rules of any length, no unary circles.

    ``start`` is the root's symbol, or a score for each possible one, which is added; None admits all with 0.
    A word None fits every word.
    """
    parents = {rule[0] for rule in rules}

    def below(symbol: str, i: int, j: int) -> list[tuple[Node, float]]:
        if symbol not in parents:
            return [(symbol, 0.0)] if j == i + 1 and words[i] in (symbol, None) else []
        found = []
        for rule, score in rules.items():
            if rule[0] == symbol and score > -math.inf:
                found += [((symbol, *kids), score + more) for kids, more in forests(rule[1:], i, j)]
        return found

    def forests(symbols: tuple[str, ...], i: int, j: int) -> list[tuple[tuple, float]]:
        if len(symbols) == 1:
            return [((kid,), score) for kid, score in below(symbols[0], i, j)]
        found = []
        for k in range(i + 1, j - len(symbols) + 2):
            first = below(symbols[0], i, k)
            for kids, more in forests(symbols[1:], k, j) if first else []:
                found += [((kid, *kids), score + more) for kid, score in first]
        return found

    roots = {start: 0.0} if isinstance(start, str) else start or dict.fromkeys(sorted(parents), 0.0)
    return [
        (tree, score + root)
        for symbol, root in roots.items()
        for tree, score in below(symbol, 0, len(words))
        if score + root > -math.inf
    ]


def tree_uses(tree: Node, start: int = 0) -> list[tuple[Production, tuple[int, ...]]]:
    """The rules of a tree from the top, each with the boundaries of its children: (i, j), or (i, k, j) …"""
    ends, below = [start], []
    for child in tree[1:]:
        size = len(tree_yield(child))
        below += tree_uses(child, ends[-1]) if isinstance(child, tuple) else []
        ends.append(ends[-1] + size)
    label = tuple(child[0] if isinstance(child, tuple) else child for child in tree[1:])
    return [((tree[0], *label), tuple(ends)), *below]


def tree_yield(tree: Node | str) -> list[str]:
    return [tree] if isinstance(tree, str) else [word for child in tree[1:] for word in tree_yield(child)]


def language(rules: dict[Production, float], start: str, longest: int) -> list[tuple[Node, float]]:
    """(tree, score) of every tree with at most ``longest`` words, whatever they are."""
    return [one for n in range(1, longest + 1) for one in trees(rules, [None] * n, start)]


# ---------------------------------------------------------------- templates of spans, applied by hand

_SPAN_ITEM = re.compile(r"%([a-z-]+)\[([^\]]*)\]")


def signature(word: str, first: bool) -> str:
    """What an unknown word looks like; of endings the first in the list that leaves two letters counts."""
    if re.search(r"\d", word):
        return "UNK-dig"
    parts = ["UNK"]
    if word != "" and word[0] != word[0].lower():
        parts.append("C0" if first else "C")
    if word.count("-"):
        parts.append("h")
    endings = ("ing", "ed", "ly", "ion", "er", "est", "al", "ity", "y", "s")
    found = [e for e in endings if re.search(f"..{e}$", word.lower())]
    return "-".join(parts + found[:1])


def span_attribute(template: str, words: list[str], i: int, j: int, split: int, counts: dict[str, int]) -> str | None:
    """The attribute that a template line gives words i … j − 1, or a split; None where an item does not apply."""
    name, end = "", 0
    for match in _SPAN_ITEM.finditer(template):
        function, (*fields,) = match[1], match[2].split(",")
        if function == "length":
            longest = int(fields[0])
            value = str(j - i) if j - i < longest else f"{longest}+"
        else:
            if function in ("first", "last", "split"):
                function, fields = "x", [function, *fields]
            place = {"first": i, "last": j - 1, "split": split}[fields[0]] + int(fields[1])
            if place < 0:
                value = "_B-1"
            elif place >= len(words):
                value = "_B+1"
            else:
                word = words[place]
                number = int(fields[2]) if len(fields) > 2 else 0
                signed = signature(word, place == 0)
                made = {"x": word, "lower": word.lower(), "suffix": word[-number:], "signature": signed}
                made["word"] = word if counts.get(word, 0) >= number else signed
                if counts.get(word, 0) < number:
                    made["rare"] = "rare"
                if function not in made:
                    return None
                value = made[function]
        name += template[end : match.start()] + value
        end = match.end()
    return name + template[end:]


# ---------------------------------------------------------------- one rule at a time


def expansion_loss(rules_of, rule_weight, pair_weight, instances, nota: bool) -> float:
    """−Σ count·log p(rule | symbol, attributes); rules_of[symbol] are its rules, rule None is none of the above."""
    terms = []
    for symbol, attributes, rule, count in instances:
        scores = {
            r: rule_weight[r] + math.fsum(pair_weight.get((a, r), 0.0) for a in attributes) for r in rules_of[symbol]
        }
        if nota:
            scores[None] = 0.0
        if scores and scores.get(rule, 0.0) == -math.inf:
            return math.inf
        if scores:
            peak = max(scores.values())
            total = peak + math.log(math.fsum(math.exp(s - peak) for s in scores.values()))
            terms.append(count * (total - scores[rule]))
    return math.fsum(terms)


def wrong_edges(scores: dict, gold: set, delta: float) -> set:
    """Edges (symbol, i, j) of two words and more that are not gold and within delta of the best of their length."""
    found = set()
    for edge, score in scores.items():
        length = edge[2] - edge[1]
        best = max(s for (_, i, j), s in scores.items() if j - i == length)
        if length > 1 and edge not in gold and score >= best - delta and score > -math.inf:
            found.add(edge)
    return found
