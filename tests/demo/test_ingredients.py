"""The generated corpus: reproducible, well labeled, ambiguous, and with unseen words in its test part."""

import itertools
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pycrfsuite
import pytest

from loglin.corpus.schemes import legal
from loglin.demo import lexicon
from loglin.demo.ingredients import TYPES, generate, tokenize
from loglin.errors import LoglinError
from loglin.evaluation.sequences import evaluate_labels

Lines = list[list[tuple[str, str]]]


@pytest.fixture(scope="module")
def training() -> Lines:
    return generate(2000, 1, "train")


@pytest.fixture(scope="module")
def testing() -> Lines:
    return generate(1000, 1, "test")


def _tokens(lines: Lines) -> list[tuple[str, str]]:
    return [(word.lower(), label) for line in lines for word, label in line]


def _labels(lines: Lines) -> list[list[str]]:
    return [[label for _, label in line] for line in lines]


def test_same_arguments_same_lines_in_any_process(training: Lines) -> None:
    assert generate(2000, 1, "train") == training
    assert generate(50, 1, "train") == training[:50]
    assert generate(50, 2, "train") != training[:50]
    assert generate(50, 1, "test") != training[:50]
    program = "from loglin.demo.ingredients import generate; print(generate(50, 1, 'train'))"
    out = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "77", "PYTHONUTF8": "1"},
    ).stdout
    assert out.strip() == repr(training[:50])


def test_labels_are_legal_iob2_and_all_occur(training: Lines, testing: Lines) -> None:
    names = ["O"] + [f"{letter}-{kind}" for letter in "BI" for kind in TYPES]
    transitions, first, last = legal(names, "iob2")
    code = {name: i for i, name in enumerate(names)}
    for line in training + testing:
        path = [code[label] for _, label in line]
        assert path
        assert first[path[0]]
        assert last[path[-1]]
        assert all(transitions[i, j] for i, j in itertools.pairwise(path)), line
    assert {label for _, label in _tokens(training)} == set(names)


def test_tokenizer_agrees_with_the_generated_tokens(training: Lines, testing: Lines) -> None:
    for line in training + testing:
        words = [word for word, _ in line]
        assert tokenize(" ".join(words)) == words
        attached = " ".join(words).replace(" ,", ",").replace("( ", "(").replace(" )", ")").replace(" ;", ";")
        assert tokenize(attached) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("2 1/2 cups flat-leaf parsley, plus", ["2", "1/2", "cups", "flat-leaf", "parsley", ",", "plus"]),
        ("1 (14.5-oz.) can", ["1", "(", "14.5-oz", ".", ")", "can"]),
        ("1½ c.confectioners' sugar", ["1½", "c", ".", "confectioners'", "sugar"]),
        ("1-2 or 1–2 or 1/4-1/2", ["1-2", "or", "1–2", "or", "1/4-1/2"]),
        ("250g flour,½tsp salt", ["250", "g", "flour", ",", "½", "tsp", "salt"]),
        ("1/2-inch-thick za'atar jalapeño*", ["1/2-inch-thick", "za'atar", "jalapeño", "*"]),
        ("", []),
    ],
)  # fmt: skip
def test_tokenizer_on_text_as_people_write_it(line: str, words: list[str]) -> None:
    assert tokenize(line) == words


def test_lexicons_are_large_and_their_held_out_entries_stay_out_of_training() -> None:
    names = {name for kind in lexicon.KINDS for name in kind.names.seen + kind.names.held_out}
    groups = [kind.before for kind in lexicon.KINDS] + [kind.after for kind in lexicon.KINDS]
    preparations = {text for group in groups for text in group.seen + group.held_out}
    comments = set(lexicon.COMMENTS.seen + lexicon.COMMENTS.held_out)
    assert len(names) >= 400
    assert len(lexicon.UNITS) >= 55
    assert len(preparations) >= 120
    assert len(comments) >= 50
    used = {unit for kind in lexicon.KINDS for unit in kind.units} | {
        unit for _, units in lexicon.PIECES for unit in units
    }
    assert used <= set(lexicon.UNITS)
    groups += [kind.names for kind in lexicon.KINDS] + [lexicon.COMMENTS, lexicon.SIZES, lexicon.BRANDS]
    held_out = {text.lower() for group in groups for text in group.held_out}
    units = lexicon.HELD_OUT_UNITS - {"bulb"}  # training has the fennel bulb
    held_out |= {form for unit in units for form in lexicon.UNITS[unit]}
    assert held_out & _sequences(generate(5000, 9, "train")) == set()
    assert len(held_out & _sequences(generate(5000, 9, "test"))) > 0.9 * len(held_out)


def _sequences(lines: Lines) -> set[str]:
    """Every run of up to six words."""
    texts = [[word.lower() for word, _ in line] for line in lines]
    return {" ".join(text[i:j]) for text in texts for i in range(len(text)) for j in range(i + 1, i + 7)}


def test_unseen_words_are_in_the_test_part_within_bounds(training: Lines, testing: Lines) -> None:
    known = {word for word, _ in _tokens(training)}
    unseen = sum(word not in known for word, _ in _tokens(testing)) / len(_tokens(testing))
    fresh = _tokens(generate(1000, 2, "train"))
    unseen_in_training = sum(word not in known for word, _ in fresh) / len(fresh)
    assert 0.04 < unseen < 0.12
    assert unseen_in_training < 0.02


def test_many_tokens_have_words_of_two_readings(training: Lines, testing: Lines) -> None:
    readings: dict[str, set[str]] = defaultdict(set)
    for word, label in _tokens(training):
        readings[word].add(label[2:])
    share = sum(len(readings[word]) > 1 for word, _ in _tokens(testing)) / len(_tokens(testing))
    assert 0.25 < share < 0.5
    for word, two in {
        "ground": {"PREP", "NAME"},
        "cloves": {"UNIT", "NAME"},
        "can": {"UNIT", "COMMENT"},
        "large": {"UNIT", "NAME"},
        "half": {"QTY", "NAME"},
        "juice": {"PREP", "NAME"},
        "dry": {"PREP", "NAME"},
        "chopped": {"PREP", "NAME"},
        "plus": {"", "COMMENT"},
        "2": {"QTY", "COMMENT"},
    }.items():
        assert two <= readings[word], word


def test_patterns_asked_for_occur(training: Lines) -> None:
    text = "\n".join(" ".join(word for word, _ in line) for line in training)
    for wanted in (
        "½",
        " to ",
        "1–",
        "( 14",
        " or ",
        "Salt and pepper to taste",
        "juice of",
        "for serving",
        "room temperature",
    ):
        assert wanted in text, wanted
    assert sum(line.isupper() for line in text.split("\n")) > 20
    assert sum(not any(c.isdigit() for c in line) for line in text.split("\n")) > 100


def _word_features(words: list[str]) -> list[list[str]]:
    return [["w=" + word] for word in words]


def _context_features(words: list[str]) -> list[list[str]]:
    padded = ["", "", *(word.lower() for word in words), "", ""]
    return [
        [f"{k}={padded[i + 2 + k]}" for k in (-2, -1, 0, 1, 2)]
        + [f"s={word[-3:]}", f"p={word[:3]}", f"d={word[0].isdigit()}"]
        for i, word in enumerate(words)
    ]


def test_context_and_spelling_help_clearly_and_leave_something_to_learn(
    training: Lines, testing: Lines, tmp_path: Path
) -> None:
    """Measured: usual label of a word 0.66, word features in a CRF 0.88, with context and spelling 0.94."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for word, label in _tokens(training):
        counts[word][label] += 1
    usual = {word: count.most_common(1)[0][0] for word, count in counts.items()}
    guess = [[usual.get(word.lower(), "B-NAME") for word, _ in line] for line in testing]
    scores = [evaluate_labels(_labels(testing), guess).f1]
    for features in (_word_features, _context_features):
        trainer = pycrfsuite.Trainer(verbose=False)
        for line in training:
            trainer.append(features([word for word, _ in line]), [label for _, label in line])
        trainer.set_params({"c1": 0.05, "c2": 0.1, "max_iterations": 60})
        trainer.train(str(tmp_path / "model"))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(tmp_path / "model"))
        guess = [tagger.tag(features([word for word, _ in line])) for line in testing]
        scores.append(evaluate_labels(_labels(testing), guess).f1)
    usual_f1, word_f1, context_f1 = scores
    assert 0.5 < usual_f1 < 0.75
    assert usual_f1 + 0.1 < word_f1 < context_f1 - 0.03
    assert 0.9 < context_f1 < 0.98


def test_errors_name_the_value_and_the_remedy() -> None:
    with pytest.raises(LoglinError, match=r"'dev'.*'train' or 'test'"):
        generate(1, 1, "dev")
    with pytest.raises(LoglinError, match="-1 ingredient lines"):
        generate(-1, 1)
