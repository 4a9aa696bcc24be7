"""A tagger as Wapiti's text: its templates as patterns, its attributes as the strings that these make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import numpy as np

from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.like import TOOLS
from loglin.features.template import Item, Template, TemplateSet
from loglin.models.chain import Model
from loglin.models.foreign.names import strings

TYPES = ("maxent", "memm", "crf")  # by number
WAPITI = TOOLS["wapiti"]
CUT = re.compile(rb"\\x([89a-f][0-9a-f])")  # a byte of a character that a pattern has cut
Found = dict[bytes, dict[str, int]]  # observation → kind → attribute


def written(model: Model, extractor: TemplateExtractor, labels: list[str]) -> Iterator[bytes]:
    """The parts of a file."""
    templates, index = extractor.templates, model.index
    patterns = _patterns(templates)
    found = _observations(model, extractor)
    bare = [_text(t) for t in templates.label_ngrams]
    if len(index.pairs) and not bare:  # pairs without a line B, as CRFsuite has them
        bare = ["b"]
        patterns.append(bare[0])
    if len(index.pairs):
        found.setdefault(bare[0].encode(), {})
    numbers, weights = _weights(model, found, bare[0].encode() if bare else b"")
    steps = model.decoding.get("steps", "global")
    kind = model.record["type"] if model.record.get("type") in TYPES else "memm" if steps == "local" else "crf"
    last_column = max((item.column for t in templates.templates for item in t.items), default=0)
    yield b"#mdl#%d#%d\n#rdr#%d/%d/0\n" % (TYPES.index(kind), len(numbers), len(patterns), last_column)
    yield from (_netstring(pattern.encode()) for pattern in patterns)
    for names in ([label.encode() for label in labels], list(found)):
        yield b"#qrk#%d\n" % len(names)
        yield b"".join(map(_netstring, names))
    pairs = zip(numbers.tolist(), weights.astype(np.float64).tolist(), strict=True)
    yield "".join(f"{number}={weight.hex()}\n" for number, weight in pairs).encode()


def _netstring(text: bytes) -> bytes:
    return b"%d:%s,\n" % (len(text), text)


# ---------------------------------------------------------------------- patterns


def _patterns(templates: TemplateSet) -> list[str]:
    """The templates as patterns; one that Wapiti would read otherwise is refused."""
    if templates.oov != "none":
        raise LoglinError(
            f"the templates say oov={templates.oov}, which Wapiti cannot; train without it, or export --to json"
        )
    for template in templates.templates:
        for item in template.items:
            own = templates.like == WAPITI.name
            fine = own or (item.function == "x" and abs(item.offset) <= WAPITI.longest)
            if not fine:
                raise LoglinError(
                    f"the template {template.text!r:.80} has %{item.function}, which Wapiti has not or reads "
                    "differently; train with --like wapiti, or export --to json"
                )
        if "#" in template.text:
            raise LoglinError(
                f"the template {template.text!r:.80} has a #, where a line of Wapiti ends; train without it, or export "
                "--to json"
            )
    return list(dict.fromkeys(_text(t) for t in templates.templates))


def _text(template: Template) -> str:
    return template.text[0].lower() + template.text[1:]


# ---------------------------------------------------------------------- observations


def _observations(model: Model, extractor: TemplateExtractor) -> Found:
    """The strings of all attributes that have weights."""
    found: Found = {}
    index, told = model.index, extractor.templates.tool not in (None, WAPITI)
    for kind, ptr in (("unigram", index.ptr), ("bigram", index.bigram_ptr)):
        active = np.diff(ptr) > 0
        for attribute, template, values in strings(extractor, kind, _outside):
            if not active[attribute]:
                continue
            pairs = zip(template.items, values, strict=True)
            ways = product(*(_ways(item, value) if told else [value] for item, value in pairs))
            for name in (_string(template, list(way)) for way in ways):
                if found.setdefault(name, {}).setdefault(kind, attribute) != attribute:
                    raise LoglinError(
                        "two attributes with weights of their own would both be "
                        f"{name.decode('utf-8', 'replace')!r:.80} in Wapiti; name templates differently, train with "
                        "--like wapiti, or export --to json"
                    )
    return found


def _string(template: Template, values: list[str]) -> bytes:
    """The string that Wapiti makes of a template and values."""
    text = template.describe(values)
    name = (text[:1].lower() + text[1:]).encode("utf-8", "surrogatepass")
    if b"\\x" in name and any(item.function.startswith("byte-match") for item in template.items):
        name = CUT.sub(lambda match: bytes([int(match[1], 16)]), name)
    return name


def _outside(item: Item, distance: int) -> str:
    """What Wapiti has at a place outside the sentence: −1 is the last one before it, 1 the first one behind."""
    symbols = WAPITI.symbols(abs(distance)) or []  # those before the sentence, then those behind it
    return symbols[abs(distance) - 1 if distance < 0 else 2 * distance - 1]


def _ways(item: Item, value: str) -> list[str]:
    """A value of CRF++, and if it is its symbol for a place outside the sentence, that of Wapiti too."""
    if item.offset and value[:3] in ("_B-", "_B+") and value[3:].isdecimal():
        distance = int(value[2:6])
        if 0 < distance / item.offset <= 1:
            return [value, _outside(item, distance)]
    return [value]


# ---------------------------------------------------------------------- weights


def _weights(model: Model, found: Found, bare: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of weights in the order of observations, and the weights."""
    index, L = model.index, model.index.n_labels
    unigrams, bigrams, pairs, _ = index.split(model.weights)
    lists = {
        "unigram": (index.ptr, index.labels.astype(np.int64), unigrams),
        "bigram": (index.bigram_ptr, index.bigram_pairs.astype(np.int64), bigrams),
    }
    numbers: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    first = 0

    def add(outcomes: np.ndarray, values: np.ndarray) -> None:
        active = values != 0
        numbers.append(first + outcomes[active])
        weights.append(values[active])

    for name, attributes in found.items():
        for kind, size, letters in (("unigram", L, b"u*"), ("bigram", L * L, b"b*")):
            if name[0] not in letters:
                continue
            if kind in attributes:
                ptr, outcomes, values = lists[kind]
                part = slice(ptr[attributes[kind]], ptr[attributes[kind] + 1])
                add(outcomes[part], values[part])
            elif name == bare and kind == "bigram":
                add(index.pairs.astype(np.int64), pairs)
            first += size
    return np.concatenate([np.empty(0, np.int64), *numbers]), np.concatenate([np.empty(0), *weights])
