"""Small data for the golden numbers, the same on every machine: sentences with labels, trees, a text, examples."""

from __future__ import annotations

import random

import numpy as np

# words with the labels they may have; "run", "light" and "watch" are ambiguous
DICTIONARY = {
    "the": ["D"], "a": ["D"], "every": ["D"],
    "dog": ["N"], "cat": ["N"], "crow": ["N"], "run": ["N", "V"], "light": ["A", "N", "V"], "watch": ["N", "V"],
    "sees": ["V"], "sleeps": ["V"], "likes": ["V"],
    "old": ["A", "N"], "small": ["A"], "red": ["A"],
}  # fmt: skip
PATTERNS = ["D N V", "D A N V", "D N V D N", "A N V D A N", "N V N", "D A A N V N", "V D N", "N V"]
LABELS = ["A", "D", "N", "V"]


def generated(n: int, seed: int) -> tuple[list[list[tuple[str, str]]], list[list[str]]]:
    """Sentences whose tokens are a word and its last letter, and their labels, some of them wrong."""
    rng = random.Random(seed)
    by_label = {label: [w for w, labels in DICTIONARY.items() if label in labels] for label in LABELS}
    sentences, labels = [], []
    for _ in range(n):
        pattern = rng.choice(PATTERNS).split()
        words = [rng.choice(by_label[label]) for label in pattern]
        noisy = [rng.choice(DICTIONARY[w]) if rng.random() < 0.3 else y for w, y in zip(words, pattern, strict=True)]
        sentences.append([(word, word[-1]) for word in words])
        labels.append(noisy)
    return sentences, labels


def words_of(sentences: list) -> list[list[str]]:
    return [[word for word, _ in sentence] for sentence in sentences]


X, Y = generated(36, 1)
X_NEW, Y_NEW = generated(10, 2)
X_NEW.append([("unheard", "d"), ("sees", "s"), ("the", "e"), ("thing", "g")])
Y_NEW.append(["N", "V", "D", "N"])
WORDS, WORDS_NEW = words_of(X), words_of(X_NEW[:-1])
UNLABELED = words_of(generated(12, 3)[0])
LEXICON = {word: ["N", "V", "A"] if word in ("cat", "dog") else labels for word, labels in DICTIONARY.items()}
ATTRIBUTES = [[{"w": w, "end": [last], "long": len(w) / 4} for w, last in sentence] for sentence in X]
ATTRIBUTES_NEW = [[{"w": w, "end": [last], "long": len(w) / 4} for w, last in sentence] for sentence in X_NEW]
SENTENCE_WEIGHTS = [0.5 + (i % 4) / 2 for i in range(len(X))]


def partly() -> list[list]:
    """The labels with every seventh unknown and every fifth one of two."""
    number, found = 0, []
    for labels in Y:
        row: list = []
        for label in labels:
            number += 1
            row.append(None if number % 7 == 0 else {label, "N"} if number % 5 == 0 else label)
        found.append(row)
    return found


PARTLY = partly()
SOME_LABELS = [labels if i % 3 == 0 else None for i, labels in enumerate(Y)]

# ---------------------------------------------------------------------- trees

TREES = [
    "(S (NP (PRP she)) (VP (VBD saw) (NP (DT the) (NN crow))))",
    "(S (NP (DT the) (NN crow)) (VP (VBD slept)))",
    "(S (NP (DT a) (NN mouse)) (VP (VBD saw) (NP (PRP her))))",
    "(S (NP (PRP she)) (VP (VBD saw) (NP (DT the) (NN crow)) (PP (IN with) (NP (DT a) (NN telescope)))))",
    "(S (NP (DT the) (NN mouse)) (VP (VBD met) (NP (NP (DT a) (NN crow)) (PP (IN in) (NP (DT the) (NN tree))))))",
    "(S (NP (PRP it)) (VP (VBD slept) (PP (IN in) (NP (DT the) (NN tree)))))",
    "(S (NP (NP (DT the) (NN crow)) (PP (IN in) (NP (DT a) (NN tree)))) (VP (VBD slept)))",
    "(S (NP (DT a) (JJ small) (NN mouse)) (VP (VBD met) (NP (PRP her))))",
    "(S (NP (DT the) (JJ old) (NN crow)) (VP (VBD saw) (NP (DT a) (JJ small) (NN tree))))",
    "(S (NP (PRP it)) (VP (VBD met) (NP (DT the) (NN mouse)) (PP (IN with) (NP (DT the) (NN crow)))))",
    "(S (NP (PRP she)) (VP (VBD slept)))",
    "(S (NP (NN mouse)) (VP (VBD saw) (NP (NP (DT the) (NN crow)) (PP (IN with) (NP (DT the) (NN tree))))))",
]
PARSED = [s.split() for s in ("the mouse saw the crow with a tree", "she met a small owl", "it slept in the old tree")]
TREELESS = [s.split() for s in ("she slept", "the mouse slept", "it saw the small crow", "a crow met her in the tree")]
TAGS = [s.split() for s in ("D N V D N", "D N V", "N V D N", "N V N", "D N V N", "D A N V", "N V D A N")]
BRACKETS = "(_ (_ (_ D) (_ N)) (_ (_ V) (_ (_ D) (_ N))))"
SPANS = "R01:%first[0]\nR02:%last[0]/%length[3]\nL01:%first[-1]/%last[1]\nS01:%split[-1]/%split[0]\nU01:%x[0,0]"

# ---------------------------------------------------------------------- a text


def text() -> list[str]:
    """Four documents of fifteen lines."""
    lines: list[str] = []
    for number, author in enumerate(("aesop", "grimm", "aesop", "lear")):
        lines.append(f"#! author={author}")
        lines += [" ".join(sentence) for sentence in words_of(generated(15, 10 + number)[0])]
        lines.append("")
    return lines


TEXT = text()
TEXT_NEW = [" ".join(sentence) for sentence in words_of(generated(6, 20)[0])] + ["an unheard dog sleeps"]
HISTORIES = ["", "the", "the old", "#! author=lear\nthe cat sees the dog\nevery small"]
WORD_CLASSES = {word: labels[0] for word, labels in DICTIONARY.items()}

# ---------------------------------------------------------------------- examples

TOPICS = {
    "sport": ["ball", "goal", "team", "race", "win"],
    "law": ["vote", "court", "law", "win", "case"],
    "art": ["paint", "song", "case", "team", "light"],
}


def examples(n: int, seed: int) -> tuple[list[list[str]], list[str], list[set[str]]]:
    """Lists of words, the class of each, and a set of labels of each."""
    rng = random.Random(seed)
    X, y, sets = [], [], []
    for _ in range(n):
        topic, other = rng.sample(sorted(TOPICS), 2)
        words = [rng.choice(TOPICS[topic]) for _ in range(rng.randint(2, 4))] + [rng.choice(TOPICS[other])]
        X.append(words)
        y.append(other if rng.random() < 0.1 else topic)
        sets.append({topic, other} if rng.random() < 0.4 else {topic} if rng.random() < 0.9 else set())
    return X, y, sets


EXAMPLES, CLASSES, SETS = examples(40, 4)
EXAMPLES_NEW = [*examples(8, 5)[0], ["unheard"], []]
CHOICES = [sorted({c, sorted(TOPICS)[i % 3]} | ({"art"} if i % 4 == 0 else set())) for i, c in enumerate(CLASSES)]
CHOICES_NEW = [["art", "law"] if i % 2 else ["law", "sport"] for i in range(len(EXAMPLES_NEW))]
PARTLY_CLASSES = [None if i % 9 == 0 else {c, "art"} if i % 5 == 0 else c for i, c in enumerate(CLASSES)]
VOCABULARY = sorted({word for words in TOPICS.values() for word in words})
COUNTS = np.array([[float(words.count(word)) for word in VOCABULARY] for words in EXAMPLES])
COUNTS_NEW = np.array([[float(words.count(word)) for word in VOCABULARY] for words in EXAMPLES_NEW])
VALUES = COUNTS - 0.25 * np.arange(len(VOCABULARY)) / len(VOCABULARY)
INDICATOR = np.array([[int(c in labels) for c in sorted(TOPICS)] for labels in SETS])
DICTS = [{"word": words, "length": len(words) / 3} for words in EXAMPLES]
DICTS_NEW = [{"word": words, "length": len(words) / 3} for words in EXAMPLES_NEW]
EXAMPLE_WEIGHTS = [0.5 + (i % 3) / 2 for i in range(len(EXAMPLES))]


def of_both(words: list[str], topic: str) -> dict[str, float]:
    """f(x, y): what an example and a class have together."""
    own = [word for word in words if word in TOPICS[topic]]
    return {f"{topic}:{word}": 1.0 for word in words} | {"shared": len(own) / (1 + len(words))}


def antecedent(pronoun: tuple[int, str], person: tuple[int, str]) -> dict[str, float]:
    return {"same": float(pronoun[1] == person[1]), "distance": (pronoun[0] - person[0]) / 10}


def rankings(n: int, seed: int) -> tuple[list, list, list]:
    """Pronouns, the right candidate of each, and all candidates of each."""
    rng = random.Random(seed)
    pronouns, right, choices = [], [], []
    for _ in range(n):
        people = [(place, rng.choice("fm")) for place in sorted(rng.sample(range(9), rng.randint(2, 4)))]
        pronoun = (10, rng.choice("fm"))
        fitting = [p for p in people if p[1] == pronoun[1]] or people
        pronouns.append(pronoun)
        right.append(fitting[-1] if rng.random() < 0.8 else people[0])
        choices.append(people)
    return pronouns, right, choices


PRONOUNS, ANTECEDENTS, PEOPLE = rankings(25, 6)
PRONOUNS_NEW, _, PEOPLE_NEW = rankings(8, 7)
