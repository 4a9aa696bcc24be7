"""Trees drawn: in the terminal by hand and by properties, as SVG by geometry."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglin.corpus.trees import Tree
from loglin.drawing.svg import columns, printable
from loglin.drawing.tree_svg import RED, picture_of, svg
from loglin.drawing.trees import draw
from loglin.errors import LoglinError

CAT = Tree.parse("(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .))")


def test_top_down():
    assert draw(CAT).split("\n") == [
        "          S",
        "   ┌──────┴─┬─────┐",
        "   NP       VP    .",
        " ┌─┴──┐     │     │",
        " DT   NN   VBZ    │",
        " │    │     │     │",
        "The  cat  sleeps  .",
    ]


def test_marks_stand_behind_labels():
    marks = {("NP", 0, 2): 0.25, (2, 3): "?", ("XP", 0, 2): 0.9, ("DT", 0, 1): 1}
    lines = draw(CAT, marks=marks).split("\n")
    assert lines[2].split() == ["NP", "0.25", "VP", "?", "."]
    assert lines[4].split() == ["DT", "1.00", "NN", "VBZ", "?", "│"]


def test_a_branch_over_a_child():
    lines = draw(Tree.parse("(S (A a) (B b) (C c))")).split("\n")
    assert lines[:2] == ["   S", "┌──┼──┐"]


def test_indented_where_it_is_too_wide():
    expected = ["S", "├─ NP", "│  ├─ DT The", "│  └─ NN cat", "├─ VP", "│  └─ VBZ sleeps", "└─ . ."]
    assert draw(CAT, 19).count("┴") == 2
    assert draw(CAT, 18).split("\n") == expected
    deep = Tree("NN", (), "a")
    for _ in range(3000):
        deep = Tree("X", (deep,))
    assert draw(deep).split("\n")[-1].endswith("└─ NN a")


def test_small_and_nameless_trees():
    assert draw(Tree.parse("(NN a)")) == "NN\n│\na"
    assert draw(Tree.parse("( (NN a))")) == "·\n│\nNN\n│\na"


def test_widths_of_characters():
    assert [columns(text) for text in ("abc", "言葉", "e\u0301", "한", "\u1112\u1161\u11ab", "می\u200cخواهم")] == [
        3,
        4,
        1,
        2,
        2,
        7,
    ]
    lines = draw(Tree.parse("(S (A 言葉言葉) (B e\u0301e\u0301e\u0301) (C c))")).split("\n")
    assert lines[-1] == "言葉言葉  e\u0301e\u0301e\u0301  c"
    assert lines[-2] == "   │       │   │"  # over the middle of each word, in columns
    assert printable("a\x1b[31m\u202e") == "a\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}"
    assert "\x1b" not in draw(Tree("N", (), "\x1b[2J"), marks={(0, 1): "\x1b[0m"})


WORDS = st.sampled_from(["a", "word", "言葉", "e\u0301t", "internationalization", "<&>", "i"])
LABELS = st.sampled_from(["S", "NP", "WHADVP", "X", "言", ""])
TREES = st.recursive(
    st.builds(lambda label, word: Tree(label, (), word), LABELS, WORDS),
    lambda below: st.builds(lambda label, kids: Tree(label, tuple(kids)), LABELS, st.lists(below, min_size=1)),
    max_leaves=15,
)


def cells(line: str) -> list[str]:
    """A string a column: a character with the marks on it, and nothing for the second column of a wide one."""
    found: list[str] = []
    for c in line:
        if columns(c):
            found += [c, ""][: columns(c)]
        else:
            found[-1] += c
    return found


def read_back(grid: list[list[str]], row: int, column: int) -> Tree:
    """The tree whose top stands here, by following the lines."""
    label, lines = text_at(grid[row], column), grid[row + 1]
    if lines[column] == "│":
        if row + 3 == len(grid) or grid[row + 2][column] == "│":
            assert all(line[column] == "│" for line in grid[row + 1 : -1])
            return Tree(label, (), text_at(grid[-1], column))
        return Tree(label, (read_back(grid, row + 2, column),))
    assert lines[column] in "┴┼"
    first, last = column, column
    while lines[first] != "┌":
        first -= 1
    while lines[last] != "┐":
        last += 1
    children = [k for k in range(first, last + 1) if lines[k] in "┌┬┼┐"]
    return Tree(label, tuple(read_back(grid, row + 2, k) for k in children))


def text_at(row: list[str], column: int) -> str:
    first, last = column, column
    while first > 0 and row[first - 1] != " ":
        first -= 1
    while last < len(row) and row[last] != " ":
        last += 1
    return "".join(row[first:last])


@settings(deadline=None)
@given(TREES)
def test_a_drawing_can_be_read_back(tree):
    grid = [cells(line) for line in draw(tree, 10_000).split("\n")]
    wide = max(map(len, grid))
    grid = [row + [" "] * (wide - len(row)) for row in grid]
    top = next(k for k, cell in enumerate(grid[1]) if cell in "│┴┼")
    named = Tree.from_preorder(
        [node.label or "·" for node in tree.nodes()],
        [len(node.children) for node in tree.nodes()],
        [node.word for node in tree.nodes()],
    )
    assert read_back(grid, 0, top) == named
    assert columns(max(draw(tree, 10_000).split("\n"), key=columns)) == wide
    assert draw(tree, wide) == draw(tree, 10_000)


@settings(deadline=None)
@given(TREES)
def test_indented_lines_are_the_nodes(tree):
    lines = draw(Tree("TOP", (tree, Tree("END", (), "x" * 30))), 1).split("\n")
    depths = [len(line) - len(line.lstrip("│├└─ ")) for line in lines]
    nodes = [("TOP", None), *((n.label or "·", n.word) for n in tree.nodes()), ("END", "x" * 30)]
    assert [line.lstrip("│├└─ ") for line in lines] == [f"{a} {b}" if b else a for a, b in nodes]
    for shallow, deep in itertools.pairwise(depths):
        assert deep <= shallow + 3


@settings(deadline=None)
@given(TREES, st.dictionaries(st.tuples(st.integers(0, 9), st.integers(1, 10)), st.one_of(st.floats(0, 1), WORDS)))
def test_nothing_in_a_picture_covers_anything(tree, marks):
    picture = picture_of(tree, marks)
    boxes = [text.box for text in picture.texts if text.content]
    for a, b in itertools.combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (a, b)
    for line in picture.lines:
        assert line.begin[1] < line.end[1]
        for t in (k / 20 for k in range(21)):
            x, y = (a + t * (b - a) for a, b in zip(line.begin, line.end, strict=True))
            assert not any(left < x < right and top < y < bottom for left, top, right, bottom in boxes)
    for left, top, right, bottom in boxes:
        assert left >= 0
        assert right <= picture.width
        assert top >= 0
        assert bottom <= picture.height


def test_the_file_holds_every_text():
    tree = Tree.parse('(S (<NP> (N R&D) (N "q")) (V \u8a00))')
    root = ElementTree.fromstring(svg([tree, CAT], 'a < "b"', [{(0, 2): 0.4, (2, 3): "part & parcel"}, None]))
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in root.iter(f"{space}text")]
    ours = ["S", "<NP>", "0.40", "N", "R&D", "N", '"q"', "V", "part & parcel", "\u8a00"]
    assert sorted(texts) == sorted([*ours, "S", "NP", "DT", "The", "NN", "cat", "VP", "VBZ", "sleeps", ".", "."])
    assert root.find(f"{space}title").text == 'a < "b"'
    assert {t.text for t in root.iter(f"{space}text") if t.get("fill") == RED} == {"<NP>", "0.40", "V", "part & parcel"}
    left, top, width, height = map(float, root.get("viewBox").split())
    groups = root.findall(f"{space}g")
    below = float(groups[1].get("transform").split()[1].rstrip(")"))
    first = picture_of(tree, {(0, 2): 0.4, (2, 3): "part & parcel"})
    assert below > first.height
    assert top + height >= below + picture_of(CAT).height
    assert left + width >= max(first.width, picture_of(CAT).width)
    background = root.find(f"{space}rect")
    assert (background.get("fill"), background.get("width")) == ("white", f"{width:.1f}")


def test_refusals():
    for call in (lambda: svg([], "none"), lambda: svg([CAT], "marks", [None, None])):
        with pytest.raises(LoglinError, match="trees to draw"):
            call()
