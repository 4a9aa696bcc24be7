"""Feature templates: the CRF++ and Wapiti syntax, with named word functions.

U01:%x[-1,0]/%x[0,1]      the word before and column 1 here, for each label
B                         label bigrams
B01:%x[0,1]               label bigrams, seen with column 1 here
*02:%x[0,0]               both of these (Wapiti)
T                         label trigrams, in a model of order 2
U03:%suffix[0,0,3]        any function of loglin.features.functions
U04:%t[0,0,"^\\u"]         Wapiti's test, U05:%m[0,0,"\\d+"] its match; %X and %M lower-case
U07:%if[0,0,"-"]          there only where the pattern is found (%t also says where it is not)
U06:%edge[-1,0]/%x[0,0]   there only where the token before lies outside the sentence
U08:%rare[0,0,5]/%x[1,0]  there only where training saw the word fewer than five times
U09:%vector[0,0,glove]    the word's vector in a table that is called glove (features/vectors.py)
#! min_count=2 U01 U03    options of templates, a comment for other programs (also variance=…)
#! labels=all B            weights for all label pairs, seen or not (--all-features: for every template)
#! boundary=distance      outside the sentence, _B-1 and _B-2 differ (as in CRF++); else one symbol a side
#! oov=first              the first occurrence of every value is read as <oov>, later unknown values too
#! like=crf++             features and boundaries as CRF++ has them, or wapiti, or crfsuite (features/like.py)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from loglin.errors import LoglinError
from loglin.features.functions import FUNCTIONS
from loglin.features.like import TOOLS, Tool

LARGEST = 1_000_000_000  # number that an argument or an option may be


@dataclass(frozen=True)
class Item:
    """One piece of a template: a function of the column at an offset from the token."""

    offset: int
    column: int
    function: str = "x"
    arguments: tuple = ()
    anchor: str = ""  # of a span: what the offset is from, see span_templates.py

    @property
    def view(self) -> tuple[int, str, tuple]:
        """The column as this item sees it, whatever the offset."""
        return self.column, self.function, self.arguments


@dataclass(frozen=True)
class Template:
    """One kind of attribute or label n-gram, from a line of a template file."""

    name: str  # what precedes the colon: U01, B, T
    kind: str  # unigram | bigram | trigram | vector
    items: tuple[Item, ...]
    text: str  # the line as written
    literals: tuple[str, ...] = ()  # the text around the items, one more than items
    min_count: int = 1
    variance: float | None = None  # of the Gaussian prior of its weights; None: the model's own
    labels: str = "seen"  # weights for the labels (or pairs) seen with an attribute, or for all

    def describe(self, values: Iterable[str]) -> str:
        """The attribute's name: the template with its items replaced by values."""
        parts = [self.literals[0]]
        for value, literal in zip(values, self.literals[1:], strict=True):
            parts += [value, literal]
        return "".join(parts)


@dataclass(frozen=True)
class TemplateSet:
    templates: tuple[Template, ...]
    source: str = "template"
    lines: tuple[str, ...] = field(default=(), repr=False)  # as written, kept in the model file
    boundary: str = "side"  # side: one symbol before and one behind a sentence; distance: one per distance; tool: its
    oov: str = "none"  # first: see features/oov.py
    like: str = "none"  # whose features these are, see features/like.py

    @property
    def tool(self) -> Tool | None:
        """What another tool makes of these templates, if it is asked for."""
        return TOOLS.get(self.like)

    @cached_property
    def observed(self) -> tuple[Template, ...]:
        """The templates that give tokens, or steps between them, attributes."""
        bare = [t for t in self.templates if t.kind == "bigram" and not t.items]
        several = len(bare) > 1 and self.tool is not None and not self.tool.pairs  # in tools each has its own weights
        return tuple(t for t in self.templates if t.kind == "unigram" or (t.kind == "bigram" and (t.items or several)))

    @cached_property
    def label_ngrams(self) -> tuple[Template, ...]:
        """The templates that stand for label bigrams or trigrams, whatever the text."""
        return tuple(t for t in self.templates if t not in self.observed and t.kind != "vector")

    @cached_property
    def vectors(self) -> tuple[Template, ...]:
        """The templates that give tokens the vector of a word, each of one item."""
        return tuple(t for t in self.templates if t.kind == "vector")

    @property
    def transitions(self) -> bool:
        """Whether label bigrams have weights of their own."""
        return any(t.kind == "bigram" for t in self.label_ngrams) or (self.tool is not None and self.tool.pairs)

    @property
    def padding(self) -> int:
        """How many places on each side of a sentence have values as the tool gives them; 0: boundary symbols."""
        return self._longest if self.boundary == "tool" else 0

    @cached_property
    def _longest(self) -> int:
        return max((abs(i.offset) for t in self.templates for i in t.items if t.kind != "vector"), default=0)

    @cached_property
    def columns(self) -> int:
        """How many columns the data must have at least."""
        return 1 + max((i.column for t in self.templates for i in t.items), default=-1)

    @property
    def reach(self) -> int:
        """How many boundary symbols there are on each side of a sentence."""
        return self._longest if self.boundary == "distance" else 1


_ITEM = re.compile(r"%([A-Za-z][A-Za-z-]*)\[((?:[^\]\"]|\"(?:[^\"\\]|\\.)*\")*)\]")
_KINDS = {"u": ("unigram",), "b": ("bigram",), "*": ("unigram", "bigram"), "t": ("trigram",)}

_SET_OPTIONS = {  # the first choice is the default
    "boundary": ("side", "distance"),
    "oov": ("none", "first"),
    "like": ("none", *TOOLS),
}


def parse_templates(text: str, source: str = "template", like: str | None = None) -> TemplateSet:
    """Read a template file's text, as a tool has it if one is named; a mistake is reported with its line."""
    lines = text.splitlines()
    said = {word[5:] for line in lines if line.strip().startswith("#!") for word in line.split() if word[:5] == "like="}
    if like is not None and like not in said:
        lines = [*lines, f"#! like={like}"]  # kept in the model file
    names = said | ({like} if like else set())
    if len(names) > 1:
        raise LoglinError(f"{source} is to be like {' and like '.join(sorted(names))}; choose one")
    tool = TOOLS.get(names.pop()) if names else None
    whole = {option: choices[0] for option, choices in _SET_OPTIONS.items()}
    if tool is not None:
        whole["boundary"] = "tool"
    parse_line, example = partial(_parse_line, tool=tool), "U00:%x[0,0] and B, each on its line"
    templates, given = read_lines(lines, source, parse_line, example)
    return TemplateSet(templates, source, tuple(lines), **whole | given)


def read_lines(
    lines: Sequence[str], source: str, parse_line: Callable[[str, str], list[Template]], example: str
) -> tuple[tuple[Template, ...], dict]:
    """The templates of a file's lines with their options, and the options of the whole set."""
    templates: list[Template] = []
    options: list[tuple[str, dict, list[str]]] = []
    for number, raw in enumerate(lines, 1):
        line, place = raw.strip(), f"{source}, line {number}"
        if line.startswith("#!"):
            options.append((place, *_options(line[2:], place)))
        elif line and not line.startswith("#"):
            templates += parse_line(line, place)
    if not templates:
        raise LoglinError(f"{source} holds no template; write for example {example}")
    whole: dict = {}
    for place, values, names in options:
        known = {t.name for t in templates}
        for name in names:
            if name not in known:
                raise LoglinError(f"{place}: no template is called {name!r}; the names are {', '.join(sorted(known))}")
        whole |= {option: values.pop(option) for option in _SET_OPTIONS if option in values}
        templates = [replace(t, **values) if not names or t.name in names else t for t in templates]
    return tuple(templates), whole


def read_items(
    line: str, place: str, parse_item: Callable[[re.Match, str], Item], remedy: str
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The items of a line and the text around them, one more than items."""
    items, literals, end = [], [], 0
    for match in _ITEM.finditer(line):
        literals.append(line[end : match.start()])
        items.append(parse_item(match, place))
        end = match.end()
    literals.append(line[end:])
    if "%" in "".join(literals):
        raise LoglinError(f"{place}: cannot read {line!r}; {remedy}")
    return tuple(items), tuple(literals)


def _parse_line(line: str, place: str, tool: Tool | None = None) -> list[Template]:
    if tool is not None:
        line = tool.text_of(line)
        tool.check_line(line, place)
    name = line.split(":", 1)[0]
    kinds = _KINDS.get(line[0].lower())
    if kinds is None:
        raise LoglinError(f"{place}: {line!r} starts with {line[0]!r}; a template starts with U, B, * or T")
    remedy = (
        "an item is %x[row,column] such as %x[-1,0], or %name[row,column,…] "
        f"with a name among {', '.join(FUNCTIONS)}, t, m, if, vector"
    )
    items, literals = read_items(line, place, partial(_parse_item, tool=tool), remedy)
    if any(i.function == "ngrams" for i in items) and len(items) > 1:
        raise LoglinError(f"{place}: %ngrams gives many values and must stand alone in its template; split {line!r}")
    if any(i.function == "ngrams" for i in items) and "bigram" in kinds:
        raise LoglinError(f"{place}: {line!r} gives many values, but label bigrams take one; write U, or another item")
    if "trigram" in kinds and items:
        raise LoglinError(f"{place}: {line!r} has items, but label trigrams take none; write T alone")
    if kinds == ("unigram",) and not items and ":" in line and not line.split(":", 1)[1].strip():
        raise LoglinError(f"{place}: {line!r} has nothing behind its colon; write for example U00:%x[0,0]")
    if any(i.function == "vector" for i in items):
        if len(items) > 1 or kinds != ("unigram",):
            raise LoglinError(f"{place}: %vector gives numbers and must stand alone in a template U; split {line!r}")
        kinds = ("vector",)
    if tool is None:
        return [Template(name, kind, items, line, literals) for kind in kinds]
    if tool.pairs and "bigram" in kinds and items:
        raise LoglinError(f"{place}: {line!r} crosses label pairs with attributes, which {tool.name} cannot; write B")
    if tool.name == "wapiti":  # which reads U as u
        literals = (literals[0][0].lower() + literals[0][1:], *literals[1:])
    return [Template(name, kind, items, line, literals, labels=tool.labels) for kind in kinds]


def item_fields(match: re.Match) -> list[str]:
    """The fields between an item's brackets, separated by commas outside quotes."""
    return [f.strip() for f in re.findall(r"\"(?:[^\"\\]|\\.)*\"|[^,]+", match[2])]


def _parse_item(match: re.Match, place: str, tool: Tool | None = None) -> Item:
    fields = item_fields(match)
    try:
        offset, column = int(fields[0]), int(fields[1])
        if column < 0:
            raise ValueError
    except (ValueError, IndexError):
        raise LoglinError(
            f"{place}: {match[0]!r} needs a row and a column, whole numbers with the column at least 0, "
            "such as %x[-1,0]"
        ) from None
    if tool is not None:
        function = tool.function(match[1], offset, match[0], place)
        if tool.functions is not None:
            from loglin.features.bytewise import compile_bytes

            return Item(offset, column, function, _pattern_of(match, fields[2:], place, compile_bytes))
    if match[1] == "vector":
        if len(fields) != 3 or not re.fullmatch(r"[A-Za-z_][\w-]*", fields[2]):
            raise LoglinError(
                f"{place}: {match[0]!r} needs the name of a table, such as %vector[{offset},{column},glove]"
            )
        return Item(offset, column, "vector", (fields[2],))
    function, arguments = parse_function(match, fields[2:], offset, place, FUNCTIONS)
    if function == "edge" and offset == 0:
        raise LoglinError(
            f"{place}: {match[0]!r} asks whether the token itself lies outside the sentence, which it never does; "
            "name another row, such as %edge[-1,0]"
        )
    return Item(offset, column, function, arguments)


def parse_function(
    match: re.Match, fields: list[str], offset: int, place: str, functions: dict[str, tuple[Callable, int]]
) -> tuple[str, tuple]:
    """The function of an item and its arguments, the fields behind those that say where it looks."""
    name = match[1]
    if abs(offset) > 100:
        raise LoglinError(f"{place}: {match[0]!r} looks {abs(offset)} tokens away; offsets go from -100 to 100")
    if name in ("t", "m", "M", "if"):
        from loglin.features.patterns import compile_pattern

        return name, _pattern_of(match, fields, place, compile_pattern)
    name = "lower" if name == "X" else name
    if name not in functions:
        raise LoglinError(f"{place}: no function is called {name!r}; the names are {', '.join(functions)}, t, m, if")
    wanted = functions[name][1]
    try:
        arguments = tuple(int(f) for f in fields)
        if len(arguments) != wanted or any(not 1 <= a <= LARGEST for a in arguments):
            raise ValueError
    except ValueError:
        raise LoglinError(
            f"{place}: {match[0]!r:.80} needs {wanted} whole number{'s' * (wanted != 1)} of at least 1 "
            f"and at most {LARGEST:,} behind its first two fields"
        ) from None
    return name, arguments


def _pattern_of(match: re.Match, fields: list[str], place: str, compiled: Callable) -> tuple[str, ...]:
    """The pattern of a test or match, checked; no argument for other items."""
    name = match[1]
    if name.lower() not in ("t", "m", "if"):
        if fields:
            raise LoglinError(f"{place}: {match[0]!r} has {len(fields)} fields too many; write %{name}[row,column]")
        return ()
    if len(fields) != 1 or not fields[0].startswith('"'):
        raise LoglinError(f'{place}: {match[0]!r} needs a quoted pattern, such as %{name}[0,0,"\\d"]')
    try:
        compiled(fields[0][1:-1])
    except LoglinError as error:
        raise LoglinError(f"{place}: {error}; correct it") from None
    return (fields[0][1:-1],)


def _options(text: str, place: str) -> tuple[dict, list[str]]:
    values: dict = {}
    names = []
    for word in text.split():
        key, _, value = word.partition("=")
        try:
            if key == "min_count" and 1 <= int(value) <= LARGEST:
                values[key] = int(value)
            elif key == "variance" and float(value) > 0:
                values[key] = float(value)
            elif (key == "labels" and value in ("seen", "all")) or value in _SET_OPTIONS.get(key, ()):
                values[key] = value
            elif "=" in word:
                raise ValueError
            else:
                names.append(word)
        except ValueError:
            raise LoglinError(
                f"{place}: {word!r} is no option; write min_count=2, variance=0.5 or labels=all, then template "
                "names, or boundary=distance, oov=first or like=crf++"
            ) from None
    return values, names
