"""What a format of another program's models is, and reading bytes of which nothing is believed.

    bytes ── Foreign.read ──► Model          every length, offset and count checked against the file
    Model ── Foreign.write ─► bytes          what the format cannot hold is refused with a sentence

Whatever is wrong with a file's contents raises ValueError; models/foreign/__init__.py makes a sentence of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from loglin.corpus.labels import check_number
from loglin.corpus.output import Buffer
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError
from loglin.kernels.text import gather_strings
from loglin.models.chain import Model


class Foreign(ABC):
    """A format of models of another program."""

    name: ClassVar[str]  # as --to has it
    program: ClassVar[str]  # whose models these are, for people
    reads: ClassVar[bool] = True
    writes: ClassVar[bool] = True

    def begins(self, head: bytes) -> bool:
        """Whether a file that begins so, with some hundred bytes, is of this format."""
        return False

    def read(self, content: bytes, encoding: str) -> Model:
        """The model in a file's bytes, whose text is in that encoding."""
        raise NotImplementedError

    @abstractmethod
    def write(self, model: Model) -> Iterable[Buffer]:
        """The bytes of a file with a tagger."""


def require(fine: bool, what: str) -> None:
    """Refuse a file for what is wrong with it."""
    if not fine:
        raise ValueError(what)


# ---------------------------------------------------------------------- bytes


@dataclass(frozen=True)
class Bytes:
    """A file's bytes, of which each read is checked to lie inside."""

    content: bytes

    def __len__(self) -> int:
        return len(self.content)

    def part(self, at: int, size: int, what: str) -> bytes:
        require(0 <= at <= at + size <= len(self.content), f"{what} lies outside the file")
        return self.content[at : at + size]

    def whole(self, at: int, what: str) -> int:
        """A whole number of 32 bits."""
        return int.from_bytes(self.part(at, 4, what), "little")

    def array(self, at: int, count: int, dtype: np.dtype | str, what: str) -> np.ndarray:
        """``count`` numbers or records from a place on, as they lie in the file."""
        kind = np.dtype(dtype)
        require(at >= 0 and at + count * kind.itemsize <= len(self.content), f"{what} lies outside the file")
        return np.frombuffer(self.content, kind, count, at)

    def wholes(self, places: np.ndarray, what: str) -> np.ndarray:
        """The whole numbers of 32 bits at some places, which need not be aligned: (places,) int64."""
        places = places.astype(np.int64)
        inside = len(places) == 0 or (int(places.min()) >= 0 and int(places.max()) + 4 <= len(self.content))
        require(inside, f"{what} lies outside the file")
        text = np.frombuffer(self.content, np.uint8)
        return sum((text[places + k].astype(np.int64) << 8 * k for k in range(4)), np.zeros(len(places), np.int64))


def lists_of(ptr: np.ndarray) -> np.ndarray:
    """For every entry of lists that end at ptr[1:], the number of its list."""
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


def strings_between(content: bytes, begin: np.ndarray, end: np.ndarray, encoding: str) -> Vocabulary:
    """The strings content[begin[i]:end[i]], different from one another and in all no longer than the content."""
    sizes = end - begin
    require(bool((sizes >= 0).all()) and int(sizes.sum()) <= len(content), "strings lie over one another")
    blob, starts = np.empty(int(sizes.sum()), np.uint8), np.empty(len(begin) + 1, np.int64)
    text = np.frombuffer(bytearray(content), np.uint8)
    gather_strings(text, begin.astype(np.int64), end.astype(np.int64), np.arange(len(begin)), blob, starts)
    found = Vocabulary(blob, starts)
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        pairs = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        found = Vocabulary.of(decoded(bytes(blob[b:e]), encoding) for b, e in pairs)
    require(found.is_text(), "its strings are not UTF-8; name their encoding, for example --encoding latin-1")
    numbers = found.codes_of(found)
    twice = np.flatnonzero(numbers != np.arange(len(found)))
    require(len(twice) == 0, f"{found[int(twice[0])]!r:.60} stands in it twice" if len(twice) else "")
    return found


def decoded(text: bytes, encoding: str, errors: str = "strict") -> str:
    """A string of a file."""
    try:
        return text.decode(encoding, errors)
    except LookupError:
        raise LoglinError(f"there is no encoding {encoding!r}; give for example --encoding latin-1") from None
    except UnicodeDecodeError:
        raise ValueError(
            f"{text[:40]!r} is not {encoding}; name the encoding, for example --encoding latin-1"
        ) from None


def labels_of(names: list[str]) -> list[str]:
    """The labels of a model, checked."""
    require(len(names) > 0, "it has no labels")
    require(len(set(names)) == len(names), "it names a label twice")
    check_number(len(names))
    return names


def require_plain(model: Model, program: str) -> None:
    """Refuse what no format of another program holds: more than weights of labels and of label pairs."""
    if not model.kind.has_transitions:
        raise LoglinError(f"the model is a {model.kind.noun}, and {program} has taggers alone; export a tagger")
    parts = {
        "a base model (a hidden Markov model)": model.base is not None,
        "a tag dictionary": model.dictionary is not None,
        "vectors": model.vectors is not None,
        "label trigrams": len(model.index.triples) > 0,
        f"labels that obey a scheme ({model.decoding.get('constrain')})": "constrain" in model.decoding,
        "a beam": bool(model.decoding.get("beam")),
    }
    for part, there in parts.items():
        if there:
            raise LoglinError(
                f"the model has {part}, which {program} cannot hold; train one without, or export it with --to json"
            )


def require_steps(model: Model, program: str, *held: str) -> None:
    """Refuse a way to decode that a program has not."""
    steps = model.decoding.get("steps", "global")
    if steps not in held:
        raise LoglinError(
            f"the model scores steps in the way {steps!r}, and {program} does not; train one with --criterion crf, or "
            "export it with --to json"
        )


def text_labels(labels: list, program: str) -> list[str]:
    """The labels of a model, which other programs have as text."""
    others = [label for label in labels if not isinstance(label, str)]
    if others:
        raise LoglinError(
            f"the label {others[0]!r} is no string, and {program} has strings alone; train with strings as labels, or "
            "export it with --to json"
        )
    return labels
