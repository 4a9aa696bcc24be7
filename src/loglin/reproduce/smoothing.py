"""Count cut-offs against Gaussian priors, and both: parts of speech and prepositional phrases.

features seen at least 1, 2 or 5 times  ×  prior variances σ² (l2 = 1 / σ²), or no prior ──► test accuracy ──► curves

A cut-off leaves out rare features altogether (Ratnaparkhi 1998); a prior keeps them and their weights small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from loglin.estimators.maxent import MaxEnt
from loglin.reproduce import figures, pos_ratnaparkhi, pp_attachment
from loglin.reproduce.fitting import fit_quietly
from loglin.reproduce.pos_ratnaparkhi import Setup
from loglin.reproduce.table import Drawings, Progress, Row, Table

DRAWS = True
CUTOFFS = (1, 2, 5)
VARIANCES = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0, math.inf)  # inf: no prior
TAGS, PHRASES = "parts of speech", "prepositional phrases"
REMARKS = [
    "Parts of speech: Ratnaparkhi's features on {sentences:,} training sentences, MEMM, beam and tag dictionary, as in "
    "the table pos-ratnaparkhi, at most {max_iter} iterations. Prepositional phrases: all subsets of the stemmed "
    "quadruple on {phrases:,} training decisions. Features are attributes together with a label, where seen so often. "
    "Test accuracy of every setting is shown; none was chosen.",
]

Fit = Callable[[int, float], tuple[float, int]]  # cut-off and σ² → test accuracy, number of features


def tagging(data: pos_ratnaparkhi.Data, threads: int | None) -> Fit:
    def fit(cutoff: int, variance: float) -> tuple[float, int]:
        options = {"template": pos_ratnaparkhi.RATNAPARKHI, "cutoff": cutoff, "l2": 1 / variance}
        tagger = Setup(TAGS, options, {}).fitted(data, threads)
        tags = pos_ratnaparkhi.tagged(tagger, data, threads, {"beam": pos_ratnaparkhi.BEAM})
        return data.scores(tags)[0], tagger.model_.record["n_features"]

    return fit


def attaching(parts: pp_attachment.Parts, threads: int | None) -> Fit:
    X, test = (
        [pp_attachment.attributes(pp_attachment.stemmed(x.words), pp_attachment.ALL) for x in part]
        for part in (parts.training, parts.test)
    )
    sites = [x.site for x in parts.training]

    def fit(cutoff: int, variance: float) -> tuple[float, int]:
        model = MaxEnt(l2=1 / variance, cutoff=cutoff, all_features=False, max_iter=200, tol=1e-6, threads=threads)
        fit_quietly(model, X, sites)
        return pp_attachment.accuracy(parts.test, list(model.predict(test))), model.model_.record["n_features"]

    return fit


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    data = pos_ratnaparkhi.load(300, 100) if quick else pos_ratnaparkhi.load()
    return make_table(data, pp_attachment.load(quick), VARIANCES[2::2] if quick else VARIANCES, progress, threads)


def make_table(
    data: pos_ratnaparkhi.Data,
    parts: pp_attachment.Parts,
    variances: Sequence[float],
    progress: Progress,
    threads: int | None,
) -> Table:
    rows: list[Row] = []
    remarks: list[str] = []
    drawings: Drawings = {}
    for task, fit in ((TAGS, tagging(data, threads)), (PHRASES, attaching(parts, threads))):
        found = {}
        for cutoff in CUTOFFS:
            for variance in variances:
                accuracy, size = found[cutoff, variance] = fit(cutoff, variance)
                name = f"{task}, cut-off {cutoff}, {_prior(variance)}"
                rows.append(Row(name, "accuracy", None, accuracy, f"{size:,} features"))
                progress(f"{name}: {accuracy:.2f}")
        scores = {setting: accuracy for setting, (accuracy, _) in found.items()}
        remarks.append(_verdict(task, scores))
        drawings[task.replace(" ", "-")] = partial(_draw, task=task, scores=scores)
    sizes = {"sentences": len(data.words), "phrases": len(parts.training), "max_iter": pos_ratnaparkhi.MAX_ITER}
    remarks += [remark.format(**sizes) for remark in REMARKS]
    title = "Smoothing: count cut-offs, Gaussian priors, and both"
    return Table("smoothing", title, rows, remarks, drawings)


def _prior(variance: float) -> str:
    return "no prior" if math.isinf(variance) else f"σ² = {variance:g}"


def _verdict(task: str, scores: dict[tuple[int, float], float]) -> str:
    """The best of a prior alone, of a cut-off alone, of both."""

    def best(settings: list[tuple[int, float]]) -> str:
        cutoff, variance = max(settings, key=lambda s: scores[s])
        return f"{scores[cutoff, variance]:.2f} (cut-off {cutoff}, {_prior(variance)})"

    alone = [s for s in scores if s[0] == 1 and math.isfinite(s[1])]
    cut = [s for s in scores if s[0] > 1 and math.isinf(s[1])]
    both = [s for s in scores if s[0] > 1 and math.isfinite(s[1])]
    neither = scores[1, math.inf]
    return (
        f"{task.capitalize()}: at best {best(alone)} with a prior, {best(cut)} with a cut-off, {best(both)} with both, "
        f"{neither:.2f} with neither."
    )


def _draw(path: Path, task: str, scores: dict[tuple[int, float], float]) -> None:
    finite = [v for v in VARIANCES if math.isfinite(v) and (1, v) in scores]
    lines = {f"cut-off {c}": (finite, [scores[c, v] for v in finite]) for c in CUTOFFS}
    figures.curves(path, f"Smoothing: {task}", lines, "σ² of the prior", "test accuracy, %", logx=True)
