"""MaxEnt against scikit-learn's LogisticRegression on Reuters-21578, one thread each, in one run.

    python benchmarks/maxent.py [--output DIR]

The 90 categories of ModApte as independent yes-or-no models, and the 52 classes of its documents with one topic as one
multinomial model; tf-idf vectors, C = 100. scikit-learn at its default tolerance stops early, so both are run to
the same objective: scikit-learn with tol = 1e-8, MaxEnt with its default. Objectives are computed from the
predicted probabilities and the weights of either by the same lines. The data is found through LOGLIN_DATA.
With --output, writes maxent.json and maxent.md.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from loglin import MaxEnt
from loglin.corpus import datasets
from output import parser_of, report

C = 100.0
REPEATS = 3  # of predictions


def vectors(train, test):
    counter = CountVectorizer(token_pattern="[a-z]+", min_df=3)
    A, B = counter.fit_transform([d.text for d in train]), counter.transform([d.text for d in test])
    weigh = TfidfTransformer(sublinear_tf=True).fit(A)
    return weigh.transform(A).tocsr(), weigh.transform(B).tocsr()


def timed(function):
    began = time.perf_counter()
    result = function()
    return result, time.perf_counter() - began


def best_of(function):
    return min(timed(function)[1] for _ in range(REPEATS))


def objective(log_p, coefficients):
    """−Σ log p + |w|² / 2C, of all models together."""
    return float(-log_p.sum() + 0.5 / C * (coefficients**2).sum())


def binary(train, test):
    """All categories that occur in both parts."""
    A, B = vectors(train, test)
    names = sorted({t for d in train for t in d.topics} & {t for d in test for t in d.topics})
    Y, right = (np.array([[n in d.topics for n in names] for d in part]) for part in (train, test))
    MaxEnt(l2=1 / C, threads=1, max_iter=3).fit(A, Y.astype(int))  # compiles
    ours, seconds = timed(lambda: MaxEnt(l2=1 / C, threads=1).fit(A, Y.astype(int)))
    quick, quick_seconds = timed(lambda: MaxEnt(l2=1 / C, threads=1, tol=1e-6).fit(A, Y.astype(int)))
    theirs, peer_seconds = timed(
        lambda: [LogisticRegression(C=C, tol=1e-8, max_iter=5000).fit(A, Y[:, j]) for j in range(len(names))]
    )
    early, early_seconds = timed(lambda: [LogisticRegression(C=C).fit(A, Y[:, j]) for j in range(len(names))])

    def of_ours(model):
        p = model.predict_proba(A)
        return objective(np.log(np.where(Y, p, 1 - p)), model.coef_)

    def of_theirs(models):
        logs = [m.predict_log_proba(A)[np.arange(len(Y)), Y[:, j].astype(int)] for j, m in enumerate(models)]
        return objective(np.array(logs), np.array([m.coef_ for m in models]))

    return {
        "problem": f"{len(names)} yes-or-no models, {A.shape[0]:,} documents, {A.shape[1]:,} words",
        "MaxEnt": row(seconds, of_ours(ours), f1_score(right, ours.predict(B), average="micro")),
        "MaxEnt, tol=1e-6": row(quick_seconds, of_ours(quick), f1_score(right, quick.predict(B), average="micro")),
        "LogisticRegression, tol=1e-8": row(
            peer_seconds,
            of_theirs(theirs),
            f1_score(right, np.stack([m.predict(B) for m in theirs], axis=1), average="micro"),
        ),
        "LogisticRegression": row(
            early_seconds,
            of_theirs(early),
            f1_score(right, np.stack([m.predict(B) for m in early], axis=1), average="micro"),
        ),
        "predict": best_of(lambda: ours.predict(B)),
        "peer_predict": best_of(lambda: [m.predict(B) for m in theirs]),
    }


def multinomial(train, test):
    """Documents with one topic that occurs in both parts."""
    train, test = ([d for d in part if len(d.topics) == 1] for part in (train, test))
    names = sorted({d.topics[0] for d in train} & {d.topics[0] for d in test})
    train, test = ([d for d in part if d.topics[0] in names] for part in (train, test))
    A, B = vectors(train, test)
    y, right = (np.array([names.index(d.topics[0]) for d in part]) for part in (train, test))
    MaxEnt(l2=1 / C, threads=1, max_iter=3).fit(A, y)  # compiles
    ours, seconds = timed(lambda: MaxEnt(l2=1 / C, threads=1).fit(A, y))
    quick, quick_seconds = timed(lambda: MaxEnt(l2=1 / C, threads=1, tol=1e-6).fit(A, y))
    theirs, peer_seconds = timed(lambda: LogisticRegression(C=C, tol=1e-8, max_iter=5000).fit(A, y))
    early, early_seconds = timed(lambda: LogisticRegression(C=C).fit(A, y))

    def of(model):
        return objective(model.predict_log_proba(A)[np.arange(len(y)), y], model.coef_)

    return {
        "problem": f"{len(names)} classes, one multinomial model, {A.shape[0]:,} documents, {A.shape[1]:,} words",
        "MaxEnt": row(seconds, of(ours), (ours.predict(B) == right).mean()),
        "MaxEnt, tol=1e-6": row(quick_seconds, of(quick), (quick.predict(B) == right).mean()),
        "LogisticRegression, tol=1e-8": row(peer_seconds, of(theirs), (theirs.predict(B) == right).mean()),
        "LogisticRegression": row(early_seconds, of(early), (early.predict(B) == right).mean()),
        "predict": best_of(lambda: ours.predict(B)),
        "peer_predict": best_of(lambda: theirs.predict(B)),
    }


def row(seconds, value, score):
    return {"seconds": seconds, "objective": value, "score": float(score)}


def table(results):
    lines = ["# MaxEnt against scikit-learn", "", "`python benchmarks/maxent.py`, one thread each, one run.", ""]
    for result in results:
        fast, slow = result["MaxEnt"]["seconds"], result["LogisticRegression, tol=1e-8"]["seconds"]
        lines += [f"## {result['problem']}", "", "| | seconds | objective × C | test score |", "|---|---|---|---|"]
        for name, value in result.items():
            if isinstance(value, dict):
                score = f"{100 * value['score']:.2f}"
                lines.append(f"| {name} | {value['seconds']:.2f} | {C * value['objective']:,.2f} | {score} |")
        lines += ["", f"To the same objective in 1/{slow / fast:.1f} of scikit-learn's time. "]
        ratio = result["peer_predict"] / result["predict"]
        lines[-1] += f"Predicting the test documents: {1000 * result['predict']:.1f} ms against "
        lines[-1] += f"{1000 * result['peer_predict']:.1f} ms (1/{ratio:.1f})."
        lines.append("")
    return (
        "\n".join(lines) + "\nThe score is micro F1 at probability 0.5 for the categories, accuracy for the classes.\n"
    )


def main() -> None:
    given = parser_of(__doc__).parse_args()
    train, test = datasets.load("reuters21578", "train"), datasets.load("reuters21578", "test")
    with threadpool_limits(1):
        results = [binary(train, test), multinomial(train, test)]
    report(given.output, "maxent", table(results), results)


if __name__ == "__main__":
    main()
