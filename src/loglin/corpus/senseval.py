"""Senseval-2: occurrences of one ambiguous word, each with its sense and its tagged context.

<instance id="…"> <answer … senseid="HARD1"/>
<context> <wf pos="DT">a</wf> <head> <wf pos="JJ">hard</wf></head> … </context> </instance>

Text between the tokens (sentence marks, compounds, stray words without a tag) is passed over.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from loglin.corpus.files import read_text
from loglin.errors import LoglinError

WORDS = ("hard", "interest", "line", "serve")
_INSTANCE = re.compile(r'<instance\b[^>]*?id="([^"]*)"[^>]*>(?:(.*?)(</instance>)|)', re.S)
_SENSE = re.compile(r'<answer\b[^>]*senseid="([^"]*)"')
_TOKEN = re.compile(r"""(<head>\s*)?<wf pos=(?:"([^"]*)"|'([^']*)')>(.*?)</wf>""", re.S)


class Instance(NamedTuple):
    name: str
    sense: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    head: int  # the position of the ambiguous word


def read(path: str | os.PathLike, encoding: str = "utf-8") -> list[Instance]:
    """All instances of a file."""
    found = list(instances(read_text(path, encoding), str(path)))
    if not found:
        raise LoglinError(f"{path} holds no <instance>; name a file of Senseval-2, such as hard.pos.gz")
    return found


def instances(text: str, source: str = "input") -> Iterator[Instance]:
    for match in _INSTANCE.finditer(text):
        name, content, end = match.groups()
        sense = _SENSE.search(content or "")
        tokens = _TOKEN.findall(content or "")
        heads = [i for i, token in enumerate(tokens) if token[0]]
        wrong = None
        if end is None or "<instance" in content:
            wrong = "is never closed; look for a </instance> that is missing"
        elif sense is None:
            wrong = 'has no <answer senseid="…"/>; add it'
        elif len(heads) != 1:
            wrong = f"has {len(heads)} words marked as <head>; mark one"
        if wrong:
            line = text.count("\n", 0, match.start()) + 1
            raise LoglinError(f"{source}, line {line}: the instance {name!r} {wrong}")
        assert sense is not None
        words, tags = zip(*((html.unescape(word), tag or other) for _, tag, other, word in tokens), strict=True)
        yield Instance(name, sense[1], words, tags, heads[0])
