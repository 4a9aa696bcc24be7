"""loglin lm: language models."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from typing import Any

import click

from loglin.cli import distribution, interrupts
from loglin.cli import options as shared
from loglin.cli import training_options as training
from loglin.errors import LoglinError

LINES_AT_ONCE = 10_000

blank_lines = click.option(
    "--blank-lines",
    type=click.Choice(["document", "ignore"]),
    default="document",
    show_default=True,
    help="Whether a blank line ends a document, or nothing.",
)
_PARAMETERS = (
    "criterion", "optimizer", "vocabulary", "window", "trigger_window", "trigger_pairs", "max_iter", "tol", "tagged",
    "threads", "checkpoint",
)  # fmt: skip
tagged = click.option("--tagged", is_flag=True, help="Tokens are word/tag; tags serve as classes.")


@click.group("lm", no_args_is_help=False)
def lm_command() -> None:
    """Language models: the probability of the next word given the words before.

    \b
    loglin lm train text.txt -o lm.model
    loglin lm perplexity lm.model new.txt
    loglin lm next lm.model "the cat sat on"
    """


@lm_command.command("train")
@click.argument("data")
@training.criterion("history", default="likelihood")
@training.settings("history")
@training.optimizer
@click.option("--dev", help="Held-out text; training stops when the log-probability of its tokens no longer rises.")
@click.option(
    "--features",
    default="bigram,trigram",
    show_default=True,
    help="Any of bigram, trigram, 4-gram, …, skip, skip-3, skip-1-3, …, suffix, prefix, class, class-pair, trigger, "
    "document, cache, parted by commas.",
)
@click.option("--vocabulary", type=shared.Count(1), default=10_000, show_default=True, help="Known words.")
@click.option("--variance", "variances", multiple=True, metavar="KIND=NUMBER", help="Gaussian prior of a kind.")
@click.option("--min-count", "min_counts", multiple=True, metavar="[KIND=]NUMBER", help="Leave out rarer features.")
@click.option("--classes", help="File with a word and its class a line; default: the tags, with --tagged.")
@click.option("--window", type=shared.Count(1), help="Recent words that the cache has.")
@click.option("--trigger-window", type=shared.Count(1), help="Most known words between those of a trigger pair.")
@click.option("--trigger-pairs", type=shared.Count(1), help="Pairs of words that trigger has.")
@training.max_iter("100")
@training.tol(1e-5)
@training.start
@training.quiet
@training.keep_on_interrupt
@training.checkpoint
@distribution.shards
@training.output
@tagged
@blank_lines
@shared.encoding
@shared.threads
@shared.as_json
def train_command(data, output, as_json, quiet, **given) -> None:
    """Train a language model on DATA and write it.

    DATA is a file, a quoted pattern or a folder, with a sentence a line, its tokens parted by blanks, and a blank line
    between documents; a document may begin with a line of attributes such as "#! author=Chomsky topic=syntax"; gzip
    too.

    \b
    loglin lm train text.txt -o lm.model
    loglin lm train text.txt --features bigram,trigram,skip,cache --variance trigram=2 -o lm.model
    loglin lm train text.txt --criterion kneser-ney --features bigram,trigram,4-gram -o kn.model
    loglin lm train more.txt --dev held-out.txt --continue lm.model -o more.model
    """
    from loglin.corpus.output import check_writable

    began = time.perf_counter()
    check_writable(output)
    shared.refuse_overwriting(output, data, given["classes"], given["dev"], given["start"])
    checkpoint = given["checkpoint"] = training.opened(given, output, quiet)
    from loglin.estimators.language_model import LanguageModel

    progress = shared.Progress(given["tol"], quiet or as_json)
    model = LanguageModel(
        features=tuple(name.strip() for name in given["features"].split(",") if name.strip()),
        variances=_numbers("--variance", given["variances"], float, "trigram=2"),
        min_count=_min_count(given["min_counts"]),
        settings=shared.settings_of(given["settings"]),
        callbacks=[progress],
        **{name: given[name] for name in _PARAMETERS if given[name] is not None},
    )
    model.check()
    model.classes = _classes(given["classes"], given["encoding"]) if given["classes"] else None
    start = _load(given["start"]).model_ if given["start"] else None
    text = _read(data, given)
    model.dev = _read(given["dev"], given) if given["dev"] else None
    with interrupts.keeping(given["keep_on_interrupt"], model), distribution.client(given) as client:
        model.fit(text, start=start, **distribution.given_shards(given, client))
    progress.close()
    model.record_["data"] = shared.base_name(data)
    model.save(output)
    training.close(checkpoint, model.record_)
    _report_training(model.record_, time.perf_counter() - began, output, as_json)


def _report_training(record: dict[str, Any], seconds: float, output: str, as_json: bool) -> None:
    keys = ("vocabulary", "documents", "sentences", "tokens", "n_features", "criterion", "iterations", "evaluations")
    summary = {k: record[k] for k in (*keys, "stopped", "converged")} | {"objective": record.get("objective")}
    summary |= {"cache": record.get("cache"), "seconds": seconds, "model": output}
    scores = [i["score"] for i in record["history"] if i["score"] is not None]
    summary |= {"dev_score": max(scores)} if scores else {}
    if as_json:
        shared.print_json(summary)
        return
    print(
        f"{summary['documents']:,} documents, {summary['sentences']:,} sentences, {summary['tokens']:,} tokens, "
        f"{summary['vocabulary']:,} words, {summary['n_features']:,} features"
    )
    counted = summary["objective"] is None
    print(summary["stopped"] if counted else f"{summary['iterations']} iterations: {summary['stopped']}")
    if scores:
        best = summary["dev_score"]
        print(f"best log-probability of a token of the held-out text: {best:.4f} (perplexity {math.exp(-best):.2f})")
    if summary["cache"]:
        print(f"cache {summary['cache']}")
    print(f"{seconds:.2f} s, model written to {output}")


@lm_command.command("perplexity")
@click.argument("model")
@click.argument("file")
@tagged
@blank_lines
@shared.encoding
@shared.as_json
def perplexity_command(model, file, as_json, **given) -> None:
    """How well MODEL predicts FILE: perplexity a token, ends of sentences included.

    \b
    loglin lm perplexity lm.model new.txt
    """
    found = _load(model).evaluate(_read(file, given))
    summary = {
        "perplexity": found.perplexity,
        "known_perplexity": found.known_perplexity,
        "log_probability": found.log_probability,
        "tokens": found.tokens,
        "sentences": found.sentences,
        "unknown": found.unknown,
    }
    words = found.tokens - found.sentences
    if found.unknown > 0.5 * words:
        print(
            f"loglin: {found.unknown:,} of the {words:,} words of {file} are unknown to {model}, so that perplexity "
            "says little; look whether its tokens are word/tag (--tagged) or of another kind",
            file=sys.stderr,
        )
    if as_json:
        shared.print_json(summary)
        return
    print(
        f"perplexity {found.perplexity:.2f} ({found.known_perplexity:.2f} without unknown words), "
        f"log probability {found.log_probability:,.1f}"
    )
    print(
        f"{found.tokens:,} tokens with {found.sentences:,} ends of sentences, "
        f"{found.unknown:,} unknown words ({100 * found.unknown / found.tokens:.1f} %)"
    )


@lm_command.command("score")
@click.argument("model")
@click.argument("file", default="-")
@tagged
@blank_lines
@shared.encoding
@shared.as_json
def score_command(model, file, as_json, **given) -> None:
    """The natural logarithm of the probability of every sentence of FILE (default: standard input), a line each.

    \b
    loglin lm score lm.model candidates.txt --blank-lines ignore
    """

    def written(sentence: list[str], score: float) -> str:
        if as_json:
            return json.dumps({"sentence": sentence, "log_probability": score}, ensure_ascii=False)
        return f"{score:.4f}\t{' '.join(sentence)}"

    scored = _scored(_load(model), file, given)
    shared.write_pieces(None, ("".join(f"{written(*one)}\n" for one in part).encode() for part in scored))


def _scored(model: Any, path: str, given: dict[str, Any]) -> Iterator[list[tuple[list[str], float]]]:
    """Every sentence with its log-probability, part by part as lines come; a part sees as much as it needs of what
    its document said before."""
    from loglin.corpus import plaintext
    from loglin.corpus.crfsuite import line_blocks
    from loglin.corpus.files import batches

    lead, known = list[tuple[str, str]](), 0  # lines that were scored already, and how many of them are sentences

    def scored(lines: list[tuple[str, str]]) -> list[tuple[list[str], float]]:
        nonlocal lead, known
        text = plaintext.parsed(lead + lines, path, given["tagged"], given["blank_lines"] == "document")
        found = list(zip(text.sentences(), model.scores(text).tolist(), strict=True))[known:]
        lead, known = _lead(lead + lines, model.model_, given)
        return found

    for block in line_blocks(path, given["encoding"], b"\n"):
        for lines in batches(((f"{path}, line {number}", line) for number, line in block), LINES_AT_ONCE):
            try:
                yield scored(lines)
            except LoglinError:  # one by one, up to the line with the mistake
                for line in lines:
                    yield scored([line])
                raise


def _lead(lines: list[tuple[str, str]], model: Any, given: dict[str, Any]) -> tuple[list[tuple[str, str]], int]:
    """The last lines of the document that goes on, as many as the model looks back, and how many are sentences."""
    from loglin.corpus.plaintext import ATTRIBUTES, tokens_of

    kept, sentences, known = list[tuple[str, str]](), 0, 0
    for place, line in reversed(lines):
        tokens, plain = tokens_of(line, place)
        if not tokens and given["blank_lines"] == "document":
            break
        if tokens[:1] == [ATTRIBUTES] and not plain:
            kept.append((place, line))
            break
        if tokens and (known < model.reach or not sentences):
            words = (token.rpartition("/")[0] for token in tokens) if given["tagged"] else tokens
            known += sum(model.words.names.code(word) >= 0 for word in words)
            kept.append((place, line))
            sentences += 1
    return kept[::-1], sentences


@lm_command.command("next")
@click.argument("model")
@click.argument("history", default="")
@click.option("-k", "k", type=shared.Count(1), default=10, show_default=True, help="How many words.")
@click.option("--explain", metavar="WORD", help="Show instead what speaks for this word.")
@shared.as_json
def next_command(model, history, k, explain, as_json) -> None:
    """The likeliest words after HISTORY, the words of a sentence so far.

    In HISTORY earlier lines are earlier sentences; a first line such as "#! author=Chomsky" gives attributes.

    \b
    loglin lm next lm.model "the cat sat on"
    loglin lm next lm.model "the cat sat on" --explain the
    """
    trained = _load(model)
    if explain is not None:
        votes = trained.explain(history, explain)
        probability = math.exp(sum(vote.weight for vote in votes))
        if as_json:
            found = [{"feature": vote.feature, "weight": vote.weight} for vote in votes]
            shared.print_json(
                {"word": explain, "known": trained.knows(explain), "probability": probability, "votes": found}
            )
            return
        for vote in votes:
            print(f"{vote.weight:+9.4f}  {vote.feature}")
        told = explain if trained.knows(explain) else f"<unk>, for {explain!r} is unknown"
        print(f"{math.log(probability):+9.4f}  log p({told}), p = {probability:.6f}")
        return
    for word, probability in trained.next(history, k):
        if as_json:
            shared.print_json({"word": word, "probability": probability})
        else:
            print(f"{probability:.6f}  {word}")


@lm_command.command("sample")
@click.argument("model")
@click.option("-n", "n", type=shared.Count(1), default=1, show_default=True, help="How many sentences.")
@click.option("--history", default="", help="How the sentence begins; earlier lines are earlier sentences.")
@click.option("--seed", type=shared.Count(0), help="The same number gives the same sentences.")
@click.option("--temperature", type=float, default=1.0, show_default=True, help="Below 1: likely words more often.")
@click.option("--unknown", is_flag=True, help="Draw <unk> too.")
@click.option("--max-length", type=shared.Count(1), default=200, show_default=True)
@shared.as_json
def sample_command(model, as_json, **given) -> None:
    """Draw sentences from MODEL, a line each.

    \b
    loglin lm sample lm.model -n 3 --seed 1 --temperature 0.7
    """
    for sentence in _load(model).sample(**given):
        if as_json:
            shared.print_json({"sentence": sentence})
        else:
            print(" ".join(sentence))


def _load(path: str) -> Any:
    from loglin.estimators.language_model import LanguageModel

    return LanguageModel.load(path)


def _read(path: str, given: dict[str, Any]) -> Any:
    from loglin.corpus import plaintext

    paths = distribution.several(path)
    return plaintext.read_all(paths, given["encoding"], given["tagged"], given["blank_lines"] == "document")


def _numbers(option: str, pairs: tuple[str, ...], kind: type, example: str) -> dict[str, Any]:
    """{"trigram": 2.0} of ("trigram=2",)."""
    found = {}
    for pair in pairs:
        name, _, value = pair.rpartition("=")
        try:
            found[name] = kind(value)
        except ValueError:
            name = ""
        if not name:
            raise LoglinError(f"{option} is {pair!r}; write KIND=NUMBER, such as {example}") from None
    return found


def _min_count(given: tuple[str, ...]) -> int | dict[str, int] | None:
    if len(given) == 1 and given[0].isdigit():
        return int(given[0])
    return _numbers("--min-count", given, int, "skip=3") or None


def _classes(path: str, encoding: str) -> dict[str, str]:
    from loglin.corpus.crfsuite import text_lines

    found = {}
    for number, line in text_lines(path, encoding):
        fields = line.split()
        if len(fields) not in (0, 2):
            raise LoglinError(f"{path}, line {number}: {line[:40]!r} is not a word and its class; write these two")
        if fields:
            found[fields[0]] = fields[1]
    return found


COMMANDS = {"lm": lm_command}
