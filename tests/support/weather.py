"""Sentences of attributes of every form, with labels."""

from __future__ import annotations

import random

WORDS = ["rain", "sun", "wind", "snow", "солнце", "a:b", "", "x y"]


def item(draw: random.Random) -> dict:
    """The attributes of a token: strings, truth values, numbers, bytes, and what is nested."""
    word = draw.choice(WORDS)
    given = {
        "bias": 1.0,
        "w": word,
        "long": len(word) > 3,
        "never": False,
        "length": len(word) / 4,
        "below": draw.choice([-1.5, 0, 2, 0.25]),
        "raw": draw.choice([b"x", "не светит".encode()]),
        "in": {"deep": {"w": word, "n": 2}, "list": ["p", draw.choice("qr")], "set": {draw.choice("st")}},
    }
    return {key: given[key] for key in draw.sample(list(given), draw.randint(0, len(given)))}


def weather(n: int, seed: int = 0) -> tuple[list[list[dict]], list[list[str]]]:
    """n sentences of 0 to 7 tokens, and labels that depend on the attributes."""
    draw = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        X.append([item(draw) for _ in range(draw.choice([0, 1, 1, 2, 3, 5, 7]))])
        labels = ["好" if x.get("long") else "B-a" if "w" in x else "I-a" for x in X[-1]]
        y.append([draw.choice(["B-a", "O", label, label, label]) for label in labels])
    return X, y
