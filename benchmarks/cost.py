"""The cost model of docs/scale.md: constants fitted to trainings of several sizes, and what they predict.

    features           F(T)  = f·T^g
    seconds a pass           = a·T / W + b·F + F·(8·W + 12·levels) / network
    bytes on disk            = d·T + e·F
    seconds before           = p·T / W
    bytes moved a pass       = 8·W·F out, and 12·F at most for every level of the tree of sums back

T tokens, W workers of one thread, levels = ⌈log16(shards)⌉ + 1. a, b, d, e are least squares with no negative number,
f and g a line through logarithms, p a mean. Only the rate of the network is not measured but given.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

NETWORK = 1.25e9  # bytes a second of a connection of 10 Gbit
FAN = 16  # parts that are added to one sum
TOKENS = [10**k for k in range(5, 11)]
WORKERS = [1, 4, 16, 64, 256]
VECTORS = 29  # as long as the weights, that L-BFGS and the bound remember


@dataclass(frozen=True)
class Constants:
    """What a training costs."""

    features: float  # f
    growth: float  # g
    token_seconds: float  # a
    feature_seconds: float  # b
    token_bytes: float  # d
    feature_bytes: float  # e
    prepare_seconds: float  # p
    shard_tokens: float

    @classmethod
    def fitted(cls, runs: list[dict]) -> Constants:
        """The constants of runs of several sizes, each with its tokens, features, seconds and bytes."""
        from scipy.optimize import nnls

        T, F, seconds, megabytes, prepared = (
            np.array([run[name] for run in runs], float)
            for name in ("tokens", "features", "pass", "disk_mb", "prepared")
        )
        growth, first = np.polyfit(np.log(T), np.log(F), 1) if len(runs) > 1 else (1.0, math.log(F[0] / T[0]))
        columns = np.stack([T, F], axis=1)
        a, b = nnls(columns / seconds[:, None], np.ones(len(runs)))[0]
        d, e = nnls(columns / megabytes[:, None], np.full(len(runs), 1e6))[0]
        shard = float(np.mean(T / [run["shards"] for run in runs]))
        of_tokens = float(np.mean(prepared / T))
        return cls(math.exp(first), float(growth), float(a), float(b), float(d), float(e), of_tokens, shard)

    def as_dict(self) -> dict[str, float]:
        return asdict(self)

    def n_features(self, tokens: float) -> float:
        return self.features * tokens**self.growth

    def moved(self, tokens: float, workers: int) -> float:
        """Bytes of a pass over the network."""
        levels = math.ceil(math.log(max(2.0, tokens / self.shard_tokens), FAN)) + 1
        return self.n_features(tokens) * (8 * workers + 12 * levels)

    def seconds(self, tokens: float, workers: int) -> float:
        """Of a pass; one worker stands for a training in one process."""
        alone = self.token_seconds * tokens / workers + self.feature_seconds * self.n_features(tokens)
        return alone if workers == 1 else alone + self.moved(tokens, workers) / NETWORK

    def disk(self, tokens: float) -> float:
        """Bytes of the work folder, without what L-BFGS remembers."""
        return self.token_bytes * tokens + self.feature_bytes * self.n_features(tokens)


def page_of_checks(constants: Constants, runs: list[dict]) -> str:
    """The model beside what it was fitted to."""
    c = constants
    lines = [
        "The cost model beside what it was fitted to, one process:\n",
        "| tokens | features | of the model | seconds a pass | of the model | MB on disk | of the model |",
        "|---" * 7 + "|",
    ]
    for run in runs:
        t = run["tokens"]
        cells = [f"{t:,}", f"{run['features']:,}", f"{c.n_features(t):,.0f}", f"{run['pass']:.3f}"]
        cells += [f"{c.seconds(t, 1):.3f}", f"{run['disk_mb']:,.0f}", f"{c.disk(t) / 1e6:,.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append(
        f"\nA token costs {1e9 * c.token_seconds:.0f} ns a pass, {c.token_bytes:.0f} bytes on disk and "
        f"{1e6 * c.prepare_seconds:.1f} µs of preparation; a feature {1e9 * c.feature_seconds:.1f} ns a pass and "
        f"{c.feature_bytes:.0f} bytes; features grow as tokens to the power {c.growth:.2f}.\n"
    )
    return "\n".join(lines)


def page_of_predictions(constants: Constants) -> str:
    """Seconds of a pass by tokens and workers."""
    c = constants
    lines = [
        f"Predicted, with a network of {NETWORK / 1e9:g} GB a second, seconds a pass by workers:\n",
        "| tokens | features | work folder, GB | weights, GB | remembered, GB | hours before, one worker | "
        + " | ".join(f"{w}" for w in WORKERS)
        + " | moved a pass by 256, GB |",
        "|---" * (7 + len(WORKERS)) + "|",
    ]
    for t in TOKENS:
        weights = 8 * c.n_features(t) / 1e9
        cells = [f"10^{round(math.log10(t))}", f"{c.n_features(t):.2g}", f"{c.disk(t) / 1e9:.3g}", f"{weights:.2g}"]
        cells += [f"{VECTORS * weights:.2g}", f"{c.prepare_seconds * t / 3600:.2g}"]
        cells += [f"{c.seconds(t, w):.3g}" for w in WORKERS]
        lines.append("| " + " | ".join([*cells, f"{c.moved(t, WORKERS[-1]) / 1e9:.2g}"]) + " |")
    return "\n".join(lines) + "\n"
