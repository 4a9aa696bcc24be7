"""Shards: the same features and the same optimum as in memory, in this process and by workers; bad input."""

from __future__ import annotations

import gzip
import os
import random
import signal
import time

import numpy as np
import pytest

from loglin import Tagger
from loglin.corpus import shards, stored
from loglin.corpus.columns import concatenate
from loglin.corpus.conll import FORMAT
from loglin.corpus.shards import WorkFolder, cut, files_source, memory_of, sources
from loglin.features.counting import Run, merged
from loglin.objectives import distributed, part_learners, sums
from loglin.objectives.sums import Sums, total
from loglin.optimize.checkpoint import Checkpoint
from loglin.optimize.record import StopTraining
from support.errors import refused_with_remedy
from support.shell import refusal, run

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%suffix[0,0,2]\nU3:%x[1,0]\nU4:%ngrams[0,0,2,3]\nB1:%x[0,0]\nB\n"


def corpus(seed: int, n: int) -> list[list[tuple[str, str]]]:
    rng = random.Random(seed)
    words = [f"{'abcdefgh'[i % 8]}{i % 97}{'xyz'[i % 3]}" for i in range(400)]
    found = []
    for _ in range(n):
        tokens, last = [], "O"
        for _ in range(rng.randint(1, 12)):
            word = words[min(int(rng.paretovariate(0.6)) - 1, 399)]
            last = rng.choice(["A", "B", "O", last, "ABO"[len(word) % 3]])
            tokens.append((word, last))
        found.append(tokens)
    return found


def write(path, sentences):
    text = "".join("".join(f"{w} {y}\n" for w, y in s) + "\n" for s in sentences)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    found = corpus(1, 300)
    write(folder / "a.txt", found[:170])
    write(folder / "b.txt.gz", found[170:])
    (tmp_path / "template").write_text(TEMPLATE)
    return tmp_path, found


@pytest.fixture
def small(monkeypatch):
    """Shards of 200 tokens."""
    monkeypatch.setattr(shards, "FEWEST_TOKENS", 200)
    monkeypatch.setattr(shards, "BYTES_PER_TOKEN", 10**7)


def same_features(one, other):
    """Extractor, index and labels of two models are the same to the last bit."""
    for a, b in (
        (one.extractor.to_section(), other.extractor.to_section()),
        (one.index.to_section(), other.index.to_section()),
    ):
        assert a.manifest == b.manifest
        assert a.arrays.keys() == b.arrays.keys()
        assert all(np.array_equal(a.arrays[name], b.arrays[name]) for name in a.arrays)
    assert one.labels == other.labels


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"min_count": 3, "cutoff": 2},
        {"all_features": True},
        {"order": 2},
        {"criterion": "memm"},
        {"criterion": "margin"},
        {"criterion": "pseudolikelihood"},
        {"label_weights": {"A": 2.0}},
        {"like": "crf++", "template": "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\nB\n", "min_count": 2},
        {"template": "U0:%lower[0,0]\nU1:%shape[0,0]\nB\n"},
    ],
    ids=str,
)
def test_shards_are_the_corpus(data, small, how):
    folder, found = data
    how = {"template": TEMPLATE, "tol": 1e-9, "dtype": "float64", "threads": 1, **how}
    X, y = [[w for w, _ in s] for s in found], [[y for _, y in s] for s in found]
    whole = Tagger(**how).fit(X, y).model_
    model = Tagger(**how).fit(f"{folder}/data/*", work_dir=folder / "work").model_
    assert model.record["shards"] > 5
    same_features(whole, model)
    assert model.record["objective"] == pytest.approx(whole.record["objective"], rel=1e-6)
    assert model.weights == pytest.approx(whole.weights, abs=2e-3)
    assert (model.record["tokens"], model.record["sentences"]) == (sum(map(len, X)), len(X))
    assert not list((folder / "work").glob("objective-*"))


@pytest.mark.parametrize(
    "how", [{}, {"order": 2}, {"l1": 0.2, "tol": 1e-4}, {"l1": 0.2, "order": 2, "tol": 1e-4}], ids=str
)
def test_ways_to_begin_end_at_the_same_optimum(data, small, how, monkeypatch):
    """Dual ascent from shard to shard begins nearer than the average of shards, both far below zero weights."""
    folder, found = data
    how = {"template": TEMPLATE, "tol": 1e-7, "threads": 1, **how}
    values: dict[str, list[float]] = {"ascent": [], "average": []}
    models = {}
    for name, met in values.items():
        monkeypatch.setattr(part_learners, "FEW", 4 if name == "ascent" else 0)
        tagger = Tagger(**how, callbacks=[lambda iteration, met=met: met.append(iteration.value)])
        models[name] = tagger.fit(f"{folder}/data/*", work_dir=folder / "work").model_
    zero = sum(len(s) for s in found) * np.log(3)
    best = models["ascent"].record["objective"]
    assert models["average"].record["objective"] == pytest.approx(best, rel=how["tol"])
    assert values["average"][0] < zero
    assert values["ascent"][0] - best < 0.5 * (values["average"][0] - best)
    assert values["ascent"][0] < 1.05 * best


def test_a_stop_while_it_begins_keeps_what_was_learned(data, small, monkeypatch):
    folder, _ = data
    begin, stopped = part_learners.PartLearner.warm_start, []

    def stop(epoch, loss):
        stopped.append(epoch)
        if len(stopped) == 40:
            raise StopTraining("enough")

    def begun(self, l1, l2, report, tol, stage=None):
        with pytest.raises(StopTraining):
            begin(self, l1, l2, stop, tol)
        assert 0 < self.whole(self.get())[0] < self.whole(np.zeros(len(l2)))[0]
        assert not list((folder / "work").glob("*-lists"))
        return begin(self, l1, l2, report, tol, stage)

    monkeypatch.setattr(part_learners.PartLearner, "warm_start", begun)
    (folder / "data" / "c.txt").write_text("\n")
    assert Tagger(template=TEMPLATE).fit(f"{folder}/data/*", work_dir=folder / "work").model_.record["converged"]
    assert len(stopped) == 40


def test_partial_labels_and_sentences_that_can_be_read_again(data, small):
    folder, found = data
    X, y = [[w for w, _ in s] for s in found], [[y for _, y in s] for s in found]

    class Again:
        def __init__(self, items):
            self.items = items

        def __iter__(self):
            return iter(self.items)

    how = {"template": TEMPLATE, "tol": 1e-8, "dtype": "float64"}
    one = Tagger(**how).fit(X, y).model_
    other = Tagger(**how).fit(Again(X), Again(y), work_dir=folder / "work").model_
    same_features(one, other)
    assert other.record["objective"] == pytest.approx(one.record["objective"], rel=1e-6)
    hidden = [[(w, "_" if i % 3 else y) for i, (w, y) in enumerate(s)] for s in found]
    write(folder / "hidden.txt", hidden)
    options = ["--template", folder / "template", "--partial", "--tol", "1e-7", "--dtype", "float64", "--quiet"]
    run("train", folder / "hidden.txt", *options, "-o", folder / "m0")
    run("train", folder / "hidden.txt", *options, "--work-dir", folder / "w", "--memory", "1MB", "-o", folder / "m1")
    models = [Tagger.load(folder / name).model_ for name in ("m0", "m1")]
    same_features(*models)


def test_a_prepared_folder_is_used_again_and_only_if_nothing_changed(data, small, monkeypatch):
    folder, found = data
    how = {"template": TEMPLATE, "max_iter": 3}

    def fit(**more):
        return Tagger(**how | more).fit(f"{folder}/data/*", work_dir=folder / "work").model_

    first = fit()
    with monkeypatch.context() as patch:
        patch.setattr(FORMAT.__class__, "labeled_pieces", None)  # reading again would fail
        assert np.array_equal(fit().weights, first.weights)
        fit(min_count=2)
    part = next((folder / "work").glob("part-0*"))
    part.write_bytes(part.read_bytes()[:-100])
    assert np.array_equal(fit().weights, first.weights)
    write(folder / "data" / "a.txt", found[:100])
    assert fit().record["sentences"] == 230


def test_workers_give_the_same_bits_whoever_dies(data, small):
    pytest.importorskip("distributed")
    folder, _ = data
    how = {"template": TEMPLATE, "max_iter": 12, "tol": 1e-9}
    here = Tagger(**how).fit(f"{folder}/data/*", work_dir=folder / "w").model_
    for n in (1, 2):
        with distributed.connected(workers=n) as client:
            kills = []

            def kill(iteration, client=client, kills=kills):
                if iteration.number % 5 == 0:
                    pids = client.run(os.getpid)
                    kills.append(min(pids.values()))
                    os.kill(kills[-1], signal.SIGKILL)

            tagger = Tagger(**how, callbacks=[kill] if n == 2 else [])
            model = tagger.fit(f"{folder}/data/*", work_dir=folder / "w", client=client).model_
            assert np.array_equal(model.weights, here.weights)
            assert model.record["objective"] == here.record["objective"]
            assert 1 <= model.record["workers"] <= n
            assert model.record["bytes_moved"] > 0
            assert bool(kills) == (n == 2)


def test_a_training_on_shards_goes_on_where_it_was_cut_off(data, small, monkeypatch):
    """Behind the warm start, whose outcome the checkpoint has: the same weights to the last bit."""
    folder, _ = data

    def fit(checkpoint):
        how = {"template": TEMPLATE, "tol": 1e-7, "checkpoint": checkpoint, "checkpoint_every": 0}
        return Tagger(**how).fit(f"{folder}/data/*", work_dir=folder / "w").model_

    write, written = Checkpoint.write, []

    def then_crash(self, running):
        write(self, running)
        written.append(1)
        if len(written) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "write", then_crash)
    with pytest.raises(KeyboardInterrupt):
        fit(folder / "state")
    assert (folder / "state").exists()
    assert np.array_equal(fit(folder / "state").weights, fit(None).weights)


@pytest.mark.parametrize("X", [[], [[], []]])
def test_no_sentence_and_no_token_are_refused_as_in_memory(X, tmp_path):
    for more in ({}, {"work_dir": tmp_path}, {"memory": "10MB"}):
        refused_with_remedy(lambda more=more: Tagger().fit(X, X, **more), "there are no tokens to learn from")


@pytest.mark.full
def test_workers_killed_while_they_start_come_back(data, small):
    """Dask closes a worker's place for ever if none is in it 15 seconds after a death, unless it is told otherwise."""
    pytest.importorskip("distributed")
    folder, _ = data
    here = Tagger(template=TEMPLATE, tol=1e-9).fit(f"{folder}/data/*", work_dir=folder / "w").model_
    deaths, began = 0, time.monotonic()
    with distributed.connected(workers=2) as client:
        while time.monotonic() - began < 40:
            nannies = client.cluster.workers.values()
            pids = [nanny.pid for nanny in nannies if nanny.pid]
            if pids:
                os.kill(random.choice(pids), signal.SIGKILL)
                deaths += 1
            time.sleep(random.uniform(0.1, 1.5))
        assert deaths > 20
        client.wait_for_workers(2, timeout=60)
        tagger = Tagger(template=TEMPLATE, tol=1e-9).fit(f"{folder}/data/*", work_dir=folder / "w", client=client)
    assert np.array_equal(tagger.model_.weights, here.weights)


def test_workers_that_do_not_start(monkeypatch):
    dask_distributed = pytest.importorskip("distributed")

    def fails(**how):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(dask_distributed, "LocalCluster", fails)
    refused_with_remedy(distributed.connected(workers=2).__enter__, "the workers did not start")


# ---------------------------------------------------------------------- parts


def test_the_tree_of_sums_is_the_same_on_workers():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 8, 9, 64, 65, 130):
        parts = []
        for _ in range(n):
            places = np.flatnonzero(rng.random(40) < 0.5).astype(np.uint32)
            parts.append(Sums(rng.normal(), places, rng.normal(size=len(places)) * 10.0 ** rng.integers(-9, 9)))
        here, level, fan = total(parts, 40), parts, sums.GROUP
        while len(level) > 1:
            level, fan = [distributed._added(level[i : i + fan], 40) for i in range(0, len(level), fan)], sums.FAN
        there = total(level, 40)
        assert here.value == there.value
        assert np.array_equal(here.numbers, there.numbers)
        exact = np.zeros(40)
        for part in parts:
            exact[part.places] += part.numbers
        assert here.numbers == pytest.approx(exact, rel=1e-6, abs=1e-6)


def test_merged_runs_are_counts_of_all(monkeypatch):
    from loglin.features import counting

    monkeypatch.setattr(counting, "AT_ONCE", 64)
    monkeypatch.setattr(counting, "SAMPLED", 4)
    rng = np.random.default_rng(1)
    everything = [rng.integers(0, 200, 300) for _ in range(9)]
    runs = []
    for number, keys in enumerate(everything):
        distinct = np.array(list(dict.fromkeys(keys.tolist())))
        sort = np.argsort(distinct)
        counts = np.array([(keys == key).sum() for key in distinct])
        runs.append(Run(distinct[sort], counts[sort], (number << 40) + sort))
    joined = np.concatenate(everything).tolist()
    for least in (1, 3, 12, 99):
        keys, counts = merged(runs, least)
        expected = [key for key in dict.fromkeys(joined) if joined.count(key) >= least]
        assert keys.tolist() == expected
        assert counts.tolist() == [joined.count(key) for key in expected]


def test_cut_shards_are_the_text(data):
    folder, _ = data
    pieces = list(files_source(f"{folder}/data").pieces())
    for tokens in (1, 50, 10**6):
        found = list(cut(pieces, tokens))
        assert all(c.n_tokens >= tokens for c in found[:-1])
        assert concatenate(found, "x").sentences() == concatenate(pieces, "x").sentences()


def test_stored_objects(tmp_path):
    value = {"a": np.arange(5), "zeros": np.zeros((1000, 3)), "none": np.empty(0, np.int32), "text": ["x"]}
    stored.store(tmp_path / "f", value)
    assert (tmp_path / "f").stat().st_size < 2000
    found = stored.load(tmp_path / "f")
    assert found["text"] == ["x"]
    assert all(np.array_equal(found[k], value[k]) for k in ("a", "zeros", "none"))
    found["a"][0] = found["zeros"][0] = 7  # private
    assert stored.load(tmp_path / "f")["a"][0] == 0
    stored.store(tmp_path / "g", os.system)
    refused_with_remedy(lambda: stored.load(tmp_path / "g"), "g", "system")
    whole = (tmp_path / "f").read_bytes()
    for damaged in (b"", b"x" * 100, whole[:60], whole[:-30], whole[:40] + b"?" + whole[41:]):
        (tmp_path / "f").write_bytes(damaged)
        refused_with_remedy(lambda: stored.load(tmp_path / "f"), "f")


# ---------------------------------------------------------------------- bad input


def test_bad_input(data, small, monkeypatch):
    folder, found = data
    X, y = [[w for w, _ in s] for s in found], [[y for _, y in s] for s in found]
    tagger, work = Tagger(template=TEMPLATE, max_iter=2), folder / "work"
    refused_with_remedy(lambda: tagger.fit(iter(X), y, work_dir=work), "generator", "only once")
    refused_with_remedy(lambda: tagger.fit(X, y[1:], work_dir=work), "give as many")
    refused_with_remedy(lambda: tagger.fit(f"{folder}/nothing*", work_dir=work), "nothing*", "no file")
    refused_with_remedy(lambda: tagger.fit([folder / "gone.txt"], work_dir=work), "gone.txt")
    refused_with_remedy(lambda: Tagger(criterion="perceptron").fit(folder / "data", work_dir=work), "all sentences")
    refused_with_remedy(lambda: Tagger(optimizer="sgd").fit(folder / "data", work_dir=work), "sgd")
    refused_with_remedy(lambda: Tagger(l2="auto").fit(folder / "data", work_dir=work), "auto")
    refused_with_remedy(lambda: memory_of("lots"), "lots")
    (folder / "data" / "c.txt").write_text("a b c\n")
    refused_with_remedy(lambda: tagger.fit(folder / "data", work_dir=work), "c.txt", "3 columns")
    (folder / "data" / "c.txt").unlink()
    held = WorkFolder(work)
    refused_with_remedy(lambda: tagger.fit(folder / "data", work_dir=work), "in use")
    held.close()
    assert sources([f"{folder}/data/a*", folder / "data"]) == [
        f"{folder}/data/{name}" for name in ("a.txt", "a.txt", "b.txt.gz")
    ]
    model = folder / "model"
    monkeypatch.setattr(distributed, "ANSWER", 1)
    sentence = refusal("train", folder / "data", "--scheduler", "tcp://127.0.0.1:9", "-o", model, "--quiet")
    assert "no scheduler answers" in sentence
    sentence = refusal("train", folder / "data", "--scheduler", "tcp://a:1", "--workers", 2, "-o", model)
    assert "give one of them" in sentence
    assert not model.exists()


def test_a_shard_that_changes_or_goes_while_training(data, small):
    folder, _ = data
    work = folder / "work"

    def change(iteration):
        if iteration.number == 2:
            path = next(work.glob("objective-*"))
            content = path.read_bytes()
            path.unlink()
            if change.again:
                path.write_bytes(content)

    for again, part in ((False, "gone"), (True, "changed")):
        change.again = again
        tagger = Tagger(template=TEMPLATE, callbacks=[change])
        refused_with_remedy(lambda tagger=tagger: tagger.fit(folder / "data", work_dir=work), "objective-", part)
    source = files_source(folder / "data")
    list(source.pieces())
    write(folder / "data" / "a.txt", corpus(2, 5))
    refused_with_remedy(source.check, "a.txt", "changed")
    (folder / "data" / "a.txt").unlink()
    refused_with_remedy(source.check, "a.txt")


def test_a_full_work_folder_loses_nothing(data, small, monkeypatch):
    folder, _ = data
    work, model = folder / "work", folder / "model"
    options = ["--template", folder / "template", "--work-dir", work, "-o", model, "--quiet"]
    run("train", folder / "data", *options)
    kept, real = model.read_bytes(), stored.write_atomically

    monkeypatch.setattr(stored, "write_atomically", lambda path, content: _as_on_a_full_disk(real, path, content))
    sentence = refusal("train", folder / "data", *options, "--min-count", 2)
    assert "No space left" in sentence
    assert "free some space" in sentence
    assert model.read_bytes() == kept
    monkeypatch.undo()
    run("train", folder / "data", *options, "--min-count", 2)


def _as_on_a_full_disk(write_atomically, path, content):
    """Write as on a disk that fills up at the first shard."""

    def pieces():
        for number, piece in enumerate(content):
            if number == 1 and os.path.basename(path).startswith("part-0"):
                raise OSError(28, "No space left on device")
            yield piece

    write_atomically(path, pieces())


def test_workers_of_another_version(monkeypatch):
    class Client:
        def __init__(self, answer):
            self.answer = answer

        def run(self, function):
            if isinstance(self.answer, Exception):
                raise self.answer
            return {"tcp://other:1": self.answer} if self.answer else {}

    other = distributed.versions() | {"loglin": "0.0.1"}
    refused_with_remedy(lambda: distributed.Workers(Client(other)), "tcp://other:1", "loglin 0.0.1")
    refused_with_remedy(
        lambda: distributed.Workers(Client(ModuleNotFoundError("No module named 'loglin'"))), "no loglin"
    )
    refused_with_remedy(lambda: distributed.Workers(Client(None)), "no workers")
