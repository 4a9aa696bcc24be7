"""Public corpora by name. None is shipped: they are looked for where the user has put them."""

from __future__ import annotations

import os
from pathlib import Path

from loglin.corpus import conll, plaintext, trees
from loglin.corpus.columns import Corpus
from loglin.errors import LoglinError

# of tagged plain text: name → encoding; blank lines in it part paragraphs, not documents
_PLAIN_TEXT = {"brown": "latin-1"}
# name → (part → file, or pattern of the files of a folder; where to get it)
_KNOWN = {
    "conll2000": (
        {"train": "train.txt", "test": "test.txt"},
        "the CoNLL-2000 shared task (chunking), also in NLTK's data",
    ),
    "conll2003": (
        {"train": "eng.train", "dev": "eng.testa", "test": "eng.testb"},
        "the CoNLL-2003 shared task (named entities); its text is licensed by Reuters",
    ),
    "treebank": (
        {"train": "*.mrg"},
        "the Penn Treebank sample (bracketed trees) in NLTK's data",
    ),
    "brown": (
        {"train": "brown.tagged.gz"},
        "the Brown corpus in NLTK's data, its files one behind the other, packed by gzip",
    ),
}


def path(name: str, part: str = "train") -> Path:
    """Where a corpus lies, its file or its folder of files: below $LOGLIN_DATA or the user's cache."""
    if name not in _KNOWN:
        raise LoglinError(f"no corpus is called {name!r}; there are {', '.join(_KNOWN)}")
    parts, origin = _KNOWN[name]
    if part not in parts:
        raise LoglinError(f"{name} has no part {part!r}; there are {', '.join(parts)}")
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "loglin" / "data"
    for root in (os.environ.get("LOGLIN_DATA"), cache):
        folder = Path(root or "") / name
        if root and any(p.is_file() for p in folder.glob(parts[part])):
            return folder if "*" in parts[part] else folder / parts[part]
    raise LoglinError(
        f"{name} was not found; get it from {origin}, put {parts[part]} into {cache / name}, "
        "or set LOGLIN_DATA to the folder that holds it"
    )


def load(name: str, part: str = "train") -> Corpus:
    """A corpus of columns; of a treebank or tagged text the words and their tags."""
    found = path(name, part)
    if name in _PLAIN_TEXT:
        return load_text(name, part).corpus
    return trees.read(found) if found.is_dir() else conll.read(found)


def load_text(name: str, part: str = "train") -> plaintext.Text:
    """Plain text with its documents; the Brown corpus as one document, since its file does not part them."""
    found = path(name, part)
    if name not in _PLAIN_TEXT:
        raise LoglinError(f"{name} is no plain text; read it with load, or name one of {', '.join(_PLAIN_TEXT)}")
    return plaintext.read(found, _PLAIN_TEXT[name], tagged=True, blank_lines=False)
