"""A corpus of any size as shards: which files there are, text cut at sentences, and the folder that keeps the work.

glob, folder, files, addresses ──► pieces of text ──► shards of about as many tokens, each in a file of its own
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loglin.corpus import formats
from loglin.corpus.columns import Corpus, concatenate
from loglin.corpus.files import open_binary
from loglin.corpus.formats import LabelColumn
from loglin.corpus.output import write_atomically
from loglin.corpus.stored import StoredFile, checksum
from loglin.corpus.tagged import read_pieces
from loglin.errors import LoglinError

BYTES_PER_TOKEN = 4096  # of memory for every token of a shard; a guess, not yet measured at --memory 1GB
FEWEST_TOKENS = 1000
MANIFEST = "manifest.json"
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def memory_of(given: int | str | None) -> int:
    """The bytes that a text such as 2GB or 500 MB names; 2 GB without one."""
    if given is None:
        return 2 * 10**9
    match = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]+)?)\s*([KMGT]?)i?B?\s*", str(given), re.IGNORECASE)
    bytes_ = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if bytes_ < 10**6:
        raise LoglinError(f"memory is {given!r}; give at least 1MB, such as 500MB or 2GB")
    return bytes_


def tokens_of(memory: int) -> int:
    """The tokens of a shard for so much memory."""
    return max(FEWEST_TOKENS, memory // BYTES_PER_TOKEN)


def is_several(data: str) -> bool:
    """Whether a name stands for several files: a folder or a pattern, unless there is a file of that name."""
    if "://" in data:
        return any(c in data for c in "*?[")
    return not os.path.isfile(data) and (os.path.isdir(data) or any(c in data for c in "*?["))


def sources(given: Any) -> list[str]:
    """The files of a corpus: a name, a pattern, a folder, an address, or a list of these; in the order of the names."""
    if isinstance(given, str | os.PathLike):
        return _named(os.fspath(given))
    found = [path for name in given for path in _named(os.fspath(name))]
    if not found:
        raise LoglinError("the list of files is empty; name at least one")
    return found


def _named(name: str) -> list[str]:
    if not is_several(name):
        return [name]
    if "://" in name:
        system, path = _remote(name)
        found = sorted(system.unstrip_protocol(p) for p in system.glob(path))
    elif os.path.isdir(name):
        found = sorted(str(p) for p in Path(name).iterdir() if p.is_file() and not p.name.startswith("."))
        if not found:
            raise LoglinError(f"{name} is a folder without files; name a folder with files, a file or a pattern")
    else:
        found = sorted(p for p in glob.glob(name, recursive=True) if os.path.isfile(p))
    if not found:
        raise LoglinError(f"no file is found for {name}; check the pattern, and quote it from the shell")
    return found


def _remote(address: str) -> Any:
    from loglin.corpus.files import remote

    return remote(address)


def cut(pieces: Iterable[Corpus], tokens: int) -> Iterator[Corpus]:
    """Shards of at least so many tokens, but for the last one, cut behind a sentence."""
    waiting: list[Corpus] = []
    n = 0
    for piece in pieces:
        begin, offsets = 0, piece.offsets
        while n + offsets[-1] - offsets[begin] >= tokens:
            end = max(begin + 1, int(offsets.searchsorted(offsets[begin] + tokens - n)))
            yield concatenate([*waiting, piece.between(begin, end)], piece.source)
            waiting, n, begin = [], 0, end
        if begin < piece.n_sentences:
            waiting.append(piece.between(begin, piece.n_sentences))
            n += waiting[-1].n_tokens
    if n:
        yield concatenate(waiting, waiting[-1].source)


# ---------------------------------------------------------------------- what is read


@dataclass(frozen=True)
class Source:
    """Text with labels that can be read again: its pieces, the labels of each in the last column."""

    pieces: Callable[[], Iterator[Corpus]]
    key: dict[str, Any] | None  # tells whether it is what was read before; None: it cannot be told
    check: Callable[[], None] = lambda: None  # raises if it was changed since its key was made
    partial: bool = False  # whether the label _ means unknown, A|B one of these
    layout: dict[str, Any] = field(default_factory=dict)  # columns and label column of the files, once they are read


def files_source(
    given: Any,
    text_format: str = "auto",
    encoding: str = "utf-8",
    label_column: LabelColumn = None,
    scheme: str | None = None,
    partial: bool = False,
    columns: Sequence[str] = (),
    sentence: Sequence[str] = (),
) -> Source:
    """Files of tagged text; ``columns`` and ``sentence`` are as a table's format takes them."""
    paths = sources(given)
    prints = [fingerprint(path) for path in paths]
    layout: dict[str, Any] = {}

    def pieces() -> Iterator[Corpus]:
        width = 0
        for path in paths:
            has_names = True if columns or sentence or isinstance(label_column, str) else None
            form = formats.detected(path, text_format, has_names=has_names).with_names(columns, sentence)
            how: dict[str, Any] = {"encoding": encoding, "label_column": label_column, "scheme": scheme}
            for corpus, text in read_pieces(path, form, **how):
                layout.update(columns=text.n_columns, label_column=text.label_column, about=text.about)
                width = width or len(corpus.columns)
                if len(corpus.columns) != width:
                    raise LoglinError(
                        f"{path} has {len(corpus.columns)} columns, but {paths[0]} {width}; give all shards as many"
                    )
                yield corpus
        if not width:
            raise LoglinError(f"{paths[0]} holds no tokens; expected one token a line with columns parted by blanks")

    def check() -> None:
        for path, before in zip(paths, prints, strict=True):
            if fingerprint(path) != before:
                raise LoglinError(f"{path} was changed while it was read; let it be finished, and train again")

    how: dict[str, Any] = {"format": text_format, "encoding": encoding, "label_column": label_column, "scheme": scheme}
    if columns or sentence:
        how |= {"columns": list(columns), "sentence": list(sentence)}
    return Source(pieces, {"files": prints, **how}, check, partial, layout)


def fingerprint(path: str) -> list:
    """What tells that a file was changed: name, size, time of change, and checksum of its bytes."""
    found = seen_from_outside(path)
    return found if "://" in path else [*found, checksum(path)]


def seen_from_outside(path: str) -> list:
    """Name, size and time of change of a file that can be read again."""
    if "://" in path:
        system, inside = _remote(path)
        about = system.info(inside)
        return [path, about.get("size"), str(about.get("etag") or about.get("mtime") or about.get("LastModified"))]
    try:
        found = os.stat(path)
    except OSError as error:
        raise LoglinError(
            f"cannot read {path}: {error.strerror}; check the name, and that no shard was removed"
        ) from None
    if not os.path.isfile(path):
        open_binary(path).close()  # says what is wrong with it
        raise LoglinError(f"{path} is no file that can be read again; save it to one first")
    return [path, found.st_size, found.st_mtime_ns]


# ---------------------------------------------------------------------- the work folder


class WorkFolder:
    """A folder with the stages of preparation: each with a key that says what it was made of, and its files."""

    def __init__(self, path: str | os.PathLike):
        self.path = os.fspath(path)
        try:
            os.makedirs(self.path, exist_ok=True)
            if not os.access(self.path, os.W_OK):
                raise LoglinError(f"no permission to write into the work folder {self.path}; give another --work-dir")
            self._lock = open(self.name("lock"), "ab")  # noqa: SIM115  held until the folder is closed
        except OSError as error:
            raise LoglinError(
                f"cannot use {self.path} as work folder: {error.strerror or error}; give another --work-dir"
            ) from None
        try:
            import fcntl

            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows
            pass
        except OSError:
            raise LoglinError(
                f"the work folder {self.path} is in use by another training; wait for it, or give another --work-dir"
            ) from None
        self.remove("objective-")  # of a training that was killed

    def close(self) -> None:
        self._lock.close()

    def name(self, file: str) -> str:
        return os.path.join(self.path, file)

    def remove(self, prefix: str) -> None:
        """Remove the files whose names begin so."""
        for path in Path(self.path).glob(f"{glob.escape(prefix)}*"):
            path.unlink(missing_ok=True)

    def stage(
        self, name: str, key: dict | None, make: Callable[[], tuple[Sequence[StoredFile], dict]]
    ) -> tuple[list[StoredFile], dict]:
        """The files of a stage, and what is to be known of them; made unless they are there with the same key."""
        manifest = self._manifest()
        known = manifest.get(name)
        key = None if key is None else json.loads(json.dumps(key))
        if known is not None and key is not None and known["key"] == key:
            files = self._unchanged(known["files"])
            if files is not None:
                return files, known["about"]
        if known is not None:
            del manifest[name]
            self._write(manifest)
        self.remove(f"{name}-")
        made, about = make()
        kept = [[os.path.basename(file.path), file.size, checksum(file.path)] for file in made]
        self._write(self._manifest() | {name: {"key": key, "files": kept, "about": about}})
        return list(made), about

    def _unchanged(self, kept: list) -> list[StoredFile] | None:
        try:
            files = [StoredFile.of(self.name(name)) for name, _, _ in kept]
            same = all(f.size == size for f, (_, size, _) in zip(files, kept, strict=True))
            same = same and all(checksum(f.path) == crc for f, (_, _, crc) in zip(files, kept, strict=True))
        except OSError:
            return None
        return files if same else None

    def _manifest(self) -> dict[str, Any]:
        try:
            found = json.loads(Path(self.name(MANIFEST)).read_text())
            return found if isinstance(found, dict) else {}
        except (OSError, ValueError):
            return {}

    def _write(self, manifest: dict) -> None:
        write_atomically(self.name(MANIFEST), json.dumps(manifest, indent=1).encode())
