"""Worked examples of the lectures, computed: votes, sensors, stoplights, iterative scaling; Collins' ``base``.

Where the slides print no number (a quiz, a formula, a claim) there is nothing in the column of published ones, and the
note says what the number answers.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import product

import numpy as np

from loglin.corpus.labels import Choices
from loglin.estimators import MaxEnt, NaiveBayes
from loglin.estimators.classifier import Classifier
from loglin.features.attributes import AttributeExtractor
from loglin.features.index import build_index
from loglin.models.chain import Model
from loglin.reproduce.fitting import fit_quietly
from loglin.reproduce.table import Progress, Row, Table

KINDS = ["LOCATION", "DRUG", "PERSON"]
WEIGHTS = {"f1": 1.8, "f2": -0.6, "f3": 0.3}
VOTES = {"LOCATION": 0.586, "DRUG": 0.238, "PERSON": 0.176}  # of “in Québec”
SENSORS = (1, 2, 3, 5)
TAGS = ["Vt", *(f"tag {k}" for k in range(2, 46))]  # of the Penn Treebank
FACES = range(1, 7)
REMARKS = [
    "Weights of iterative scaling are less the slack feature's, λ − λₛ, which give the same probabilities; its "
    "features are f1 = [x1 ∧ a] and f2 = [a], the counts x1: 3 a, 1 b; x2: 1 a, 3 b.",
    "Naive Bayes' factors are sums of its joint probabilities over the patterns that are there to be seen.",
]


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    rows = []
    for part in (votes, sensors, joint_sensors, stoplights, conditional_stoplights, scaling, base, die):
        rows += part(threads)
        progress(f"{part.__name__.replace('_', ' ')}: done")
    return Table("slides-examples", "Worked examples of the lectures on maximum entropy", rows, REMARKS)


# ---------------------------------------------------------------------- votes


def features_of_names(x: tuple[str, str], y: str) -> dict[str, bool]:
    """The slides' three features of a word, the word before it, and a class."""
    before, word = x
    accented = any(unicodedata.decomposition(letter) for letter in word)
    return {
        "f1": y == "LOCATION" and before == "in" and word[:1].isupper(),
        "f2": y == "LOCATION" and accented,
        "f3": y == "DRUG" and word.endswith("c"),
    }


def voting_model(threads: int | None = 1) -> MaxEnt:
    """A classifier whose weights were not learnt but set."""
    extractor = AttributeExtractor()
    design = extractor.fit([[list(WEIGHTS)]])
    index = build_index(design, Choices(np.ones(1, bool), True), True, False, 1)  # type: ignore[arg-type]
    weights = np.array([WEIGHTS[extractor.attribute_name(a)] for a in range(extractor.n_attributes)])
    model = MaxEnt.from_model(Model("rank", KINDS, extractor, index, weights))
    return model.set_params(features=features_of_names, threads=threads)


def votes(threads: int | None) -> list[Row]:
    model, rows = voting_model(threads), []
    for phrase, published, note in (("in Québec", VOTES, ""), ("by Goéric", {}, "the slides' quiz")):
        p = model.predict_proba([tuple(phrase.split())])[0]
        for kind, value in zip(KINDS, p, strict=True):
            rows.append(Row("votes", f"P({kind} | {phrase})", published.get(kind), value, note, 3 if published else 6))
    return rows


# ---------------------------------------------------------------------- sensors


@dataclass(frozen=True)
class Observations:
    """Patterns of lights or sensors, each with its class and how often it was seen."""

    X: list[list[str]]  # what is on (or red) in each
    y: list[str]
    weight: np.ndarray

    def patterns(self) -> list[list[str]]:
        """All there could be."""
        names = sorted({a for x in self.X for a in x})
        return [[a for a, on in zip(names, is_on, strict=True) if on] for is_on in product((0, 1), repeat=len(names))]

    def fit(self, model: Classifier) -> Classifier:
        return model.fit(self.X, self.y, sample_weight=self.weight)  # type: ignore[attr-defined]

    def log_likelihood(self, log_probabilities: np.ndarray, classes: list) -> float:
        """Σ weight·log p of each one's class."""
        own = [classes.index(y) for y in self.y]
        return float(self.weight @ log_probabilities[np.arange(len(own)), own])


def weather(n: int) -> Observations:
    """Reality: n sensors that all say the same, + three times in four when it rains, once when the sun shines."""
    plus = [f"M{i} = +" for i in range(1, n + 1)]
    return Observations([plus, [], plus, []], ["r", "r", "s", "s"], np.array([3, 1, 1, 3]) / 8)


class Factors:
    """What naive Bayes says of every pattern of some attributes: P(c), P(a | c), P(c, pattern)."""

    def __init__(self, seen: Observations, class_prior: dict | None = None, threads: int | None = 1):
        self.seen = seen
        model = NaiveBayes("bernoulli", alpha=0, class_prior=class_prior, threads=threads)
        self.model: NaiveBayes = seen.fit(model)  # type: ignore[assignment]
        self.classes = self.model.classes_.tolist()
        self.patterns = seen.patterns()
        self._joint = np.exp(self.model.predict_joint_log_proba(self.patterns))

    def class_(self, c: str) -> float:
        return float(self._joint[:, self.classes.index(c)].sum())

    def attribute(self, a: str, c: str) -> float:
        has = np.array([a in pattern for pattern in self.patterns])
        return float(self._joint[has, self.classes.index(c)].sum()) / self.class_(c)

    def joint(self, c: str, pattern: list[str]) -> float:
        return float(np.exp(self.model.predict_joint_log_proba([pattern]))[0, self.classes.index(c)])

    def posterior(self, c: str, pattern: list[str]) -> float:
        return float(self.model.predict_proba([pattern])[0, self.classes.index(c)])


def sensors(threads: int | None) -> list[Row]:
    name, two = "sensors, naive Bayes", weather(2)
    plus, factors = two.X[0], Factors(two, threads=threads)
    rows = [
        Row(name, "P(s)", 1 / 2, factors.class_("s")),
        Row(name, "P(+ | s)", 1 / 4, factors.attribute(plus[0], "s")),
        Row(name, "P(+ | r)", 3 / 4, factors.attribute(plus[0], "r")),
        Row(name, "P(r, +, +)", 9 / 32, factors.joint("r", plus), "", 5),
        Row(name, "P(s, +, +)", 1 / 32, factors.joint("s", plus), "", 5),
        Row(name, "P(r | +, +)", 9 / 10, factors.posterior("r", plus)),
        Row(name, "P(s | +, +)", 1 / 10, factors.posterior("s", plus)),
    ]
    for n in SENSORS:
        seen = weather(n)
        p = Factors(seen, threads=threads).posterior("r", seen.X[0])
        rows.append(Row(name, f"P(r | +…), n = {n}", 3**n / (3**n + 1), p, "the slides' product: 3ⁿ to 1", 6))
    for n in SENSORS:
        rows += _conditional_sensors(n, threads)
    return rows


def _conditional_sensors(n: int, threads: int | None) -> list[Row]:
    """f_ri = [Mᵢ = + ∧ r] and f_si = [Mᵢ = + ∧ s], no others, and no prior."""
    name, seen = f"sensors, maximum entropy, n = {n}", weather(n)
    model = seen.fit(MaxEnt(l2=0, fit_intercept=False, threads=threads))
    weight = model.explain(["M1 = +"])[0].votes
    p = model.predict_proba(seen.X[:2])[:, 0]
    rows = [
        Row(name, "exp(λ_r − λ_s)", 3 ** (1 / n), float(np.exp(weight["r"] - weight["s"])), "", 6),
        Row(name, "λ_r", None, weight["r"], "log 3 / 2n", 6),
        Row(name, "P(r | +…)", None, p[0], "", 6),
        Row(name, "P(r | −…)", None, p[1], "no feature is on", 6),
    ]
    if n == 2:
        share = float(seen.weight[[0, 2]].sum())  # of the pattern in which f_r1 is on
        high = share * Factors(seen, threads=threads).posterior("r", seen.X[0])
        rows.append(Row(name, "E[f_r1]", 3 / 8, share * p[0], f"with the factor 3 it would be {high:.3f}", 3))
        value = seen.log_likelihood(model.predict_log_proba(seen.X), model.classes_.tolist())
        rows.append(Row(name, "mean log-likelihood", None, value, "the same for every n", 10))
    return rows


def joint_sensors(threads: int | None) -> list[Row]:
    """The same features in a model of patterns and classes together, P(M1, …, Mn, R): all of them are candidates."""
    seen = weather(2)
    worlds = [(tuple(pattern), c) for pattern in seen.patterns() for c in "rs"]
    true = [(tuple(x), c) for x, c in zip(seen.X, seen.y, strict=True)]
    model = MaxEnt(features=lambda x, world: [f"{a}, {world[1]}" for a in world[0]], l2=0, threads=threads)
    model.fit(["day"] * len(true), true, sample_weight=seen.weight.tolist(), candidates=[worlds] * len(true))
    weight = {v.feature: max(v.votes.values(), key=abs) for v in model.explain("day", worlds)}
    factor = float(np.exp(weight["M1 = +, r"] - weight["M1 = +, s"]))
    note = "a model of the patterns too; the slides' 3^(1/n) is the conditional model's"
    return [Row("sensors, maximum entropy, n = 2, joint", "exp(λ_r − λ_s)", None, factor, note, 5)]


# ---------------------------------------------------------------------- stoplights


def crossing() -> Observations:
    """Working lights are red one way and green the other, broken ones red both ways; what is named is red."""
    return Observations([["EW"], ["NS"], ["EW", "NS"]], ["w", "w", "b"], np.array([3.0, 3.0, 1.0]))


def stoplights(threads: int | None) -> list[Row]:
    name, seen = "stoplights, naive Bayes", crossing()
    both, factors = seen.X[-1], Factors(seen, threads=threads)
    red_working = factors.attribute("NS", "w")
    rows = [
        Row(name, "P(w)", 6 / 7, factors.class_("w"), "", 4),
        Row(name, "P(b)", 1 / 7, factors.class_("b"), "", 4),
        Row(name, "P(red | w)", 1 / 2, red_working),
        Row(name, "P(green | w)", 1 / 2, 1 - red_working),
        Row(name, "P(red | b)", 1.0, factors.attribute("NS", "b")),
        Row(name, "P(green | b)", 0.0, 1 - factors.attribute("NS", "b")),
    ]
    boosted = Factors(seen, {"w": 0.5, "b": 0.5}, threads)
    for shown, found, b, w, working in (
        (name, factors, 4 / 28, 6 / 28, 6 / 10),
        (f"{name}, P(b) = 1/2", boosted, 4 / 8, 1 / 8, 1 / 5),
    ):
        joint, conditional = found.model.predict_joint_log_proba(seen.X), found.model.predict_log_proba(seen.X)
        rows += [
            Row(shown, "P(b, red, red)", b, found.joint("b", both), "", 4),
            Row(shown, "P(w, red, red)", w, found.joint("w", both), "", 4),
            Row(shown, "P(w | red, red)", working, found.posterior("w", both), "", 4),
            Row(shown, "joint log-likelihood", None, seen.log_likelihood(joint, found.classes), "of seven days", 5),
            Row(shown, "conditional log-likelihood", None, seen.log_likelihood(conditional, found.classes), "", 6),
        ]
    return rows


def conditional_stoplights(threads: int | None) -> list[Row]:
    """Features [a light is red, or green, ∧ class], no bias."""
    name, seen = "stoplights, maximum entropy", crossing()
    colors = [[f"{way} {'red' if way in x else 'green'}" for way in ("NS", "EW")] for x in seen.X]
    seen = Observations(colors, seen.y, seen.weight)
    free = fit_quietly(MaxEnt(l2=0, fit_intercept=False, threads=threads), seen.X, seen.y, seen.weight)
    rows = [Row(f"{name}, no prior", "P(w | red, red)", None, None, free.model_.record["stopped"])]
    for variance in (1, 10):
        model = seen.fit(MaxEnt(l2=1 / variance, fit_intercept=False, tol=1e-10, threads=threads))
        p = float(model.predict_proba(colors[-1:])[0, model.classes_.tolist().index("w")])
        rows.append(Row(f"{name}, σ² = {variance}", "P(w | red, red)", None, p, "", 6))
    return rows


# ---------------------------------------------------------------------- fitting


def features_of_contexts(x: str, y: str) -> dict[str, bool]:
    return {"f1": x == "x1" and y == "a", "f2": y == "a"}


def scaling(threads: int | None) -> list[Row]:
    """Generalized iterative scaling, round by round, and where it ends."""
    rows = []
    for rounds in (1, 2, 3, 1000):
        name = "iterative scaling" + (f", round {rounds}" if rounds < 1000 else ", converged")
        model = MaxEnt(features=features_of_contexts, optimizer="gis", l2=0, max_iter=rounds, tol=0, threads=threads)
        model.fit(["x1", "x1", "x2", "x2"], ["a", "b", "a", "b"], sample_weight=[3, 1, 1, 3])
        weight = {v.feature: v.votes["a"] for v in model.explain("x1")}
        notes = {"f1": "log 9", "f2": "−log 3"} if rounds == 1000 else {}
        rows += [Row(name, f"weight of {f}", None, weight[f], notes.get(f, ""), 9) for f in ("f1", "f2")]
        rows.append(Row(name, "log-likelihood", None, -model.model_.record["objective"], "", 6))
    return rows


def base(threads: int | None) -> list[Row]:
    """`base` three times, always Vt: without a prior its weight has no finite optimum."""
    rows = []
    for variance in (1, 10):
        name = f"base is Vt three times, σ² = {variance}"
        model = MaxEnt(
            features=lambda x, y: {"base is Vt": y == "Vt"}, l2=1 / variance, optimizer="newton", threads=threads
        )
        model.fit(["base"] * 3, ["Vt"] * 3, candidates=[TAGS] * 3)
        rows += [
            Row(name, "weight", None, float(model.model_.weights[0]), f"{len(TAGS)} tags", 9),
            Row(name, "P(Vt | base)", None, float(model.predict_proba(["base"], [TAGS])[0][0]), "", 6),
        ]
    return rows


def die(threads: int | None) -> list[Row]:
    """The most indifferent die whose mean is 4.5: one feature, the number of eyes; 4 and 5 were thrown as often."""
    model = MaxEnt(features=lambda x, y: {"eyes": y}, l2=0, optimizer="newton", tol=0, threads=threads)
    model.fit(["throw"] * 6, list(FACES), sample_weight=[0, 0, 0, 1, 1, 0])
    p = model.predict_proba(["throw"])[0]
    return [
        Row("die", "mean", 4.5, float(p @ np.array(FACES)), "given", 6),
        Row("die", "λ", None, float(model.model_.weights[0]), "", 9),
        Row("die", "entropy", None, float(-(p @ np.log(p))), "the largest with this mean", 10),
    ]
