"""Whole files tagged into a folder, each by itself in any process; one that is done is not done again.

A file is done when its output stands in the folder beside a hidden note, .NAME.tagged, which holds the digest of all
that the output depends on: the model's bytes, the file's bytes, what the decoder is told, the version. Output and note
are written whole or not at all, the note last.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from loglin.corpus.formats import detected
from loglin.corpus.output import check_writable, write_atomically
from loglin.corpus.shards import seen_from_outside
from loglin.corpus.stored import checksum
from loglin.decoding.chains import Decoder
from loglin.decoding.tagged_text import tagged
from loglin.errors import LoglinError
from loglin.models.chain import Model

PACKED = (".gz", ".zst")  # outputs are written without


class Item(NamedTuple):
    """A file and where its output goes."""

    source: str
    target: str

    @property
    def note(self) -> str:
        """The file that says of what the output was made."""
        folder, name = os.path.split(self.target)
        return os.path.join(folder, f".{name}.tagged")


class Outcome(NamedTuple):
    """What became of a file."""

    item: Item
    tokens: int = 0
    done_before: bool = False
    error: str = ""  # why it could not be tagged


@dataclass(frozen=True)
class Answers:
    """What is asked for, and how files are read."""

    text_format: str = "auto"
    encoding: str = "utf-8"
    marginals: bool = False
    nbest: int | None = None
    json: bool = False
    constrain: str | None = None
    decoding: dict = field(default_factory=dict)  # what the decoder is told
    columns: tuple[str, ...] = ()  # of tables, those of tokens
    sentence: tuple[str, ...] = ()  # those that tell sentences apart


@dataclass(frozen=True)
class Tagging:
    """What is done to every file, here or by a worker that sees the same files."""

    model: str
    seen: tuple  # size and time of change of the model's file
    digest: str  # of the model's file
    answers: Answers
    threads: int | None
    version: str

    @classmethod
    def of(cls, model: str, answers: Answers, threads: int | None, version: str) -> Tagging:
        """The tagging with a model's file as it is now."""
        seen = seen_from_outside(model)
        return cls(os.path.abspath(model), tuple(seen[1:]), digest(model), answers, threads, version)

    def __call__(self, item: Item) -> Outcome:
        """Tag one file; what is wrong with it is told in the outcome, so that others are tagged all the same."""
        try:
            return self._tagged(item)
        except LoglinError as error:
            return Outcome(item, error=str(error))

    def _tagged(self, item: Item) -> Outcome:
        seen, key = seen_from_outside(item.source), self._key(item)
        if (tokens := _done(item, key)) is not None:
            return Outcome(item, tokens, done_before=True)
        Path(item.note).unlink(missing_ok=True)
        asked, tokens = self.answers, 0
        decoder = _decoder(self)
        has_names = bool(asked.columns or asked.sentence or decoder.model.has_names)
        form = detected(item.source, asked.text_format, has_names=has_names)
        form = form.with_names(asked.columns, asked.sentence)

        def pieces() -> Iterable[bytes]:
            nonlocal tokens
            how: dict[str, Any] = {"marginals": asked.marginals, "nbest": asked.nbest, "json": asked.json}
            for count, piece in tagged(decoder, item.source, form, asked.encoding, **how):
                tokens += count
                yield piece
            if seen_from_outside(item.source) != seen:
                raise LoglinError(f"{item.source} was changed while it was tagged; let it be finished, and tag again")

        write_atomically(item.target, pieces())
        known = {"digest": key, "tokens": tokens, "output": [os.stat(item.target).st_size, checksum(item.target)]}
        write_atomically(item.note, json.dumps(known).encode())
        return Outcome(item, tokens)

    def _key(self, item: Item) -> str:
        """The digest of all that the output depends on."""
        of_all = json.dumps([self.version, self.digest, digest(item.source), asdict(self.answers)], sort_keys=True)
        return hashlib.blake2b(of_all.encode(), digest_size=20).hexdigest()


@cache
def _opened(model: str, seen: tuple, threads: int | None, constrain: str | None, told: str) -> Decoder:
    if tuple(seen_from_outside(model)[1:]) != seen:
        raise LoglinError(f"the model {model} was changed while files were tagged with it; tag again")
    return Decoder(Model.load(model), threads, constrain, json.loads(told))


def _decoder(tagging: Tagging) -> Decoder:
    """The decoder, which a process opens once."""
    asked = tagging.answers
    return _opened(tagging.model, tagging.seen, tagging.threads, asked.constrain, json.dumps(asked.decoding))


def _done(item: Item, key: str) -> int | None:
    """The tokens of an output that is there and was made of just this; None: it is to be made."""
    try:
        known = json.loads(Path(item.note).read_bytes())
        same = known["digest"] == key and known["output"] == [os.stat(item.target).st_size, checksum(item.target)]
        return int(known["tokens"]) if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def items_of(files: Sequence[str], folder: str, *inputs: str) -> list[Item]:
    """Every file with the name of its output; refused where two would have the same, or one that is an input."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise LoglinError(
            f"cannot make the folder {folder}: {error.strerror or error}; give another --output-dir"
        ) from None
    found: dict[str, Item] = {}
    read = {os.path.realpath(path): path for path in (*files, *inputs) if "://" not in path}
    for source in dict.fromkeys(path if "://" in path else os.path.abspath(path) for path in files):
        name = os.path.basename(source)
        for ending in PACKED:
            name = name.removesuffix(ending)
        target = os.path.join(os.path.abspath(folder), name)
        if name in found:
            raise LoglinError(
                f"{found[name].source} and {source} would both be written to {target}; tag them into folders of "
                "their own"
            )
        if os.path.realpath(target) in read:
            raise LoglinError(f"the output {target} is also an input; give another --output-dir")
        check_writable(target)
        found[name] = Item(source, target)
    return list(found.values())


def digest(path: str) -> str:
    """The digest of a file's bytes; of an address, of what the place that it names says of it."""
    if "://" in path:
        return json.dumps(seen_from_outside(path)[1:])
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=20)).hexdigest()
