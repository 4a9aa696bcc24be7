"""loglin neighborhood: what it counts, lists and draws."""

from __future__ import annotations

import itertools
import json
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import oracle
from loglin.drawing.lattice_svg import MANY, MOST, RADIUS, layout, svg
from loglin.drawing.lattices import LatticeDrawing
from loglin.neighborhoods import neighborhood
from support.shell import refusal, run

SENTENCE = "natural language is a delicate thing"


def drawing(name, words):
    tokens = list(dict.fromkeys(words))
    return LatticeDrawing.of(neighborhood(name).lattices([[tokens.index(w) for w in words]], len(tokens)), 0, tokens)


def test_the_lattice_as_text():
    assert run("neighborhood", "trans1", "big dogs run") == (
        "trans1: 3 sentences, 8 states, 8 arcs\n"
        "\n"
        "* 0  big → 2   dogs → 1\n"
        "  1  big → 5\n"
        "* 2  dogs → 4   run → 3\n"
        "  3  dogs → 7\n"
        "* 4  run → 6\n"
        "  5  run → 7\n"
        "* 6  end of the sentence\n"
        "  7  end of a neighbor\n"
    )
    assert run("neighborhood", "trans1", "big", "dogs", "run") == run("neighborhood", "TRANS1", " big  dogs run ")
    assert run("neighborhood", "trans1", "dogs").startswith("trans1: 1 sentence, 2 states, 1 arc\n")
    length = run("neighborhood", "length", "dogs run")
    assert length.splitlines()[0] == "length: 4 sentences, 3 states, 2 arcs"
    assert "{dogs, run} → 1" in length
    assert "any of 6 words → 1" in run("neighborhood", "length", SENTENCE)


@pytest.mark.parametrize("name", ["del1word", "delortrans1", "del1subseq", "del1word+trans1"])
def test_strings_are_the_neighbors(name):
    definition = {"del1word": oracle.del1word, "del1subseq": oracle.del1subseq}
    x = tuple(SENTENCE.split())
    expected = definition.get(name, lambda x: oracle.del1word(x) | oracle.exchanged(x, 1))(x)
    first, empty, *lines = run("neighborhood", name, SENTENCE, "--strings").splitlines()
    assert first.startswith(f"{name}: {len(expected)} sentences")
    assert empty == ""
    assert lines[0] == SENTENCE
    assert sorted(lines) == sorted(" ".join(s) for s in expected)


def test_strings_are_limited():
    lines = run("neighborhood", "length", SENTENCE, "--strings", "--limit", 3).splitlines()
    assert lines[2] == SENTENCE
    assert len(lines) == 6
    assert lines[-1] == f"… and {6**6 - 3:,} more; see --limit"
    assert (
        len(run("neighborhood", "del1subseq", " ".join("abcdefghijklmnopqrstuvwxyz"), "--strings").splitlines())
        == 2 + 100 + 1
    )
    assert "about 10^" in run("neighborhood", "length", " ".join(map(str, range(30))))
    many = json.loads(run("neighborhood", "length", " ".join(map(str, range(2000))), "--json"))
    assert many["size"] is None
    assert many["log_size"] == pytest.approx(2000 * math.log(2000))


def test_json():
    value = json.loads(run("neighborhood", "del1word", "a b a", "--strings", "--json"))
    assert value["neighborhood"] == "del1word"
    assert value["sentence"] == ["a", "b", "a"]
    assert value["size"] == 4
    assert (value["n_states"], value["n_arcs"]) == (len(value["states"]), sum(len(s["arcs"]) for s in value["states"]))
    assert sorted(value["strings"]) == sorted(map(list, oracle.del1word(("a", "b", "a"))))
    found, ahead = [], [(0, [])]
    while ahead:
        q, prefix = ahead.pop()
        if value["states"][q]["end"]:
            found.append(prefix)
        ahead += [(r, [*prefix, word]) for word, r in value["states"][q]["arcs"].items()]
    assert sorted(found) == sorted(value["strings"])
    assert value["states"][value["observed"][-1]]["end"] == "sentence"
    assert "strings" not in json.loads(run("neighborhood", "del1word", "a b a", "--json"))


def test_a_transducer_file_with_words_of_its_own(tmp_path):
    path = tmp_path / "articles.fst"
    path.write_text("0 copy 0\n0 insert:[the a] 1\n1 copy 1\nfinal 0 1\n")
    lines = run("neighborhood", path, "dogs run", "--strings").splitlines()
    assert lines[0].startswith(f"{path}: 7 sentences")
    assert {"the dogs run", "dogs a run", "dogs run the"} < set(lines)
    assert "loses sentence 0" in refusal("neighborhood", _written(tmp_path, "0 delete 0\nfinal 0\n"), "dogs run")
    (tmp_path / "same.svg").write_text(path.read_text())
    assert "also an input" in refusal("neighborhood", tmp_path / "same.svg", "dogs run", "-o", tmp_path / "same.svg")
    assert "line 1" in refusal("neighborhood", _written(tmp_path, "0 flip 0\nfinal 0\n"), "dogs run")


def _written(folder, text):
    (folder / "my.fst").write_text(text)
    return folder / "my.fst"


def test_dot():
    text = run("neighborhood", "trans1", 'say "a\\b"', "--dot")
    assert text.startswith("digraph")
    assert text.rstrip().endswith("}")
    assert len(re.findall(r"^  \d+ \[", text, re.M)) == 5
    assert len(re.findall(r"->", text)) == 4
    assert text.count("doublecircle") == 2
    assert 'label="\\"a\\\\b\\""' in text


@pytest.mark.parametrize("name", ["trans1", "del1word", "del1subseq", "delortrans1", "trans2", "length"])
def test_labels_in_a_picture_cover_neither_states_nor_each_other(name):
    picture = layout(drawing(name, SENTENCE.split()))
    boxes = [label.box for label in picture.labels.values()]
    boxes += [(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in picture.places.tolist()]
    for a, b in itertools.combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for pair, arc in picture.arcs.items():
        t = np.linspace(0, 1, 50)[:, None]
        points = (1 - t) ** 2 * arc[0] + 2 * t * (1 - t) * arc[1] + t**2 * arc[2]
        others = np.delete(picture.places, list(pair), axis=0)
        assert np.linalg.norm(points[:, None] - others, axis=2).min() > RADIUS


def test_the_picture_holds_every_state_and_word(tmp_path):
    path = tmp_path / "lattice.svg"
    words = ["<s>", "R&D", "it's", "\x01", "言葉"]
    text = run("neighborhood", "del1subseq", *words, "-o", path)
    assert text.endswith(f"written to {path}\n")
    root = ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    made = drawing("del1subseq", words)
    circles, texts = root.findall(f"{space}circle"), [t.text for t in root.iter(f"{space}text")]
    assert len(circles) == len(made.final) + sum(f > 0 for f in made.final)
    labels = [label for _, label, _ in made.arcs]
    assert sorted(texts) == sorted(
        [*(label.replace("\x01", "�") for label in labels), *map(str, range(len(made.final)))]
    )
    left, top, width, height = map(float, root.get("viewBox").split())
    for circle in circles:
        assert left <= float(circle.get("cx")) <= left + width
        assert top <= float(circle.get("cy")) <= top + height
    assert (
        json.loads(run("neighborhood", "trans1", "a b", "-o", path, "--json"))["size"] == 2
    )  # a file and JSON together


def test_crowded_pictures_are_drawn_and_too_large_ones_refused(tmp_path):
    words = [str(k) for k in range(16)]
    made = drawing("del1subseq", words)
    assert MANY < len(made.arcs) < MOST
    assert svg(made, "crowded").count("<circle") > len(made.final)
    message = refusal("neighborhood", "del1subseq", " ".join(str(k) for k in range(40)), "-o", tmp_path / "x.svg")
    assert "too many for a picture" in message
    assert "--dot" in message
    assert not (tmp_path / "x.svg").exists()


def test_two_words_to_the_same_state_share_an_arc():
    lattices = neighborhood(lambda x: [[1, 3], [2, 3]]).lattices([[0, 3]], 4)
    both = LatticeDrawing.of(lattices, 0, ["w", "a", "b", "c"])
    assert ["a", "b"] in both.between().values()
    assert "a\\nb" in both.dot()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("trans", SENTENCE), ["'trans'", "del1word, trans1", "files of transducers", "in Python"]),
        (("my.module:function", SENTENCE), ["'my.module:function'", "functions are given in Python"]),
        (("trans1",), ["sentence is empty"]),
        (("trans1", "  "), ["sentence is empty"]),
        (("observed", SENTENCE), ["observed needs a corpus"]),
        (("conditional:1", SENTENCE), ["conditional:1 needs a corpus"]),
        (("everything", SENTENCE), ["no lattices", "partition function"]),
        (("trans1", SENTENCE, "-o", "picture.png"), ["'picture.png'", ".svg"]),
        (("trans1", SENTENCE, "-o", "/no/such/folder/picture.svg"), ["no folder"]),
        (("trans1", SENTENCE, "--dot", "--json"), ["--dot", "leave out"]),
        (("trans1", SENTENCE, "--dot", "--strings"), ["--dot", "leave out"]),
        (("trans1", SENTENCE, "--strings", "--limit", 0), ["--limit"]),
    ],
)
def test_what_is_refused(arguments, parts):
    message = refusal("neighborhood", *arguments)
    for part in parts:
        assert part in message
