"""Words and line patterns of the ingredient corpus, as lexicon.toml lists them."""

import tomllib
from dataclasses import dataclass
from importlib import resources

Weighted = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Entries:
    seen: tuple[str, ...]
    held_out: tuple[str, ...] = ()  # test part only


@dataclass(frozen=True)
class Kind:
    """Ingredients that are measured and prepared alike."""

    names: Entries
    share: int  # relative frequency
    counted: float  # how often the name itself is counted: "2 onions"
    units: tuple[str, ...]  # keys of UNITS
    before: Entries
    after: Entries


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.replace("\n", " ").split(",") if part.strip())


def _entries(text: str) -> Entries:
    held_out = tuple(part.rstrip("*") for part in _parts(text) if part.endswith("*"))
    return Entries(tuple(part for part in _parts(text) if not part.endswith("*")), held_out)


def _weighted(text: str) -> Weighted:
    rows = (line.partition(" ") for line in text.splitlines())
    return tuple((int(weight), pattern) for weight, _, pattern in rows)


_TEXT = tomllib.loads((resources.files("loglin.demo") / "lexicon.toml").read_text("utf-8"))

UNITS = {forms[0]: tuple(forms) for forms in map(str.split, _parts(_TEXT["units"]))}  # singular, plural, short forms
HELD_OUT_UNITS = set(_parts(_TEXT["held_out_units"]))
UNIT_MODIFIERS, SIZES, BRANDS, COMMENTS, REMARKS = (
    _entries(_TEXT[name]) for name in ("unit_modifiers", "sizes", "brands", "comments", "remarks")
)
DRAWN = {"size": SIZES, "brand": BRANDS, "comment": COMMENTS}  # what fills a slot as it is
EQUAL = {name: _parts(text) for name, text in _TEXT["equal"].items()}  # of which none is drawn more often
PLURALS: dict[str, str] = _TEXT["plurals"]  # irregular ones
_PREPARATIONS = {name: (_entries(of["before"]), _entries(of["after"])) for name, of in _TEXT["preparations"].items()}
KINDS = tuple(
    Kind(_entries(kind["names"]), kind["share"], kind["counted"], _parts(kind["units"]),
         *_PREPARATIONS[kind["preparation"]])
    for kind in _TEXT["kinds"]
)  # fmt: skip
PIECES = tuple((name, _parts(units)) for name, units in _TEXT["pieces"].items())
MEASURED, COUNTED, CONTAINED, PIECED, LOOSE, HELD_OUT_LINES, TAILS, HELD_OUT_TAILS = (
    _weighted(_TEXT["patterns"][name])
    for name in ("measured", "counted", "contained", "pieced", "loose", "held_out_lines", "tails", "held_out_tails")
)
