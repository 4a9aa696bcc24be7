"""Estimators that were used once, in other processes and threads: the same answers as here."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import pytest

from loglin import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger, load
from loglin.threads import Threads
from support.estimators import LINES, SENTENCES, TREES, X, Y

MANY = SENTENCES[0] * 15  # more tokens than one thread works on alone
PARSED = [["cats", "see", "dogs", "with", "cats"], ["dogs", "bark"]] * 20
FITTED = {
    "Tagger": lambda threads: Tagger(max_iter=5, threads=threads).fit(*SENTENCES),
    "MaxEnt": lambda threads: MaxEnt(max_iter=5, threads=threads).fit(X, Y),
    "NaiveBayes": lambda threads: NaiveBayes(threads=threads).fit(X, Y),
    "Parser": lambda threads: Parser(max_iter=5, threads=threads).fit(TREES),
    "LanguageModel": lambda threads: LanguageModel(max_iter=5, threads=threads).fit(LINES),
}


def answers(estimator) -> list:
    """What an estimator says of some text, as plain objects."""
    if isinstance(estimator, Tagger):
        return [estimator.predict(MANY), [rows.tolist() for rows in estimator.predict_proba(MANY)]]
    if isinstance(estimator, Parser):
        return [str(tree) for tree in estimator.predict(PARSED)] + [str(p) for p in estimator.parse_nbest(PARSED[:3])]
    if isinstance(estimator, LanguageModel):
        return [estimator.scores(LINES).tolist(), estimator.next("two cups")]
    return [estimator.predict(X).tolist(), estimator.predict_proba(X).tolist()]


@pytest.fixture(params=[1, 2, 5], ids="{}-threads".format)
def threads(request):
    return request.param


@pytest.fixture(params=FITTED)
def estimator(request, threads):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FITTED[request.param](threads)


@pytest.mark.parametrize("method", sorted({"fork", "spawn"} & set(multiprocessing.get_all_start_methods())))
def test_in_other_processes(estimator, method, threads):
    if method == "spawn" and threads != 2:
        pytest.skip("a new process knows nothing of threads here, and takes seconds: once is enough")
    here = answers(estimator)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1 if method == "spawn" else 2, context) as pool:
        assert list(pool.map(answers, [estimator, estimator], timeout=60)) == [here, here]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_what_a_fork_inherits_works(estimator):
    here = answers(estimator)
    receiving, sending = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=lambda: sending.send(answers(estimator)))
    child.start()
    try:
        assert receiving.poll(60), "the child hangs"
        assert receiving.recv() == here
    finally:
        child.kill()
        child.join()


def test_joblib(estimator, tmp_path):
    here = answers(estimator)
    joblib.dump(estimator, tmp_path / "e")
    assert answers(joblib.load(tmp_path / "e")) == here
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(answers)(estimator) for _ in range(2)) == [here, here]


def test_eight_threads_at_once(estimator):
    here = answers(estimator)
    fresh = pickle.loads(pickle.dumps(estimator))
    with ThreadPoolExecutor(8) as pool:
        assert all(found == here for found in pool.map(answers, [fresh] * 24))


def test_from_a_file(estimator, tmp_path):
    estimator.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    here = answers(loaded)
    assert answers(pickle.loads(pickle.dumps(loaded))) == here


def test_maps_in_maps_and_from_many_threads():
    def inner(begin: int, end: int) -> int:
        return sum(Threads(2).map(lambda b, e: e - b, [(i, i + 1) for i in range(begin, end)]))

    def outer(_: int) -> int:
        return sum(Threads(2).map(inner, [(i, i + 5) for i in range(0, 100, 5)]))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(outer, range(40), timeout=60)) == [100] * 40


def test_a_failing_chunk_ends_the_map():
    done = []

    def chunk(begin: int, end: int) -> None:
        if begin == 0:
            raise ValueError("no")
        done.append(begin)

    with pytest.raises(ValueError, match="no"):
        Threads(2).map(chunk, [(i, i + 1) for i in range(100_000)])
    assert len(done) < 99_999
