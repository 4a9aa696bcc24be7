"""A session: what is proposed, learnt, undone, refused and exported."""

from __future__ import annotations

import json

import numpy as np
import pytest

from loglin import Tagger
from loglin.annotate import pool
from loglin.annotate.classifying import Classifying
from loglin.annotate.export import exported
from loglin.annotate.rules import Rules
from loglin.annotate.session import CHECKED, Conflict, Query, Session
from loglin.annotate.spans import Phrases, Single, Span
from loglin.annotate.tagging import Tagging, doubts
from loglin.annotate.work import Work
from loglin.demo.ingredients import generate
from loglin.errors import LoglinError

LINES = generate(120, seed=0)
TYPES = ["QTY", "UNIT", "NAME", "PREP", "COMMENT"]
NOTATION = Phrases()


def items():
    return pool.numbered("lines", (pool.sentence([word for word, _ in line]) for line in LINES))


def X_of(number):
    return [word for word, _ in LINES[number]]


def y_of(number):
    return [label for _, label in LINES[number]]


def gold(number):
    return [list(span) for span in NOTATION.spans(y_of(number))]


@pytest.fixture
def session(tmp_path):
    made = opened(tmp_path)
    yield made
    made.close()


def opened(folder, **told):
    return Session(Tagging(TYPES, NOTATION, Rules(NOTATION), **told), items(), str(folder / "j.jsonl"))


def accept(session, number, page="p", **more):
    told = {"spans": gold(number)} | more
    return session.do({"do": "answer", "item": number, "revision": session.work.revision[number], "page": page, **told})


# ---------------------------------------------------------------------- spans and labels


def test_spans_and_labels_are_each_other():
    labels = ["B-A", "I-A", "O", "B-B", "B-B", "I-B"]
    spans = NOTATION.spans(labels)
    assert spans == [(0, 2, "A"), (3, 4, "B"), (4, 6, "B")]
    assert NOTATION.labels(spans, 6) == labels
    assert Single().labels([Span(0, 1, "N"), Span(2, 3, "V")], 3) == ["N", None, "V"]


def test_what_was_done_is_what_a_replay_says():
    """Random actions with undos: the state is that of the actions that were not undone."""
    rng, work, kept = np.random.default_rng(0), Work(), []
    for _ in range(300):
        if kept and rng.random() < 0.3:
            number, _ = kept.pop()
            work.add({"do": "undo", "entry": number})
            continue
        item = int(rng.integers(6))
        entry = [
            {"do": "answer", "item": item, "spans": [], "n": len(work.entries)},
            {"do": "skip", "item": item},
            {"do": "flag", "item": item, "flagged": bool(rng.integers(2))},
            {"do": "always", "words": [str(item)], "type": "A"},
        ][rng.integers(4)]
        work.add(entry)
        kept.append((len(work.entries), entry))
    said = [entry for _, entry in kept]
    last = {}
    for entry in said:
        if entry["do"] == "answer":
            last[entry["item"]] = entry
    flags = {entry["item"]: entry["flagged"] for entry in said if entry["do"] == "flag"}
    assert work.answers == last
    assert work.flagged == {item for item, flagged in flags.items() if flagged}
    assert work.always == {tuple(e["words"]): "A" for e in said if e["do"] == "always"}
    again = Work.of(work.entries)
    assert (again.answers, again.skipped, again.revision) == (work.answers, work.skipped, work.revision)


# ---------------------------------------------------------------------- learning


def test_doubts_are_those_of_the_listed_labelings():
    """Against all label sequences of a sentence, listed."""
    X, y = [X_of(n) for n in range(20)], [y_of(n) for n in range(20)]
    model = Tagger(threads=1).fit(X, y)
    short = [["1", "cup"], ["salt"]]
    for tokens, entropy, worst in zip(
        short, doubts(model, short, "entropy"), doubts(model, short, "token"), strict=True
    ):
        n, L = len(tokens), len(model.classes_)
        listed = model.predict_nbest([tokens], L**n)[0]
        p = np.array([share for _, share in listed])
        assert p.sum() == pytest.approx(1)
        assert entropy == pytest.approx(-(p * np.log(p)).sum(), abs=1e-9)
        tables = np.zeros((n, L))
        for labels, share in listed:
            for t, label in enumerate(labels):
                tables[t, model.classes_.index(label)] += share
        assert worst == pytest.approx(1 - tables.max(axis=1).min())


def test_the_least_certain_come_first_and_every_item_once(session):
    for _ in range(3):
        accept(session, session.next("p", Query())["item"])
    learned = session.learner.wait()
    assert learned.entries == 3
    first = session.next("p", Query())["item"]
    open_ = [n for n in range(len(LINES)) if n not in session.work.answers]
    assert first == max(open_, key=lambda n: learned.doubts[n])
    seen = set()
    while (item := session.next("p", Query("random"))) is not None:
        assert item["item"] not in seen
        seen.add(item["item"])
        session.do({"do": "skip", "item": item["item"], "revision": item["revision"], "page": "p"})
    assert seen == set(open_)


def test_undecided_tokens_are_learnt_as_partial_labels(session):
    number = 0
    spans = gold(number)[:1]
    start, stop, type_ = spans[0]
    rest = [t for t in range(len(LINES[number])) if not start <= t < stop]
    accept(session, number, spans=spans, undecided=rest)
    target = session.task.target(session.items[number], session.work.answers[number], session.work)
    assert target[start] == f"B-{type_}"
    follows = target[stop]
    assert isinstance(follows, set)
    assert f"I-{type_}" not in follows, "the span would be longer than it was marked"
    assert "O" in follows
    assert [target[t] for t in rest if t != stop] == [None] * (len(rest) - 1)
    model = session.learner.wait().model
    reference = Tagger(threads=1).fit([X_of(number)], [target])
    assert model.predict_proba([["1", "cup"]])[0] == pytest.approx(reference.predict_proba([["1", "cup"]])[0])


def test_the_model_of_a_session_is_that_of_fit(session):
    for number in range(12):
        accept(session, number)
    learned = session.learner.wait()
    X = [X_of(n) for n in range(12)]
    y = [y_of(n) for n in range(12)]
    exact = Tagger(threads=1, tol=1e-6).fit(X, y)
    test = [X_of(n) for n in range(12, 120)]
    alike = np.mean(
        [
            a == b
            for p, q in zip(learned.model.predict(test), exact.predict(test), strict=True)
            for a, b in zip(p, q, strict=True)
        ]
    )
    assert alike > 0.97


def test_every_item_is_predicted_before_it_is_learnt(session):
    for number in range(30):
        before = session.learner.wait()
        item = session.shown(number)
        said = [[s["start"], s["stop"], s["type"]] for s in item["proposal"]["spans"]]
        accept(session, number)
        entry = session.work.answers[number]
        assert entry["proposed"] == (None if before.model is None else said)
        assert before.entries == number
    point = session.state()["curve"][-1]
    judged = [a for a in session.work.answers.values() if a["proposed"] is not None][-30:]
    right = sum(len({tuple(s) for s in a["proposed"]} & {tuple(s) for s in a["spans"]}) for a in judged)
    both = sum(len(a["proposed"]) + len(a["spans"]) for a in judged)
    assert point["agreement"] == pytest.approx(2 * right / both)


def test_every_twentieth_item_is_drawn_at_random_and_asked_for_wholly(tmp_path):
    session = opened(tmp_path, threshold=0.5)
    for number in range(CHECKED - 1):
        accept(session, number)
    session.learner.wait()
    item = session.next("p", Query())
    assert item["check"]
    assert item["proposal"]["asked"] == list(range(len(item["places"])))
    accept(session, item["item"])
    assert session.state()["checks"]["of"] == 1
    session.close()


def test_a_threshold_asks_only_for_what_is_uncertain(tmp_path):
    session = opened(tmp_path, threshold=0.8)
    assert session.shown(3)["proposal"]["asked"] == list(range(len(LINES[3])))
    for number in range(15):
        accept(session, number)
    session.learner.wait()
    for number in range(15, 40):
        proposal = session.shown(number)["proposal"]
        uncertain = [t for t, p in enumerate(proposal["certainty"]) if p < 0.8]
        assert proposal["asked"] == (uncertain or list(range(len(LINES[number]))))
    session.close()


# ---------------------------------------------------------------------- the dictionary


def test_words_that_are_always_something_are_proposed_so_everywhere(session):
    for number in range(10):
        accept(session, number)
    session.learner.wait()
    number = next(n for n in range(10, 120) if len(LINES[n]) > 3)
    words = [word for word, _ in LINES[number][1:3]]
    session.do({"do": "always", "words": words, "type": "COMMENT", "page": "p"})
    found = session.shown(number)["proposal"]["spans"]
    assert any(s["start"] <= 1 and s["stop"] >= 3 and s["type"] == "COMMENT" for s in found)
    span = next([s["start"], s["stop"], "COMMENT"] for s in found if s["type"] == "COMMENT")
    session.do({"do": "never", "item": number, "revision": 0, "span": span, "page": "p"})
    assert not any(
        s["type"] == "COMMENT" and s["start"] < 3 and s["stop"] > 1 for s in session.shown(number)["proposal"]["spans"]
    )
    session.do({"do": "undo", "page": "p"})
    session.do({"do": "undo", "page": "p"})
    assert session.work.always == {}
    assert session.work.never == {}


def test_a_dictionary_speaks_where_no_model_does(tmp_path):
    file = tmp_path / "words.dict"
    file.write_text("olive oil\tNAME\ncup UNIT\n1 QTY\nof O\n")
    task = Tagging(TYPES, NOTATION, Rules.of_file(str(file), NOTATION))
    item = pool.numbered("x", [pool.sentence(["1", "cup", "of", "olive", "oil"])])[0]
    spans = task.proposal(None, item, Work())["spans"]
    assert [(s["start"], s["stop"], s["type"]) for s in spans] == [(0, 1, "QTY"), (1, 2, "UNIT"), (3, 5, "NAME")]


def test_the_mixture_learns_from_what_nobody_has_read(tmp_path):
    rules = Rules(NOTATION, {("cup",): frozenset(["UNIT"]), ("cups",): frozenset(["UNIT"])})
    session = Session(Tagging(TYPES, NOTATION, rules, mixture=True), items()[:40], str(tmp_path / "j.jsonl"))
    for number in range(8):
        accept(session, number)
    learned = session.learner.wait()
    assert learned.failure == ""
    assert learned.model.model_.record["criterion"] == "mixture"
    assert set(learned.model.predict([["7", "cups", "rice"]])[0]) <= set(session.task.names)
    session.close()


def test_a_given_model_proposes_and_teaches(tmp_path):
    X, y = [X_of(n) for n in range(60, 120)], [y_of(n) for n in range(60, 120)]
    teacher = Tagger(threads=1).fit(X, y)
    session = opened(tmp_path, teacher=teacher)
    session.learner.wait()
    number = 1
    proposed = [(s["start"], s["stop"], s["type"]) for s in session.shown(number)["proposal"]["spans"]]
    assert proposed == NOTATION.spans(teacher.predict([session.items[number].words])[0])
    accept(session, number)
    learned = session.learner.wait()
    test = [X_of(n) for n in range(2, 60)], [y_of(n) for n in range(2, 60)]
    alone = Tagger(threads=1).fit([X_of(1)], [y_of(1)]).evaluate(*test).f1
    assert learned.model.evaluate(*test).f1 > max(0.9 * teacher.evaluate(*test).f1, alone)
    session.close()


# ---------------------------------------------------------------------- pages


def test_two_pages_do_not_overwrite_each_other(session):
    first, second = session.next("one", Query()), session.next("two", Query())
    assert first["item"] != second["item"]
    stale = session.shown(first["item"])["revision"]
    accept(session, first["item"], page="one")
    with pytest.raises(Conflict, match="changed by another page"):
        session.do({"do": "answer", "item": first["item"], "revision": stale, "page": "two", "spans": []})
    assert session.work.answers[first["item"]]["spans"] == gold(first["item"])


def test_undo_takes_back_the_last_of_its_page(session):
    accept(session, 0, page="one")
    accept(session, 1, page="two")
    session.do({"do": "undo", "page": "one"})
    assert list(session.work.answers) == [1]
    session.do({"do": "undo", "page": "one"})
    assert not session.work.answers
    with pytest.raises(LoglinError, match="nothing to undo"):
        session.do({"do": "undo", "page": "one"})


def test_a_session_resumes(tmp_path):
    session = opened(tmp_path)
    for number in range(4):
        accept(session, number)
    session.do({"do": "flag", "item": 9, "revision": 0, "flagged": True, "page": "p"})
    session.do({"do": "undo", "page": "p"})
    before = session.state()
    session.close()
    session = opened(tmp_path)
    after = session.state()
    assert {k: after[k] for k in before if k != "learnt"} == {k: before[k] for k in before if k != "learnt"}
    session.close()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"do": "dance"}, "give one of"),
        ({"do": "answer", "item": 999, "revision": 0, "spans": []}, "there is no item"),
        ({"do": "answer", "item": True, "revision": 0, "spans": []}, "there is no item"),
        ({"do": "answer", "item": 1, "revision": 0}, "no list"),
        ({"do": "answer", "item": 1, "revision": 0, "spans": [[0, 99, "QTY"]]}, "outside"),
        ({"do": "answer", "item": 1, "revision": 0, "spans": [[0, 1, "DOG"]]}, "not among"),
        ({"do": "answer", "item": 1, "revision": 0, "spans": [[0, 2, "QTY"], [1, 2, "UNIT"]]}, "overlap"),
        ({"do": "answer", "item": 1, "revision": 0, "spans": [], "undecided": [77]}, "undecided"),
        ({"do": "always", "words": [], "type": "QTY"}, "words"),
        ({"do": "always", "words": ["a"], "type": "DOG"}, "not among"),
        ({"do": "never", "item": 1, "revision": 0, "span": "x"}, "is not"),
    ],
)
def test_wrong_actions_are_refused_and_not_saved(session, given, said):
    before = session.journal.path.read_bytes()
    with pytest.raises(LoglinError, match=said):
        session.do(given)
    assert session.journal.path.read_bytes() == before


def test_a_journal_that_does_not_fit_is_refused(tmp_path):
    session = opened(tmp_path)
    session.close()
    with open(tmp_path / "j.jsonl", "a") as file:
        file.write('{"do":"answer","item":3,"spans":[[0,50,"QTY"]],"undecided":[]}\n')
    with pytest.raises(LoglinError, match="line 2 is no entry"):
        opened(tmp_path)


# ---------------------------------------------------------------------- exports


def test_exports_hold_what_was_said(session, tmp_path):
    accept(session, 5)
    spans = gold(2)[:1]
    accept(session, 2, spans=spans, undecided=list(range(spans[0][1], len(LINES[2]))))
    blocks = exported(session, "columns")[1].decode().strip().split("\n\n")
    rows = [[tuple(line.split("\t")) for line in block.split("\n")] for block in blocks]
    assert rows[1] == list(LINES[5])
    assert [label for _, label in rows[0]] == [
        label if t < spans[0][1] else "_" for t, (_, label) in enumerate(LINES[2])
    ]
    first, second = map(json.loads, exported(session, "jsonl")[1].decode().splitlines())
    assert first["labels"][-1] is None
    assert second["labels"] == y_of(5)
    for entity, (start, stop, type_) in zip(second["entities"], gold(5), strict=True):
        assert second["text"][entity["start"] : entity["end"]] == " ".join(w for w, _ in LINES[5][start:stop])
        assert entity["type"] == type_
    (tmp_path / "a.model").write_bytes(exported(session, "model")[1])
    model = Tagger.load(tmp_path / "a.model")
    assert model.predict([["1", "cup"]]) == session.learner.now.model.predict([["1", "cup"]])


def test_a_docbin_is_read_by_spacy(session):
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    from spacy.tokens import DocBin

    accept(session, 5)
    accept(session, 2, spans=[], undecided=[0])
    docs = list(DocBin().from_bytes(exported(session, "docbin")[1]).get_docs(spacy.blank("xx").vocab))
    assert [(e.start, e.end, e.label_) for e in docs[1].ents] == [tuple(span) for span in gold(5)]
    assert docs[1].text == session.items[5].text
    assert [token.ent_iob for token in docs[0]][:2] == [0, 2]


def test_nothing_is_exported_from_nothing(session):
    for form in ("columns", "jsonl", "model"):
        with pytest.raises(LoglinError, match="annotate"):
            exported(session, form)


# ---------------------------------------------------------------------- documents, files


def test_documents_are_classified(tmp_path):
    file = tmp_path / "docs.txt"
    sport, law = ["the ball and goal", "goal in time", "ball game"], ["new law was passed", "old law", "vote on law"]
    file.write_text("".join(text + "\n" for text in (*sport, *law)))
    session = Session(Classifying(["sport", "law"]), pool.read_documents(str(file)), str(tmp_path / "j.jsonl"))
    for number, label in ((0, "sport"), (3, "law"), (1, "sport"), (4, "law")):
        session.do({"do": "answer", "item": number, "revision": 0, "page": "p", "label": label})
        learned = session.learner.wait()
    assert session.shown(2)["proposal"]["label"] == "sport"
    assert session.shown(5)["proposal"]["label"] == "law"
    assert learned.doubts.shape == (6,)
    lines = [json.loads(line) for line in exported(session, "jsonl")[1].decode().splitlines()]
    assert [(line["text"], line["label"]) for line in lines] == [(t, "sport") for t in sport[:2]] + [
        (t, "law") for t in law[:2]
    ]
    session.close()


def test_files_of_all_forms_are_read(tmp_path):
    from loglin.corpus.tokenizing import tokenizer

    words = tokenizer("words")
    raw, table, objects = tmp_path / "a.txt", tmp_path / "a.conll", tmp_path / "a.jsonl"
    raw.write_text("  Don't  panic!\n\nYes.\n")
    table.write_text("Don't\npanic\n!\n\nYes\n.\n")
    objects.write_text('{"text": "Don\'t panic!"}\n{"tokens": ["Yes", "."], "labels": ["O", "O"]}\n')
    for file in (raw, table, objects):
        found = pool.read(str(file), words)
        assert [item.words for item in found] == [["Don't", "panic", "!"], ["Yes", "."]]
        assert [item.number for item in found] == [0, 1]
    assert pool.read(str(objects), words)[1].given == ["O", "O"]
    assert pool.digest(pool.read(str(raw), words)) != pool.digest(pool.read(str(table), words))


def test_labels_in_the_file_are_answers_from_the_start(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"tokens": ["Ann", "Lee", "met"], "labels": ["I-PER", "I-PER", "O"]}\n{"tokens": ["Bo", "ran"]}\n')
    from loglin.corpus.tokenizing import tokenizer

    found = pool.read(str(file), tokenizer("words"))
    session = Session(Tagging(["PER"], NOTATION, Rules(NOTATION)), found, str(tmp_path / "j.jsonl"))
    assert session.work.answers[0]["spans"] == [[0, 2, "PER"]]
    assert list(session.work.answers) == [0]
    session.close()
