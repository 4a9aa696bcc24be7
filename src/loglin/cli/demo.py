"""loglin demo: the whole way of the data on a corpus that the project generates itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

import click

from loglin.cli import options as shared

TRAINING_LINES, TEST_LINES = 2000, 500
EXAMPLES = (
    "2 cups all-purpose flour, sifted",
    "1 (14-ounce) can crushed tomatoes, with their juice",
    "a handful of fresh basil leaves, torn, for garnish",
)
TEMPLATES = {
    "the word only": """\
U-word:%lower[0,0]
B
""",
    "word, context and spelling": """\
U-word:%lower[0,0]
U-before:%lower[-1,0]
U-after:%lower[1,0]
U-two-before:%lower[-2,0]
U-two-after:%lower[2,0]
U-before-and-word:%lower[-1,0] %lower[0,0]
U-word-and-after:%lower[0,0] %lower[1,0]
U-suffix:%suffix[0,0,2]
U-longer-suffix:%suffix[0,0,3]
U-shape-before:%short-shape[-1,0]
U-shape:%short-shape[0,0]
U-shape-after:%short-shape[1,0]
B
""",
}
NEXT = """\
Next, try
  loglin demo "1 pinch of salt"                 your own line
  loglin demo -o demo.model                     keep this model, then
  loglin inspect demo.model                     see its strongest weights
  loglin inspect demo.model --explain "2 large eggs , beaten"
  loglin train DATA -o my.model                 your own data: a word and its label a line,
  loglin tag my.model FILE                      a blank line between sentences
"""


@click.command("demo")
@click.argument("lines", nargs=-1)
@click.option("-o", "--output", help="Keep the better model in this file.")
@shared.as_json
def demo_command(lines, output, as_json) -> None:
    """Train two taggers of recipe ingredients, compare them, tag LINES and explain one decision.

    Without LINES, those on standard input are tagged, one ingredient a line; without any, three examples.
    """
    began = time.perf_counter()
    shared.check_output(output)
    from loglin.cli.explaining import entity_lines
    from loglin.decoding.chains import Decoder

    def say(text: str = "") -> None:
        if not as_json:
            print(text, flush=True)

    say(f"A recipe ingredient has a quantity, a unit, a name … We generate {TRAINING_LINES:,} labelled lines,")
    say(f"train two taggers on them and test both on {TEST_LINES} lines, some with words they have never seen.\n")
    say("the tagger looks at         features      F1  seconds")
    models, compared = [], []
    for model, row in _trained():
        models.append(model)
        compared.append(row)
        say(f"{row['looks_at']:<26}  {row['features']:>8,}  {100 * row['f1']:6.2f}  {row['seconds']:7.2f}")
    say("\nF1 counts a phrase as right if its type and both its ends are. Now the better one at work:")
    if output:
        models[-1].save(output)
    decoder, tagged = Decoder(models[-1]), []
    for line in _lines(lines, ask=not as_json):
        value, explanation = _tagged(decoder, line)
        if value is None:
            continue
        tagged.append((value, explanation))
        say(f"\n{line}")
        say("\n".join(entity_lines(value["entities"])) if value["entities"] else "  no entity found")
    value, explanation = min(tagged, key=lambda pair: min(pair[0]["probabilities"]))
    if as_json:
        shared.print_json(
            {
                "training_lines": TRAINING_LINES,
                "test_lines": TEST_LINES,
                "models": compared,
                "lines": [value for value, _ in tagged],
                "explanation": {"line": value["text"], **explanation.as_dict()},
                "seconds": time.perf_counter() - began,
            }
        )
        return
    say(f"\nThe least certain decision, in {value['text']!r}, and the weights that made it:\n{explanation}\n")
    if output:
        say(f"model written to {output}\n")
    say(NEXT.rstrip())


def _trained() -> Iterator[tuple[Any, dict[str, Any]]]:
    """The model and the test scores of every template."""
    from loglin.demo.ingredients import generate
    from loglin.estimators.tagger import Tagger

    def separated(lines: list) -> tuple[list, list]:
        """Words and labels of each line."""
        return [[word for word, _ in line] for line in lines], [[label for _, label in line] for line in lines]

    lines = generate(TRAINING_LINES, seed=0)
    training, test = separated(lines), separated(generate(TEST_LINES, seed=0, split="test"))
    for template in TEMPLATES.values():  # loads the kernels, so that the seconds below are those of training
        Tagger(template=template).fit(*separated(lines[:100]))
    for name, template in TEMPLATES.items():
        began = time.perf_counter()
        tagger = Tagger(template=template).fit(*training)
        seconds = time.perf_counter() - began
        tagger.model_.record["data"] = "generated ingredient lines"
        result = tagger.evaluate(*test)
        row = {"looks_at": name, "template": template, "features": tagger.model_.index.n_features}
        yield tagger.model_, row | {"f1": result.f1, "accuracy": result.accuracy, "seconds": seconds}


def _lines(given: Iterable[str], ask: bool) -> Iterator[str]:
    """Lines from the command line, from standard input, from the person at the terminal, or examples."""
    some = False
    for line in given or _typed(ask):
        if line.strip():
            some = True
            yield line.strip()
    if not some:
        yield from EXAMPLES


def _typed(ask: bool) -> Iterator[str]:
    if sys.stdin is None or sys.stdin.closed:
        return
    if not sys.stdin.isatty():
        from loglin.corpus.crfsuite import text_lines

        for _, line in text_lines("-"):
            yield line
    elif ask:
        print("Type an ingredient, such as: 3 large eggs, beaten. An empty line ends.")
        while True:
            try:
                line = input("\n> ")
            except EOFError:
                return
            if not line.strip():
                return
            yield line


def _tagged(decoder, line: str) -> tuple[dict[str, Any] | None, Any]:
    """Labels and entities of a line, and why its least certain token has its label."""
    from loglin.cli.explaining import explained
    from loglin.corpus.columns import from_sentences
    from loglin.demo.ingredients import tokenize

    words = tokenize(line)
    if not words:
        return None, None
    design = decoder.model.extractor.transform(from_sentences([words], "the line"))
    value, explanation = explained(decoder, design, words)
    return {"text": line, **value}, explanation


COMMANDS = {"demo": demo_command}
