"""Reuters-21578: newswire stories with topics, in SGML, divided by ModApte.

<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" …> <TOPICS><D>cocoa</D></TOPICS>
<TEXT> <TITLE>…</TITLE> <BODY>…</BODY> </TEXT> </REUTERS>

ModApte takes the documents with TOPICS="YES", to train where LEWISSPLIT says so and to test likewise; a document
may still have no topic. Stories that are not in the usual form (TYPE="BRIEF", "UNPROC") have no body of their
own: there the body is all of the text.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from loglin.corpus.files import read_text
from loglin.errors import LoglinError

SPLITS = ("train", "test")
_DOCUMENT = re.compile(r"<REUTERS\b([^>]*)>(?:(.*?)(</REUTERS>)|)", re.S)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


class Document(NamedTuple):
    title: str
    body: str
    topics: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.body}"


def read(path: str | os.PathLike, split: str = "train", encoding: str = "latin-1") -> list[Document]:
    """A part of the ModApte split of a file, or of all files *.sgm and *.sgm.gz of a folder by name."""
    if split not in SPLITS:
        raise LoglinError(f"Reuters-21578 has no part {split!r}; there are {' and '.join(SPLITS)}")
    paths = sorted(Path(path).glob("*.sgm*")) if Path(path).is_dir() else [path]
    found = [d for one in paths for s, d in documents(read_text(one, encoding), str(one)) if s == split]
    if not found:
        raise LoglinError(f"{path} holds no {split}ing documents of the ModApte split; name the folder of reut2-*.sgm")
    return found


def documents(text: str, source: str = "input") -> Iterator[tuple[str, Document]]:
    """(train or test, document) of everything that the ModApte split uses."""
    for match in _DOCUMENT.finditer(text):
        head, content, end = match.groups()
        attributes = dict(_ATTRIBUTE.findall(head))
        missing = next((name for name in ("TOPICS", "LEWISSPLIT") if name not in attributes), None)
        wrong = None
        if end is None or "<REUTERS" in content:
            wrong = "is never closed; look for a </REUTERS> that is missing"
        elif missing:
            wrong = f'has no {missing}="…", which the ModApte split needs; add it'
        elif _inside(content, "TEXT") is None:
            wrong = "has no <TEXT>…</TEXT>; add it, even if it is empty"
        if wrong:
            line = text.count("\n", 0, match.start()) + 1
            raise LoglinError(f"{source}, line {line}: the document that begins here {wrong}")
        split = attributes["LEWISSPLIT"].lower()
        if attributes["TOPICS"] == "YES" and split in SPLITS:
            yield split, _document(content)


def _document(content: str) -> Document:
    story = _inside(content, "TEXT") or ""
    body = _inside(story, "BODY")
    topics = re.findall(r"<D>(.*?)</D>", _inside(content, "TOPICS") or "", re.S)
    return Document(
        title=_plain(_inside(story, "TITLE") or ""),
        body=_plain(re.sub(r"<[^>]*>", " ", story) if body is None else body),
        topics=tuple(_plain(topic).strip() for topic in topics),
    )


def _inside(text: str, tag: str) -> str | None:
    match = re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", text, re.S)
    return match and match[1]


def _plain(text: str) -> str:
    """Entities as characters; references to control characters, of which the wire is full, vanish."""
    return html.unescape(text)
