"""Public corpora by name. None is shipped: they are looked for where the user has put them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from loglin.corpus import conll, plaintext, ppattach, reuters, senseval, trees
from loglin.errors import LoglinError


class _Known(NamedTuple):
    parts: dict[str, str]  # name of a part → its file, or the pattern of the files of a folder
    origin: str  # where to get it
    read: Callable[[Path, str], Any]  # of a file or folder, and the part


_TREEBANKS = ("treebank",)
# of tagged plain text: name → encoding; blank lines in it part paragraphs, not documents
_PLAIN_TEXT = {"brown": "latin-1"}
_KNOWN = {
    "conll2000": _Known(
        {"train": "train.txt", "test": "test.txt"},
        "the CoNLL-2000 shared task (chunking), also in NLTK's data",
        lambda file, part: conll.read(file),
    ),
    "conll2003": _Known(
        {"train": "eng.train", "dev": "eng.testa", "test": "eng.testb"},
        "the CoNLL-2003 shared task (named entities); its text is licensed by Reuters",
        lambda file, part: conll.read(file),
    ),
    "treebank": _Known(
        {"train": "*.mrg"},
        "the Penn Treebank sample (bracketed trees) in NLTK's data",
        lambda folder, part: trees.read(folder),
    ),
    "reuters21578": _Known(
        {"train": "*.sgm*", "test": "*.sgm*"},
        "the UCI repository (Reuters-21578 text categorization collection, 22 SGML files, gzipped or not)",
        reuters.read,
    ),
    "senseval": _Known(
        {word: f"{word}.pos*" for word in senseval.WORDS},
        "NLTK's data (Senseval-2: hard, interest, line, serve, gzipped or not)",
        lambda file, part: senseval.read(file),
    ),
    "ppattach": _Known(
        {"train": "training", "dev": "devset", "test": "test"},
        "NLTK's data (prepositional phrase attachment, Ratnaparkhi et al. 1994)",
        lambda file, part: ppattach.read(file),
    ),
    "brown": _Known(
        {"train": "brown.tagged.gz"},
        "the Brown corpus in NLTK's data, its files one behind the other, packed by gzip",
        lambda file, part: load_text("brown", part).corpus,
    ),
}


def path(name: str, part: str = "train") -> Path:
    """Where a corpus lies, its file or its folder of files: below $LOGLIN_DATA or the user's cache."""
    if name not in _KNOWN:
        raise LoglinError(f"no corpus is called {name!r}; there are {', '.join(_KNOWN)}")
    parts, origin, _ = _KNOWN[name]
    if part not in parts:
        raise LoglinError(f"{name} has no part {part!r}; there are {', '.join(parts)}")
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "loglin" / "data"
    for root in (os.environ.get("LOGLIN_DATA"), cache):
        folder = Path(root or "") / name
        if root and (files := sorted(p for p in folder.glob(parts[part]) if p.is_file())):
            return folder if parts[part].startswith("*") else files[0]
    raise LoglinError(
        f"{name} was not found; get it from {origin}, put {parts[part]} into {cache / name}, "
        "or set LOGLIN_DATA to the folder that holds it"
    )


def load(name: str, part: str = "train") -> Any:
    """A corpus of columns (of a treebank or tagged text words and tags); of others documents, instances, decisions."""
    found = path(name, part)
    return _KNOWN[name].read(found, part)


def load_text(name: str, part: str = "train") -> plaintext.Text:
    """Plain text with its documents; the Brown corpus as one document, since its file does not part them."""
    found = path(name, part)
    if name not in _PLAIN_TEXT:
        raise LoglinError(f"{name} is no plain text; read it with load, or name one of {', '.join(_PLAIN_TEXT)}")
    return plaintext.read(found, _PLAIN_TEXT[name], tagged=True, blank_lines=False)


def load_trees(name: str, part: str = "train") -> list[trees.Tree]:
    """The trees of a treebank as they are annotated, with traces, function tags and empty roots."""
    found = path(name, part)
    if name not in _TREEBANKS:
        raise LoglinError(f"{name} has no trees; read it with load, or name one of {', '.join(_TREEBANKS)}")
    return trees.read_trees(found)
