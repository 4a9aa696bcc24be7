"""Readers of Reuters-21578, Senseval-2 and prepositional phrases: small samples, refusals, the real counts."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from loglin.corpus import datasets, ppattach, reuters, senseval
from support.corpora import corpus_folder
from support.errors import refused_with_remedy

# ---------------------------------------------------------------------- Reuters-21578


def story(
    split="TRAIN", topics="<D>grain</D><D>rye</D>", text="<TITLE>Rye &amp; oats</TITLE><BODY>Fell 2 pct.\n</BODY>"
):
    head = f'<REUTERS CSECS="1" TOPICS="YES" LEWISSPLIT="{split}" NEWID="1">\n<DATE>1</DATE>'
    return f"{head}\n<TOPICS>{topics}</TOPICS>\n<PLACES><D>peru</D></PLACES>\n<TEXT>&#2;\n{text}</TEXT>\n</REUTERS>\n"


def test_reuters_document():
    assert list(reuters.documents(story())) == [
        ("train", reuters.Document("Rye & oats", "Fell 2 pct.\n", ("grain", "rye")))
    ]
    assert reuters.Document("a", "b", ()).text == "a\nb"


def test_reuters_without_body_or_topics():
    ((_, brief),) = reuters.documents(story("TEST", "", "<TITLE>One &lt;A></TITLE>\nTwo &#3;"))
    assert brief.topics == ()
    assert brief.title == "One <A>"
    assert brief.body.split() == ["One", "<A>", "Two"]


def test_reuters_split(tmp_path: Path):
    unused = story().replace('TOPICS="YES"', 'TOPICS="NO"') + story("NOT-USED")
    (tmp_path / "b.sgm").write_bytes(
        ("<!DOCTYPE lewis>\n" + story(text="<BODY>b\xfc</BODY>") + unused).encode("latin-1")
    )
    with gzip.open(tmp_path / "a.sgm.gz", "wt") as stream:
        stream.write(story("TEST") + story(text="<BODY>a</BODY>"))
    assert [d.body for d in reuters.read(tmp_path)] == ["a", "bü"]
    assert [d.title for d in reuters.read(tmp_path, "test")] == ["Rye & oats"]
    refused_with_remedy(lambda: reuters.read(tmp_path / "b.sgm", "test"), "b.sgm", "testing")
    refused_with_remedy(lambda: reuters.read(tmp_path, "dev"), "'dev'", "train and test")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (story() + story().replace("</REUTERS>", ""), "</REUTERS>"),
        (story() + story().replace("</REUTERS>", "") + story(), "</REUTERS>"),
        (story() + story().replace(' LEWISSPLIT="TRAIN"', ""), "LEWISSPLIT"),
        (story() + story().replace("</TEXT>", ""), "<TEXT>"),
    ],
)
def test_reuters_refusals(text, part):
    refused_with_remedy(lambda: list(reuters.documents(text, "file")), f"file, line {story().count(chr(10)) + 1}", part)


def test_reuters_counts():
    corpus_folder("reuters21578")
    training, test = (datasets.load("reuters21578", part) for part in ("train", "test"))
    assert (len(training), len(test)) == (9603, 3299)
    topics = [Counter(topic for d in part for topic in d.topics) for part in (training, test)]
    assert len(set(topics[0]) & set(topics[1])) == 90
    assert topics[0].most_common(1) == [("earn", 2877)]
    assert topics[1]["earn"] == 1087
    assert all(ch == "\n" or ch >= " " for d in training for ch in d.text)


# ---------------------------------------------------------------------- Senseval-2

INSTANCE = """<corpus lang="en"><lexelt item="hard-a">
<instance id="one">
<answer instance="one" senseid="HARD2"/>
<context>
 <s snum="1"/><wf pos='"'>"</wf> stray <compound><wf pos="NNP">A&amp;B</wf></compound>
 <head> <wf pos="JJ">hard</wf></head> <wf pos=".">.</wf>
</context>
</instance>
"""


def test_senseval_instance():
    found = list(senseval.instances(INSTANCE + INSTANCE.replace("HARD2", "HARD1")))
    assert found[0] == senseval.Instance("one", "HARD2", ('"', "A&B", "hard", "."), ('"', "NNP", "JJ", "."), 2)
    assert [x.sense for x in found] == ["HARD2", "HARD1"]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (("</instance>", ""), "</instance>"),
        (("senseid", "sense"), "senseid"),
        (("<head>", ""), "0 words marked"),
        (('<wf pos=".">', '<head><wf pos=".">'), "2 words marked"),
    ],
)
def test_senseval_refusals(change, part):
    text = INSTANCE + INSTANCE.replace(*change)
    refused_with_remedy(lambda: list(senseval.instances(text, "file")), "file, line 10", "'one'", part)


def test_senseval_empty_file(tmp_path: Path):
    (tmp_path / "empty").write_text("")
    refused_with_remedy(lambda: senseval.read(tmp_path / "empty"), "empty", "<instance>")


@pytest.mark.parametrize(("word", "size", "senses"), [("hard", 4333, 3), ("interest", 2368, 6), ("line", 4146, 6)])
def test_senseval_counts(word, size, senses):
    corpus_folder("senseval")
    found = datasets.load("senseval", word)
    assert len(found) == size
    assert len({x.sense for x in found}) == senses
    assert all(word[:4] in x.words[x.head].lower() for x in found)


# ---------------------------------------------------------------------- attachments


def test_attachments(tmp_path: Path):
    (tmp_path / "file").write_text("7 saw man with telescope V\n\n8 saw man in 1.5 N\n")
    found = ppattach.read(tmp_path / "file")
    assert found[0] == ("saw", "man", "with", "telescope", "V")
    assert found[1].words == ("saw", "man", "in", "1.5")
    assert found[1].site == "N"


@pytest.mark.parametrize("line", ["8 saw man in park", "8 saw man in park P", "8 saw a man in park V"])
def test_attachment_refusals(tmp_path: Path, line):
    (tmp_path / "file").write_text(f"7 saw man with telescope V\n{line}\n")
    refused_with_remedy(lambda: ppattach.read(tmp_path / "file"), "file, line 2", repr(line), "V or N")
    (tmp_path / "empty").write_text("\n")
    refused_with_remedy(lambda: ppattach.read(tmp_path / "empty"), "empty", "no decisions")


def test_attachment_counts():
    corpus_folder("ppattach")
    counts = [Counter(x.site for x in datasets.load("ppattach", part)) for part in ("train", "dev", "test")]
    assert [dict(c) for c in counts] == [{"N": 10865, "V": 9936}, {"N": 2142, "V": 1897}, {"N": 1826, "V": 1271}]


def test_missing_corpora(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("LOGLIN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    refused_with_remedy(lambda: datasets.load("reuters21578"), "*.sgm", "UCI", "LOGLIN_DATA")
    refused_with_remedy(lambda: datasets.load("senseval", "soft"), "'soft'", "hard, interest, line, serve")
    refused_with_remedy(lambda: datasets.load("ppattach", "dev"), "devset", "NLTK")
