"""A small corpus of recipe ingredient lines, generated: nothing in it comes from a published data set.

    pattern ──► segments with a label ──► tokens in IOB2 ──► letter case, typos

Labels are QTY, UNIT, NAME, PREP (what is done to it) and COMMENT; punctuation and linking words are O. The
words and patterns are in lexicon.toml. Many words have two readings that only the context tells
apart, and the test part also has words and patterns that the training part never shows.
"""

import random
import re
from functools import lru_cache

from loglin.demo import lexicon
from loglin.errors import LoglinError

TYPES = ("QTY", "UNIT", "NAME", "PREP", "COMMENT")
HELD_OUT_SHARE = 0.18  # of the draws from a list that has held-out entries, in the test part
HELD_OUT_LINE_SHARE = 0.04  # of the test lines
TYPO_RATE = 0.008  # of the words with at least five letters

_PART = r"(?:\d+[½⅓⅔¼¾⅛]|\d+/\d+|\d+\.\d+|\d+|[½⅓⅔¼¾⅛])"
_TOKEN = re.compile(
    rf"{_PART}(?:[-–]{_PART})*(?:-[^\W\d_]+)*"  # 2   1/2   1½   2.5   1-2   14-ounce   1/2-inch-thick
    r"|[^\W\d_]+(?:['’-][^\W_]+)*['’]?(?![\w])"  # words: flat-leaf   za'atar   confectioners'
    r"|[^\W\d_]+"
    r"|\S"
)

Token = tuple[str, str]  # word, label


def tokenize(line: str) -> list[str]:
    """The tokens of a line of text, cut as the generated lines are.

    Fractions, decimals, ranges and hyphenated words stay whole; a number is cut from a unit written against
    it ("250g"), and every other mark stands alone.
    """
    return _TOKEN.findall(line)


def generate(n: int, seed: int, split: str = "train") -> list[list[Token]]:
    """`n` lines of (token, label) pairs; the same arguments always give the same lines.

    `split` is "train" or "test"; only "test" uses the held-out words and patterns.
    """
    if split not in ("train", "test"):
        raise LoglinError(f"the ingredient corpus has no part {split!r}: write 'train' or 'test'")
    if n < 0:
        raise LoglinError(f"cannot generate {n} ingredient lines: ask for 0 or more")
    rng = random.Random(f"{split} {seed}")
    return [_line(rng, split == "test") for _ in range(n)]


def _line(rng: random.Random, test: bool) -> list[Token]:
    filler = _Filler(rng, test)
    pattern = filler.pattern()
    tokens: list[Token] = []
    for label, template in _segments(pattern):
        words = tokenize(filler.fill(template))
        tokens += [(word, _iob2(label, position)) for position, word in enumerate(words)]
    return _spell(tokens, rng)


def _iob2(label: str, position: int) -> str:
    return "O" if label == "O" else ("I-" if position else "B-") + label


@lru_cache(maxsize=4096)
def _segments(pattern: str) -> tuple[tuple[str, str], ...]:
    """("QTY", "{qty}"), ("NAME", "{name}") of "QTY {qty} | NAME {name}"."""
    pairs = (segment.strip().partition(" ") for segment in pattern.split("|"))
    return tuple((label, template) for label, _, template in pairs)


class _Filler:
    """Chooses a pattern for one line and fills its slots: {weight} from the lexicon, {unit} by the method `unit`."""

    _slot = re.compile(r"\{(\w+)\}")

    def __init__(self, rng: random.Random, test: bool) -> None:
        self.rng = rng
        self.test = test
        self.kind = rng.choices(lexicon.KINDS, [kind.share for kind in lexicon.KINDS])[0]
        self.many = False  # the last quantity was more than one
        self.counting = True  # the quantity counts things, and does not measure
        self.measure = ""  # the unit of the last quantity
        self.used: set[str] = set()  # names, so that none is its own alternative
        self.pieced_name, self.piece_units = rng.choice(lexicon.PIECES)

    def fill(self, template: str) -> str:
        return self._slot.sub(lambda match: self._filled(match[1]), template)

    def _filled(self, slot: str) -> str:
        if slot in lexicon.EQUAL:
            return self.rng.choice(lexicon.EQUAL[slot])
        return self._pick(lexicon.DRAWN[slot]) if slot in lexicon.DRAWN else getattr(self, slot)()

    def pattern(self) -> str:
        draw = self.rng.random()
        if self.test and draw < HELD_OUT_LINE_SHARE:
            return self._weighted(lexicon.HELD_OUT_LINES)
        if draw < 0.11:
            return self._weighted(lexicon.LOOSE)
        if draw < 0.19:
            head = self._weighted(lexicon.PIECED)
            self.kind = lexicon.KINDS[0]  # pieces are prepared as vegetables are
        elif self.rng.random() < self.kind.counted:
            head = self._weighted(lexicon.COUNTED)
        elif "can" in self.kind.units and self.rng.random() < 0.45:
            head = self._weighted(lexicon.CONTAINED)
        else:
            self.counting = False
            head = self._weighted(lexicon.MEASURED)
        if not self.kind.before.seen and "{before}" in head:
            head = "QTY {qty} | UNIT {unit} | NAME {name}"
        tails = lexicon.TAILS
        if self.test and self.rng.random() < HELD_OUT_LINE_SHARE:
            tails = lexicon.HELD_OUT_TAILS
        tail = self._weighted(tails)
        return f"{head} | {tail}" if tail else head

    # what the slots stand for

    def qty(self) -> str:
        # the unit comes first, because people measure grams by the hundred and cups by the half
        self.measure = self._pick_unit(self.kind.units)
        if self.counting:
            text, self.many = _count(self.rng)
        elif self.measure in ("gram", "milliliter"):
            text, self.many = self.rng.choice(lexicon.EQUAL["metric"]), True
        else:
            text, self.many = _quantity(self.rng)
        return text

    def hyphenated(self) -> str:
        return f"{self.rng.choice(lexicon.EQUAL['package_size'])}-{self.rng.choice(('ounce', 'oz'))}"

    def unit(self) -> str:
        return self._unit_form(self.measure)

    def piece(self) -> str:
        return self._unit_form(self._pick_unit(self.piece_units))

    def holder(self) -> str:
        return self._unit_form(self.rng.choice(lexicon.EQUAL["container"]))

    def sizes(self) -> str:
        return self.rng.choice(("large", "medium", "small")) + self.rng.choice((" ones", "", " pieces", " cloves"))

    def modifier(self) -> str:
        if self.measure in ("cup", "teaspoon", "tablespoon", "pinch"):
            return self._pick(lexicon.UNIT_MODIFIERS)
        return self.rng.choice(("large", "small"))

    def name(self) -> str:
        name = self._pick(self.kind.names)
        while name in self.used:
            name = self._pick(self.kind.names)
        self.used.add(name)
        return name

    def names(self) -> str:
        return _plural(self.name()) if self.many else self.name()

    def other(self) -> str:
        return self._pick(self.rng.choice(lexicon.KINDS).names)

    def pieced(self) -> str:
        return self.pieced_name

    def citrus(self) -> str:
        fruit = self.rng.choice(("lemon", "lime", "orange", "lemon", "grapefruit"))
        return _plural(fruit) if self.many else fruit

    def before(self) -> str:
        return self._pick(self.kind.before)

    def after(self) -> str:
        return self._pick(self.kind.after)

    def remark(self) -> str:
        return self.fill(self._pick(lexicon.REMARKS))

    def _pick_unit(self, units: tuple[str, ...]) -> str:
        seen = tuple(unit for unit in units if unit not in lexicon.HELD_OUT_UNITS)
        return self._pick(lexicon.Entries(seen, tuple(unit for unit in units if unit not in seen)))

    def _unit_form(self, unit: str) -> str:
        singular, plural, *short = lexicon.UNITS[unit]
        if short and self.rng.random() < 0.45:
            return self.rng.choice(short)
        slip = self.rng.random() < 0.02
        return plural if self.many != slip else singular

    def _pick(self, entries: lexicon.Entries) -> str:
        if self.test and entries.held_out and self.rng.random() < HELD_OUT_SHARE:
            return self.rng.choice(entries.held_out)
        # squaring prefers early entries, as real text prefers common words
        return entries.seen[int(len(entries.seen) * self.rng.random() ** 2)]

    def _weighted(self, table: lexicon.Weighted) -> str:
        return self.rng.choices([text for _, text in table], [weight for weight, _ in table])[0]


def _quantity(rng: random.Random) -> tuple[str, bool]:
    """A measured quantity as people write it, and whether it is more than one."""
    shape = rng.random()
    whole = rng.choice(lexicon.EQUAL["whole"])
    if shape < 0.22:
        return rng.choice(lexicon.EQUAL["fractions"]), False
    if shape < 0.36:
        return f"{whole} {rng.choice(lexicon.EQUAL['fractions'])}", True
    if shape < 0.41:
        return rng.choice(lexicon.EQUAL["signs"]), False
    if shape < 0.45:
        return whole + rng.choice(("", " ")) + rng.choice(lexicon.EQUAL["signs"]), True
    if shape < 0.47:
        return f"{whole} and {rng.choice(lexicon.EQUAL['fractions'])}", True
    if shape < 0.50:
        return rng.choice(("1.5", "2.5", "0.5", "1.25", "0.75")), True
    if shape < 0.515:
        return "one half", False
    return _count(rng)


def _count(rng: random.Random) -> tuple[str, bool]:
    """A number of things as people write it, and whether it is more than one."""
    shape = rng.random()
    whole = rng.choice(lexicon.EQUAL["whole"])
    if shape < 0.76:
        return whole, whole != "1"
    if shape < 0.88:
        more = str(int(whole) + rng.randint(1, 2))
        return whole + rng.choice(("-", " to ", " - ", "–", " or ")) + more, True
    if shape < 0.95:
        word = rng.choice(lexicon.EQUAL["words"])
        return word, word not in ("one", "a", "an", "half a")
    if shape < 0.97:
        return rng.choice(("1/2", "½", "1 1/2")), False
    return f"{rng.choice(('about', 'approx', 'roughly'))} {whole}", whole != "1"


def _plural(name: str) -> str:
    words = name.split(" ")
    last = words[-1]
    if last in lexicon.PLURALS:
        last = lexicon.PLURALS[last]
    elif last.endswith(("ch", "sh", "s", "x")):
        last = last if last.endswith("s") else last + "es"
    elif last.endswith("rry"):
        last = last[:-1] + "ies"
    else:
        last += "s"
    return " ".join([*words[:-1], last])


def _spell(tokens: list[Token], rng: random.Random) -> list[Token]:
    """The same tokens as a hurried cook types them: letter case by line, and a few slips of the finger."""
    case = rng.random()
    spelled = []
    for position, (word, label) in enumerate(tokens):
        if len(word) >= 5 and word.isalpha() and rng.random() < TYPO_RATE:
            word = _slip(word, rng)
        if case < 0.02:
            word = word.upper()
        elif case < 0.05 or (case < 0.20 and position == 0):
            word = word[0].upper() + word[1:]
        elif case < 0.24:
            word = word.lower()
        spelled.append((word, label))
    return spelled


def _slip(word: str, rng: random.Random) -> str:
    i = rng.randrange(1, len(word) - 1)
    return rng.choice(
        (
            word[:i] + word[i + 1] + word[i] + word[i + 2 :],  # two letters swapped
            word[:i] + word[i + 1 :],  # one left out
            word[:i] + word[i] + word[i:],  # one struck twice
        )
    )
