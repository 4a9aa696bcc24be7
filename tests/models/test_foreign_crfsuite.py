"""Models of CRFsuite, read and written, against python-crfsuite."""

from __future__ import annotations

import random

import numpy as np
import pytest

from loglin import LoglinError, Tagger
from loglin.models import foreign

pycrfsuite = pytest.importorskip("pycrfsuite")

WORDS = ["ovo", "leche", "straße", "naïve", "日本", "ё", "a:b", "back\\slash", "x" * 30, "7"]
LABELS = ["B-ÖL", "I-ÖL", "O", "数"]
ALGORITHMS = {"lbfgs": {"max_iterations": 20}, "l2sgd": {"max_iterations": 10}, "ap": {}, "pa": {}, "arow": {}}
POSSIBLE = {"feature.possible_states": True, "feature.possible_transitions": True, "max_iterations": 20}
CASES = [(name, given) for name, given in ALGORITHMS.items()] + [("lbfgs", POSSIBLE)]


def sentences(n: int, seed: int) -> list[list[dict]]:
    """Tokens with attributes of value 1 and of other values, some of them without any."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        words = [rng.choice(WORDS) for _ in range(rng.randint(1, 9))]
        found.append([{"w": w, "long": len(w) > 3, "size": len(w) / 7} if w != "7" else {} for w in words])
    return found


def labels(sentence: list[dict], rng: random.Random) -> list[str]:
    return [LABELS[len(token.get("w", "")) % 4] if rng.random() < 0.8 else rng.choice(LABELS) for token in sentence]


def trained(path, algorithm: str, given: dict) -> None:
    trainer, rng = pycrfsuite.Trainer(algorithm, given, verbose=False), random.Random(1)
    for sentence in sentences(60, 1):
        trainer.append(sentence, labels(sentence, rng))
    trainer.train(str(path))


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}{len(case[1])}")
def model(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("peer") / "m.crfsuite"
    trained(path, *request.param)
    return path


def opened(path):
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def test_labels_and_marginals_are_the_peers(model):
    peer, ours, texts = opened(model), Tagger.from_model(foreign.load(model)), sentences(300, 2)
    for sentence, found in zip(texts, ours.predict(texts), strict=True):
        best = peer.tag(sentence)
        if found != best:  # CRFsuite draws from rand(), and some of the models that it learns have ties
            assert peer.probability(found) == pytest.approx(peer.probability(best), rel=1e-12)
    for sentence in texts[:40]:
        peer.set(sentence)
        expected = [[peer.marginal(label, t) for label in ours.classes_] for t in range(len(sentence))]
        np.testing.assert_allclose(ours.predict_proba([sentence])[0], expected, atol=1e-9)


def test_it_is_saved_and_loaded_like_any_other(model, tmp_path):
    texts, imported = sentences(50, 3), foreign.load(model)
    imported.save(tmp_path / "m")
    assert Tagger.load(tmp_path / "m").predict(texts) == Tagger.from_model(imported).predict(texts)
    assert imported.record["imported"] == "CRFsuite"


def test_what_is_exported_is_what_was_imported(model, tmp_path):
    foreign.export(foreign.load(model), "crfsuite", tmp_path / "again")
    first, second = opened(model), opened(tmp_path / "again")
    assert second.labels() == first.labels()
    for part in ("transitions", "state_features", "attributes"):
        assert getattr(second.info(), part) == getattr(first.info(), part)
    for sentence in sentences(100, 4):
        assert second.tag(sentence) == first.tag(sentence)


def test_our_own_model_is_tagged_by_the_peer(tmp_path):
    rng, texts = random.Random(1), sentences(80, 5)
    tagger = Tagger(l2=0.5).fit(texts, [labels(sentence, rng) for sentence in texts])
    foreign.export(tagger.model_, "crfsuite", tmp_path / "m")
    peer, new = opened(tmp_path / "m"), sentences(200, 6)
    assert [peer.tag(sentence) for sentence in new] == tagger.predict(new)


def test_templates_and_base_models_are_refused(tmp_path):
    X, y = [["a", "b"], ["c"]], [["X", "Y"], ["X"]]
    for tagger, word in ((Tagger(), "template"), (Tagger(criterion="hmm"), "base model")):
        with pytest.raises(LoglinError, match=word):
            foreign.export(tagger.fit(X, y).model_, "crfsuite", tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_damaged_files_are_refused_or_sane(tmp_path):
    """Every byte of the structure changed once, and every length cut off: one sentence, or a model that tags."""
    path = tmp_path / "m"
    trained(path, "lbfgs", {"max_iterations": 3})
    whole, texts = path.read_bytes(), sentences(3, 7)
    rng = random.Random(0)
    places = [*range(60), *rng.sample(range(len(whole)), 400)]
    damaged = [whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :] for at in places]
    damaged += [whole[: rng.randrange(len(whole))] for _ in range(50)]
    messages = []
    for content in damaged:
        try:
            tagger = Tagger.from_model(foreign.loads(content))
        except LoglinError as error:
            messages.append(str(error))
            continue
        assert [len(y) for y in tagger.predict(texts)] == [len(sentence) for sentence in texts]
    assert len(messages) > 150
    assert not [message for message in messages if "\n" in message]


def test_a_small_file_takes_no_large_memory(tmp_path):
    n = 30_000
    model = Tagger().fit([[["a"]]], [["x"]]).model_
    model.labels = [f"l{i}" for i in range(n)]
    model.index.n_labels = n
    foreign.export(model, "crfsuite", tmp_path / "m")
    with pytest.raises(LoglinError, match="30,000 labels, too many for its size"):
        foreign.load(tmp_path / "m")
