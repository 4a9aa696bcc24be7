"""Templates of spans, for grammars: what stands at the ends of a constituent, around it, and where it is split.

R01:%first[0]                 the span's first word, for each rule
R02:%last[0]/%length[3]       its last word, joined with its length: 1, 2 or 3+
R03:%first[-1]/%last[1]       the words before and behind the span; beyond the sentence there is one symbol a side
L01:%first[-1]/%last[0]       for each symbol in place of each rule
S01:%split[-1]/%split[0]      the words left and right of the point where the two children meet, for each rule
R04:%suffix[first,0,3]        any function of loglin.features.functions, at an anchor and an offset from it
R05:%word[first,0,2]          the word if training saw it twice or more, otherwise its signature
R06:%signature[last,0]        the signature, see loglin.features.signatures
U01:%x[0,0]                   a token template, for each tag of a word
#! min_count=2 R01 U01        options as in other template files

%first[0] is short for %x[first,0]. Spans are of words, so there is no column to name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from loglin.errors import LoglinError
from loglin.features.functions import FUNCTIONS, identity
from loglin.features.signatures import signature
from loglin.features.template import (
    Item,
    Template,
    TemplateSet,
    item_fields,
    parse_function,
    parse_templates,
    read_items,
    read_lines,
)

ANCHORS = ("first", "last", "split")
KINDS = {"r": "rule", "l": "label", "s": "split"}
LONGEST = 1000  # the longest length that %length distinguishes
SPAN_FUNCTIONS = {name: f for name, f in FUNCTIONS.items() if name != "ngrams"}
SPAN_FUNCTIONS |= {"word": (identity, 1), "signature": (signature, 0)}


@dataclass(frozen=True)
class SpanTemplates:
    templates: tuple[Template, ...]  # of kinds rule, label and split; their items have anchors
    source: str = "template"
    lines: tuple[str, ...] = field(default=(), repr=False)  # as written, kept in the model file

    @property
    def spans(self) -> list[Template]:
        """The templates of whole spans, in the order of the file."""
        return [t for t in self.templates if t.kind != "split"]

    @property
    def splits(self) -> list[Template]:
        return [t for t in self.templates if t.kind == "split"]


@dataclass(frozen=True)
class GrammarTemplates:
    """A template file for a grammar: what words and what spans have."""

    tokens: TemplateSet | None
    spans: SpanTemplates | None


def parse_grammar_templates(text: str, source: str = "template") -> GrammarTemplates:
    """Read templates of tokens and of spans from one text; a mistake is reported with its line."""
    lines = text.splitlines()
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if line and line[0].lower() not in ("#", "u", *KINDS):
            raise LoglinError(
                f"{source}, line {number}: {line!r} starts with {line[0]!r}; a grammar's templates start with U for "
                "words, with R, L or S for spans (trees have no label bigrams)"
            )
    of_tokens, of_spans = _part(lines, False), _part(lines, True)
    tokens = spans = None
    if _holds_templates(of_spans):
        spans = parse_span_templates("\n".join(of_spans), source)
    if _holds_templates(of_tokens):
        tokens = parse_templates("\n".join(of_tokens), source)
    if tokens is None and spans is None:
        raise LoglinError(f"{source} holds no template; write for example R01:%first[0] and U01:%x[0,0]")
    return GrammarTemplates(tokens, spans)


def parse_span_templates(text: str, source: str = "template") -> SpanTemplates:
    """Read templates of spans alone."""
    lines = text.splitlines()
    templates, whole = read_lines(lines, source, _parse_line, "R01:%first[0] and R02:%last[0], each on its line")
    if whole:
        raise LoglinError(f"{source}: the option {next(iter(whole))} is not of spans; leave it out")
    wrong = next((t for t in templates if t.labels != "seen"), None)
    if wrong is not None:
        raise LoglinError(
            f"{source}: {wrong.name} has the option labels={wrong.labels}, but spans have weights for what trees hold; "
            "name the templates of words behind it"
        )
    return SpanTemplates(templates, source, tuple(lines))


def _is_of_spans(name: str) -> bool:
    return name[:1].lower() in KINDS


def _holds_templates(lines: Sequence[str]) -> bool:
    return any(line.strip() and not line.strip().startswith("#") for line in lines)


def _part(lines: Sequence[str], spans: bool) -> list[str]:
    """The lines of one part, blank where the other part's stand, so that line numbers stay right."""
    part = []
    for line in lines:
        stripped = line.strip()
        if not stripped.startswith("#!"):
            part.append(line if stripped.startswith("#") or _is_of_spans(stripped) == spans else "")
            continue
        words = stripped[2:].split()
        names = [w for w in words if "=" not in w]
        mine = [w for w in names if _is_of_spans(w) == spans]
        options = [w for w in words if "=" in w and not (spans and w.startswith(("boundary=", "oov=")))]
        if spans and not names:
            options = [w for w in options if not w.startswith("labels=")]
        part.append(" ".join(["#!", *options, *mine]) if options and (mine or not names) else "")
    return part


def _parse_line(line: str, place: str) -> list[Template]:
    kind = KINDS.get(line[0].lower())
    if kind is None:
        raise LoglinError(f"{place}: {line!r} starts with {line[0]!r}; a template of spans starts with R, L or S")
    remedy = (
        "an item is %first[offset], %last[offset], %split[offset], %length[longest] or %name[anchor,offset,…] with a "
        f"name among {', '.join(SPAN_FUNCTIONS)}, t, m, if"
    )
    items, literals = read_items(line, place, _parse_item, remedy)
    if not items:
        raise LoglinError(
            f"{place}: {line!r} has no item, and every rule has a weight of its own anyway; write for example "
            "R01:%first[0]"
        )
    for item in items:
        if (item.anchor == "split") != (kind == "split"):
            right = "%split items only" if kind == "split" else "%first, %last and %length, or start with S"
            raise LoglinError(f"{place}: {line!r} looks at the {item.anchor}; a template of {line[0]} takes {right}")
    return [Template(line.split(":", 1)[0], kind, items, line, literals)]


def _parse_item(match: re.Match, place: str) -> Item:
    name, fields = match[1], item_fields(match)
    if name == "length":
        longest = _whole(fields[0]) if len(fields) == 1 else None
        if longest is None or not 2 <= longest <= LONGEST:
            raise LoglinError(f"{place}: {match[0]!r} needs one whole number from 2 to {LONGEST}, such as %length[3]")
        return Item(0, 0, "length", (longest,), "length")
    if name in ANCHORS:
        offset = _whole(fields[0]) if len(fields) == 1 else None
        if offset is None or abs(offset) > 100:
            raise LoglinError(f"{place}: {match[0]!r} needs one offset from -100 to 100, such as %{name}[0]")
        return Item(offset, 0, "x", (), name)
    if not fields or fields[0] not in ANCHORS:
        raise LoglinError(
            f"{place}: {match[0]!r} names no anchor; write {', '.join(ANCHORS)} and an offset, such as %{name}[first,0]"
        )
    offset = _whole(fields[1]) if len(fields) > 1 else None
    if offset is None:
        raise LoglinError(f"{place}: {match[0]!r} needs an offset behind its anchor, such as %{name}[{fields[0]},0]")
    function, arguments = parse_function(match, fields[2:], offset, place, SPAN_FUNCTIONS)
    if function == "edge" and (offset == 0 or (fields[0] == "split" and offset == -1)):
        raise LoglinError(
            f"{place}: {match[0]!r} asks whether a word of the span lies outside the sentence, which it never does; "
            "name another offset, such as %edge[first,-1]"
        )
    return Item(offset, 0, function, arguments, fields[0])


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
