"""Every path of the service: answers that are those of the estimators, and refusals in one sentence."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from loglin import LanguageModel, MaxEnt, Parser, Tagger
from support.asgi import ask, exchange

TEXT = "2 cups brown-sugar, 1 pinch of salt"
TAG = "/tag?model=kitchen"


# ---------------------------------------------------------------------- answers


def test_tag_says_what_the_tagger_says(app, tagger):
    reply = ask(app, TAG, {"text": TEXT})
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    value = reply.value
    assert value["labels"] == tagger.predict([TEXT])[0]
    assert [TEXT[b:e] for b, e in value["spans"]] == value["tokens"]
    assert value["model"] == "kitchen"
    tokens = ask(app, TAG, {"tokens": value["tokens"]}).value
    assert tokens == {"model": "kitchen", "tokens": value["tokens"], "labels": value["labels"]}


def test_all_that_may_be_asked_about_a_sentence(app, tagger):
    asked = {"entities": True, "marginals": True, "nbest": 3, "votes": True}
    value = ask(app, TAG, {"text": TEXT} | asked).value
    entities = tagger.entities([TEXT])[0]
    assert value["entities"] == [vars(entity) for entity in entities]
    assert all(TEXT[e["start_char"] : e["end_char"]] == e["text"] for e in value["entities"])
    for row, other in zip(value["marginals"], tagger.predict_marginals([TEXT])[0], strict=True):
        assert row == pytest.approx(other, abs=1e-8)
    ranked = [{"labels": labels, "probability": p} for labels, p in tagger.predict_nbest([TEXT], 3)[0]]
    assert value["nbest"] == ranked
    votes = [vote.as_dict() for vote in tagger.explain(TEXT, 1).votes]
    assert value["votes"][1] == votes
    query = "&".join(f"{name}={json.dumps(one)}" for name, one in asked.items())
    assert ask(app, f"{TAG}&{query}", {"text": TEXT}).value == value  # in the query as well
    assert "entities" not in ask(app, TAG, {"text": TEXT, "entities": False}).value


def test_a_batch_is_answered_in_its_order(app):
    items = [{"text": TEXT}, {"tokens": ["3", "eggs"]}, {"text": ""}] * 200  # more than are answered at once
    value = ask(app, TAG, {"batch": items, "entities": True}).value
    alone = [ask(app, TAG, item | {"entities": True}).value for item in items[:3]]
    assert value["model"] == "kitchen"
    assert [{"model": "kitchen"} | one for one in value["results"]] == alone * 200
    assert ask(app, TAG, {"batch": []}).value == {"model": "kitchen", "results": []}


def test_columns_and_attributes(app, folder):
    columns = ask(app, "/tag?model=columns", {"tokens": [["2", "X"], ["cups", "X"]]}).value
    assert columns["labels"] == Tagger.load(folder / "columns.model").predict([[("2", "X"), ("cups", "X")]])[0]
    attributes = ask(app, "/tag?model=attributes", {"tokens": [{"w": "2"}, {"w": "cups"}]}).value
    assert attributes["labels"] == Tagger.load(folder / "attributes.model").predict([[{"w": "2"}, {"w": "cups"}]])[0]


def test_classify(app, folder):
    value = ask(app, "/classify?model=topics", {"text": "A goal!", "nbest": 1, "votes": True}).value
    model = MaxEnt.load(folder / "topics.model")
    assert value["label"] == model.predict(["A goal!"])[0] == "sport"
    assert value["probabilities"] == dict(
        zip(model.classes_.tolist(), model.predict_proba(["A goal!"])[0], strict=True)
    )
    assert value["nbest"] == [{"label": "sport", "probability": value["probability"]}]
    assert value["votes"] == [vote.as_dict() for vote in model.explain("A goal!")]
    same = ask(app, "/classify?model=topics", {"features": {"a": 1, "goal": 1.0}}).value
    assert same["probabilities"] == value["probabilities"]
    sets = ask(app, "/classify?model=sets", {"batch": [{"text": "goal court"}, {"features": ["goal"]}]}).value
    found = MaxEnt.load(folder / "sets.model").predict(["goal court", "goal"])
    assert [set(one["labels"]) for one in sets["results"]] == found


def test_parse(app, folder):
    value = ask(app, "/parse", {"text": "the crow ate", "nbest": 2, "probabilities": True}).value
    parser = Parser.load(folder / "trees.model")
    assert value["tree"] == str(parser.predict([["the", "crow", "ate"]])[0])
    assert value["nbest"] == [parse.as_dict() for parse in parser.parse_nbest([["the", "crow", "ate"]], 2)[0]]
    assert {"label": "NP", "begin": 0, "end": 2, "probability": 1.0} in value["phrases"]
    assert value["complete"] is True


def test_next(app, folder):
    value = ask(app, "/next", {"text": "the crow", "k": 2}).value
    ranked = LanguageModel.load(folder / "words.model").next("the crow", 2)
    assert value["next"] == [{"word": word, "probability": p} for word, p in ranked]
    assert ask(app, "/next", {"tokens": ["the", "crow"], "k": 2}).value == value


def test_explain(app, folder, tagger):
    value = ask(app, "/explain?model=kitchen", {"text": TEXT, "position": 1}).value
    assert value["explanation"] == tagger.explain(TEXT, 1).as_dict()
    assert value["labels"] == tagger.predict([TEXT])[0]
    least = ask(app, "/explain?model=kitchen", {"text": TEXT}).value
    assert least["probabilities"][least["position"]] == min(least["probabilities"])
    topics = ask(app, "/explain?model=topics", {"text": "goal unheard"}).value
    assert topics["label"] == "sport"
    assert topics["unknown"] == ["unheard"]
    tree = ask(app, "/explain?model=trees", {"text": "mice ate", "span": [0, 1]}).value["explanation"]
    assert (tree["label"], tree["begin"], tree["end"]) == ("NP+N", 0, 1)
    word = ask(app, "/explain?model=words", {"text": "the crow", "word": "sat"}).value
    model = LanguageModel.load(folder / "words.model")
    assert word["probability"] == pytest.approx(model.probability("the crow", "sat"))
    assert word["votes"] == [{"feature": v.feature, "weight": v.weight} for v in model.explain("the crow", "sat")]


def test_requests_that_arrive_together_are_answered_together(app, served):
    (kitchen,) = (one for one in served if one.name == "kitchen")
    before, texts = kitchen.counts.batches, [f"{n} cups flour" for n in range(40)]

    async def together():
        headers = {"content-type": "application/json"}
        bodies = [[json.dumps({"text": text}).encode()] for text in texts]
        return await asyncio.gather(*(exchange(app, "POST", TAG, body, headers) for body in bodies))

    replies = asyncio.run(together())
    assert [reply.value["tokens"] for reply in replies] == [text.split() for text in texts]
    assert kitchen.counts.batches - before < 20


def test_one_bad_request_does_not_spoil_others_that_arrive_with_it(app):
    async def together():
        headers = {"content-type": "application/json"}
        values = [{"tokens": ["3", "eggs"]}, {"tokens": [["a", "b"]]}, {"tokens": ["2", "cups"]}] * 5
        bodies = [[json.dumps(value).encode()] for value in values]
        return await asyncio.gather(*(exchange(app, "POST", TAG, body, headers) for body in bodies))

    replies = asyncio.run(together())
    assert [reply.status for reply in replies] == [200, 422, 200] * 5
    assert "2 columns" in replies[1].value["error"]


# ---------------------------------------------------------------------- streams


def test_a_stream_is_answered_line_by_line(app):
    items = [{"text": TEXT}, {"tokens": ["3", "eggs"]}] * 300
    text = "".join(json.dumps(item) + "\n\n" for item in items).encode()
    pieces = [text[n : n + 777] for n in range(0, len(text), 777)]  # lines are cut anywhere
    reply = ask(app, f"{TAG}&entities=true", body=pieces, kind="application/x-ndjson")
    assert reply.headers["content-type"] == "application/x-ndjson"
    alone = [ask(app, f"{TAG}&entities=true", item).value for item in items[:2]]
    assert [{"model": "kitchen"} | line for line in reply.lines] == alone * 300


def test_a_stream_goes_on_after_a_bad_line(app):
    good = b'{"tokens": ["3", "eggs"]}'
    lines = [good, b"{", b'{"text": 3}', b"\xff", b'{"tokens": [["a", "b"]]}', b"x" * 200_000, b"[" * 9999, good]
    for pieces in ([b"\n".join(lines)], [line + b"\n" for line in lines]):
        found = ask(app, TAG, body=pieces, kind="application/x-ndjson").lines
        assert [one.get("line") for one in found] == [None, 2, 3, 4, 5, 6, 7, None]
        assert all("error" in one for one in found[1:-1])


def test_a_stream_answers_while_lines_come(app):
    """The first answer is sent before the last line has come."""

    async def conversation():
        sent, more = asyncio.Queue(), asyncio.Queue()
        scope = {
            "type": "http", "http_version": "1.1", "method": "POST", "path": "/tag", "raw_path": b"/tag",
            "query_string": b"model=kitchen", "headers": [(b"content-type", b"application/x-ndjson")],
            "scheme": "http", "root_path": "", "state": {}, "client": None, "server": None,
        }  # fmt: skip
        running = asyncio.create_task(app(scope, more.get, sent.put))
        for last in (False, True):
            line = json.dumps({"text": "3 eggs"}).encode() + b"\n"
            await more.put({"type": "http.request", "body": line, "more_body": not last})
            while not (message := await asyncio.wait_for(sent.get(), 5)).get("body"):
                pass
            assert json.loads(message["body"])["tokens"] == ["3", "eggs"]
        await running

    asyncio.run(conversation())


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("path", "given", "status", "message"),
    [
        ("/tag", {"text": "a"}, 422, r"several models answer /tag: .*\?model="),
        ("/tag?model=none", {"text": "a"}, 404, "no model is called 'none'; there are "),
        ("/tag?model=topics", {"text": "a"}, 422, "topics answers /classify, not /tag"),
        (TAG, {}, 422, "none of text, tokens; give one"),
        (TAG, {"text": "a", "tokens": []}, 422, "both text and tokens"),
        (TAG, {"text": 3}, 422, '"text" is 3; give a string'),
        (TAG, {"tokens": "a b"}, 422, "give a list of tokens"),
        (TAG, {"tokens": [1]}, 422, "token 0 is 1; give a string"),
        (TAG, {"tokens": [{"a": [1]}]}, 422, r"token 0: the attribute 'a' is \[1\]; give a number"),
        (TAG, {"tokens": [{"a": 1}]}, 422, "give"),
        (TAG, {"tokens": ["a"] * 201}, 413, "201 tokens, more than 200"),
        (TAG, {"text": "a " * 201}, 413, "201 tokens, more than 200"),
        (TAG, {"batch": [{"text": "a"}] * 601}, 413, "601 items, more than 600; send fewer, or a stream"),
        (TAG, {"batch": {"text": "a"}}, 422, '"batch" is .*; give a list'),
        (TAG, {"batch": ["a"]}, 422, 'item 0 of the batch is "a"; give an object'),
        (TAG, {"batch": [{"text": "a"}, {"txt": "a"}]}, 422, 'item 1 of the batch has "txt"'),
        (TAG, {"batch": [{"text": "a"}], "text": "b"}, 422, 'both "batch" and "text"'),
        (TAG, {"text": "a", "nbest": 0}, 422, '"nbest" is 0; give a whole number from 1 to 100'),
        (TAG, {"text": "a", "nbest": True}, 422, '"nbest" is true'),
        (TAG, {"text": "a", "entities": 1}, 422, '"entities" is 1; give true or false'),
        (TAG, {"text": "a", "entity": True}, 422, 'no "entity" here; there are batch, text, tokens, entities'),
        (f"{TAG}&nbest=many", {"text": "a"}, 422, '"nbest" is "many"'),
        (f"{TAG}&best=1", {"text": "a"}, 422, 'no "best" here'),
        ("/tag?%ff=1", {"text": "a"}, 400, "the query is no UTF-8"),
        (TAG, [1], 422, r"the body is \[1\]; send an object"),
        (TAG, {"text": "\ud800"}, 400, "ud800 is half a character"),
        ("/tag?model=columns", {"text": "a"}, 422, "1 column, but the model was trained on 2"),
        ("/tag?model=attributes", {"text": "a"}, 422, "tokens are strings, but the model was trained on attributes"),
        ("/classify?model=topics", {"features": {"a": None}}, 422, "'a' is null; give a number or a string"),
        ("/classify?model=topics", {"tokens": ["a"]}, 422, "none of text, features"),
        ("/parse", {"text": ""}, 422, "words"),
        ("/parse", {"tokens": ["a", ""]}, 422, "not empty"),
        ("/parse", {"tokens": [["a", "b"]]}, 422, "strings"),
        ("/next", {"tokens": [["a"]]}, 422, "not all strings"),
        ("/explain?model=kitchen", {"text": "a b", "position": 2}, 422, "position 2 is outside the sentence of 2"),
        ("/explain?model=kitchen", {"text": ""}, 422, "no tokens to explain"),
        ("/explain?model=kitchen", {"batch": [{"text": "a"}]}, 422, "a batch cannot be explained"),
        ("/explain?model=words", {"text": "a"}, 422, '"word" is missing'),
        ("/explain?model=words", {"text": "a", "word": "a b"}, 422, "no word; give one word"),
        ("/explain?model=trees", {"text": "the crow sat", "span": [2, 9]}, 422, "span|words"),
        ("/explain", {"text": "a"}, 422, "several models answer /explain"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(app, path, given, status, message):
    reply = ask(app, path, given)
    assert reply.status == status, reply
    assert reply.value.keys() == {"error"}
    assert re.search(message, reply.value["error"]), reply.value["error"]


@pytest.mark.parametrize(
    ("body", "kind", "status", "message"),
    [
        (b"", "application/json", 400, "not JSON"),
        (b"{", "application/json", 400, "not JSON"),
        (b"\xff\xfe", "application/json", 400, "no UTF-8 from byte 0 on"),
        (b'{"text": "a", "nbest": ' + b"9" * 5000 + b"}", "application/json", 400, "thousands of digits"),
        (b'{"text": NaN}', "application/json", 400, "NaN is no number"),
        (b"[" * 50_000, "application/json", 400, "nested too deep|not JSON"),
        (b'{"text": "' + b"a" * 100_000 + b'"}', "application/json", 413, "100,0.. bytes or more, over 100,000"),
        (b"text=a", "application/x-www-form-urlencoded", 415, "send application/json or application/x-ndjson"),
    ],
)
def test_bodies_that_cannot_be_read(app, body, kind, status, message):
    reply = ask(app, TAG, body=body, kind=kind)
    assert (reply.status, reply.value.keys()) == (status, {"error"}), reply
    assert re.search(message, reply.value["error"]), reply.value["error"]


def test_a_large_body_is_refused_before_it_comes(app):
    """The announced length alone is enough."""
    reply = ask(app, TAG, body=[b"{", b"never"], headers={"content-length": "100000000"})
    assert reply.status == 413


def test_a_body_that_does_not_come_is_given_up(app):
    async def waiting():
        return await exchange(app, "POST", TAG, [b'{"te', b""], {"content-length": "99"})

    async def never():
        pieces = [{"type": "http.request", "body": b'{"te', "more_body": True}]
        sent = []

        async def receive():
            if pieces:
                return pieces.pop()
            await asyncio.Event().wait()

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/tag", "query_string": b"model=kitchen", "headers": []}
        await app(scope | {"root_path": "", "state": {}, "http_version": "1.1"}, receive, send)
        return sent

    assert asyncio.run(never())[0]["status"] == 408
    assert asyncio.run(waiting()).status == 400


def test_paths_that_are_not_there(app):
    assert "nothing at /none" in ask(app, "/none").value["error"]
    reply = ask(app, "/tag", method="GET")
    assert (reply.status, reply.value["error"][:27]) == (405, "/tag does not take GET; /do")


# ---------------------------------------------------------------------- around


def test_models_and_health(app, folder):
    value = ask(app, "/models").value
    answers = {one["name"]: one["answers"] for one in value["models"]}
    assert answers == {
        "attributes": "tag", "columns": "tag", "kitchen": "tag", "sets": "classify", "topics": "classify",
        "trees": "parse", "words": "next",
    }  # fmt: skip
    kitchen = next(one for one in value["models"] if one["name"] == "kitchen")
    assert kitchen["tokenizer"] == "words"
    assert "B-UNIT" in kitchen["labels"]
    assert str(folder) not in json.dumps(value)
    assert ask(app, "/healthz").value == {"status": "ok"}


def test_metrics(app):
    ask(app, TAG, {"text": TEXT})
    ask(app, TAG, {"text": 3})
    text = ask(app, "/metrics").body.decode()
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(samples['loglin_requests_total{path="/tag",status="200"}']) >= 1
    assert float(samples['loglin_requests_total{path="/tag",status="422"}']) >= 1
    counted = float(samples['loglin_request_seconds_bucket{path="/tag",le="+Inf"}'])
    assert counted == float(samples['loglin_request_seconds_count{path="/tag"}'])
    assert float(samples['loglin_model_items_total{model="kitchen"}']) >= 1
    assert float(samples["process_resident_memory_bytes"]) > 10_000_000
    named = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    bare = {re.sub(r"_(bucket|sum|count)$", "", sample.partition("{")[0]) for sample in samples}
    assert bare == named


def test_the_description_names_every_path(app):
    found = ask(app, "/openapi.json").value
    assert {"/tag", "/classify", "/parse", "/next", "/explain", "/models", "/healthz", "/metrics"} <= found[
        "paths"
    ].keys()
    body = found["paths"]["/tag"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert {"text", "tokens", "batch", "entities", "marginals", "nbest", "votes"} == body.keys()


def test_pages_load_nothing_from_elsewhere(app):
    for path in ("/", "/docs/", "/docs/docs.js", "/docs/docs.css"):
        reply = ask(app, path)
        assert reply.status == 200
        assert "default-src 'self'" in reply.headers["content-security-policy"]
        assert b"http://" not in reply.body
        assert b"https://" not in reply.body
    assert ask(app, "/../app.py").status == 404


def test_a_token_is_asked_for(served):
    from loglin.serve.app import application

    app = application(served, served[0].limits, "secret")
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "secret"}, {"authorization": "Bearer é"}):
        for path in (TAG, "/models", "/metrics", "/explain"):
            reply = ask(app, path, method="GET" if path[1] == "m" else "POST", headers=headers)
            assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert ask(app, TAG, {"text": TEXT}, headers={"authorization": "Bearer secret"}).status == 200
    assert ask(app, "/healthz").status == 200
    assert ask(app, "/docs/").status == 200
    assert ask(app, "/models.js").status == 404
