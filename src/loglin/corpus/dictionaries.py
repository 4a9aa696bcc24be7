"""Tagging dictionaries as files: a line a word, then the tags that it may have.

    #! tags DT NN VB         tags and their order, if it matters; words may have others
    #! unknown=refuse        of words that are not here: all (any tag), open (tags of many words), refuse
    #! open NN VB            or these tags
    the<TAB>DT               what stands before a tab is the word, even with blanks in it
    saw NN VB                without a tab the first blank ends it
    saw VBD                  a word that comes again has the tags of all its lines
    # a line that begins with # is a comment, unless a tab ends its first word
    \\#1 NN                   so it is written without a tab; every further backslash stands for itself

A name that ends in .json holds {"word": ["tag", …]}, or the same under "words" beside "tags" and "unknown".
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from loglin.corpus.crfsuite import text_lines
from loglin.corpus.files import read_text
from loglin.corpus.jsonlines import check_surrogates, reason
from loglin.corpus.limits import check_runs
from loglin.corpus.output import write_atomically
from loglin.errors import LoglinError

POLICIES = ("all", "open", "refuse")
_OPTIONS = re.compile(r"#![ \t]|#!$")
_COMMENT = re.compile(r"#[^ \t]*(?: |$)")


@dataclass
class Entries:
    """What a dictionary file says."""

    words: dict[str, list] = field(default_factory=dict)  # tags of each word, each once
    tags: list = field(default_factory=list)  # all of them, each once
    unknown: str | list = "all"  # one of POLICIES, or the tags of words that are not here

    def add(self, word: str, tags: Iterable) -> None:
        self.words[word] = list(dict.fromkeys([*self.words.get(word, ()), *tags]))


def read(path: str | os.PathLike, encoding: str = "utf-8") -> Entries:
    """Read a dictionary file; a mistake is reported with its line."""
    if _is_json(path):
        found = _from_json(read_text(path, encoding, tokens=False), str(path))
    else:
        found = Entries()
        for number, line in text_lines(path, encoding):
            _read_line(line, f"{path}, line {number}", found)
    if not found.words:
        raise LoglinError(f"{path} holds no words; write a word and its tags a line, such as saw NN VBD")
    of_words = (tag for tags in found.words.values() for tag in tags)
    of_unknown = found.unknown if isinstance(found.unknown, list) else ()
    found.tags = list(dict.fromkeys([*found.tags, *of_words, *of_unknown]))
    return found


def write(path: str | os.PathLike, entries: Entries) -> None:
    """Write a dictionary so that ``read`` gives the same one."""
    lines = _json_lines(entries) if _is_json(path) else _lines(entries)
    try:
        content = "".join(line + "\n" for line in lines).encode()
    except UnicodeEncodeError as error:
        raise LoglinError(
            f"cannot write {path}: {error.object[error.start]!r} is half a character; write both halves or neither"
        ) from None
    write_atomically(path, content)


def _is_json(path: str | os.PathLike) -> bool:
    return str(path).removesuffix(".gz").endswith(".json")


# ---------------------------------------------------------------------- lines


def _read_line(line: str, place: str, found: Entries) -> None:
    line = line.lstrip(" ")
    if _OPTIONS.match(line):
        _read_options(line.split()[1:], place, found)
        return
    if not line.strip() or _COMMENT.match(line):
        return
    word, tags = _word_and_tags(line)
    if not word:
        raise LoglinError(f"{place}: no word stands before the tab; write word, tab, tags")
    if not tags:
        raise LoglinError(f"{place}: {word!r} has no tags; write at least one behind it, such as {word} NN")
    found.add(word, tags)


def _word_and_tags(line: str) -> tuple[str, list[str]]:
    word, _, rest = line.partition("\t") if "\t" in line else line.partition(" ")
    word = word.rstrip(" ")
    return word[1:] if re.match(r"\\+#", word) else word, rest.split()


def _read_options(fields: list[str], place: str, found: Entries) -> None:
    name, equals, value = fields[0].partition("=") if fields else ("", "", "")
    if name == "tags" and not equals:
        found.tags += fields[1:]
        return
    if (name == "open" and not equals and fields[1:]) or (name == "unknown" and value in POLICIES and not fields[1:]):
        if found.unknown != "all":
            raise LoglinError(f"{place}: what unknown words may be is said twice; say it once")
        found.unknown = value or fields[1:]
        return
    raise LoglinError(
        f"{place}: {' '.join(fields)[:40]!r} is no option; write #! open and tags, #! tags and tags, or #! unknown= "
        f"with one of {', '.join(POLICIES)}"
    )


def _lines(entries: Entries) -> Iterator[str]:
    yield " ".join(["#! tags", *map(str, entries.tags)])
    if isinstance(entries.unknown, list):
        yield " ".join(["#! open", *map(str, entries.unknown)])
    elif entries.unknown != "all":
        yield f"#! unknown={entries.unknown}"
    for tag in entries.tags:
        if not isinstance(tag, str) or tag.split() != [tag] or "\0" in tag:
            raise LoglinError(f"the tag {tag!r} is no string without blanks; give the dictionary a name in .json")
    for word, tags in entries.words.items():
        if word.strip(" ") != word or not word or re.search(r"[\t\n\0]", word):
            raise LoglinError(f"the word {word!r} would be lost in lines; give the dictionary a name in .json")
        escaped = "\\" + word if re.match(r"\\*#", word) else word
        yield f"{escaped}\t{' '.join(tags)}"


# ---------------------------------------------------------------------- JSON


def _from_json(text: str, path: str) -> Entries:
    try:
        value = json.loads(text, object_pairs_hook=_merged)
    except json.JSONDecodeError as error:
        raise LoglinError(
            f'{path}, line {error.lineno}: not JSON ({error.msg}); write {{"word": ["tag", …], …}}'
        ) from None
    except ValueError as error:
        raise LoglinError(f'{path}: not JSON ({reason(error)}); write {{"word": ["tag", …], …}}') from None
    except RecursionError:
        raise LoglinError(f'{path}: brackets are nested too deep; write {{"word": ["tag", …], …}}') from None
    if not isinstance(value, dict):
        raise LoglinError(f'{path} is no object; write {{"word": ["tag", …], …}}')
    check_runs(path, text.encode(), 0, 1)
    check_surrogates(value, path)
    whole = value if isinstance(value.get("words"), dict) else {"words": value}
    tags, unknown = whole.get("tags", []), whole.get("unknown", "all")
    if not isinstance(tags, list) or whole.keys() - {"words", "tags", "unknown"}:
        raise LoglinError(f'{path} has more beside "words" than a list "tags" and "unknown"; leave it out')
    found = Entries({}, [_json_tag(tag, path) for tag in tags])
    if isinstance(unknown, list) and unknown:
        found.unknown = [_json_tag(tag, path) for tag in unknown]
    elif isinstance(unknown, str) and unknown in POLICIES:
        found.unknown = unknown
    else:
        raise LoglinError(f'{path}: "unknown" is {unknown!r}; give {", ".join(POLICIES)} or a list of tags')
    for word, given in whole["words"].items():
        given = given if isinstance(given, list) else [given]
        if not given:
            raise LoglinError(f"{path}: {word!r} has no tags; give a list of at least one")
        found.add(word, (_json_tag(tag, f"{path}: {word!r}") for tag in given))
    return found


def _merged(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON in which a word may come again, with more tags."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        both = isinstance(value, list) and isinstance(found.get(name), list)
        found[name] = [*found[name], *value] if both else value
    return found


def _json_tag(tag: object, place: str) -> object:
    if isinstance(tag, str) or (type(tag) is int and abs(tag) < 1 << 63) or (type(tag) is float and math.isfinite(tag)):
        return tag
    raise LoglinError(f"{place} has the tag {tag!r}; give strings or numbers")


def _json_lines(entries: Entries) -> Iterator[str]:
    yield f'{{"tags": {_dumped(entries.tags)}, "unknown": {_dumped(entries.unknown)}, "words": {{'
    parts = [f"{_dumped(word)}: {_dumped(tags)}" for word, tags in entries.words.items()]
    yield from (part + ("," if i + 1 < len(parts) else "") for i, part in enumerate(parts))
    yield "}}"


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
