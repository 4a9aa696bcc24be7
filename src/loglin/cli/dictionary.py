"""loglin dictionary: tagging dictionaries from labelled text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from loglin.cli import options as shared
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.corpus.columns import Corpus
    from loglin.features.dictionary import TagDictionary


@click.command("dictionary")
@click.argument("data")
@click.option("-o", "--output", help="Dictionary file to write; JSON if it ends in .json.")
@click.option("--min-count", type=shared.Count(1), help="Leave out rarer words.")
@click.option("--first", type=shared.Count(1), help="Leave out words that the first so many sentences lack.")
@click.option(
    "--unknown",
    metavar="POLICY",
    help="What words that are not in it may be: all (any label), open (labels of many words), refuse, or labels parted "
    "by commas.",
)
@click.option("--open-types", type=shared.Count(1), help="Words that make a label open; default 20.")
@click.option("--check", metavar="RAW", help="Compare with the words of this text.")
@click.option(
    "--format",
    "text_format",
    type=shared.format_name("trees", "dictionary", attributes=False),
    default="auto",
    help="Kind of DATA: as of loglin train, or trees or dictionary; auto goes by the name, such as .dict, .mrg or a "
    "folder of them.",
)
@click.option(
    "--check-format",
    type=shared.format_name(attributes=False),
    default="auto",
    help="Kind of RAW; auto goes by the name (.txt: a sentence a line).",
)
@shared.label_column
@shared.encoding
@shared.as_json
def dictionary_command(data, output, check, as_json, **given) -> None:
    """Make a tagging dictionary from labelled DATA, or look at one.

    Every word gets the labels that it has in DATA: columns, JSON lines, word/TAG text, trees, or a dictionary
    file (--format dictionary).

    \b
    loglin dictionary train.txt -o words.dict
    loglin dictionary train.txt --min-count 2 --unknown open -o words.dict
    loglin dictionary words.dict --format dictionary --check raw.txt
    """
    from loglin.corpus.formats import detected
    from loglin.corpus.tagged import read_raw
    from loglin.features.coverage import Coverage
    from loglin.features.dictionary import write_dictionary

    shared.check_output(output, data, check)
    names, dictionary, corpus = _dictionary(data, given)
    dictionary = _with_policy(names, dictionary, given["unknown"], given["open_types"])
    found = {} if corpus is None else {"data": Coverage.of(dictionary, names, corpus.columns[0])}
    if check:
        raw = read_raw(check, detected(check, given["check_format"], labeled=False), encoding=given["encoding"])
        found["check"] = Coverage.of(dictionary, names, raw.columns[0])
    if output:
        write_dictionary(output, names, dictionary)
    ambiguous = int((dictionary.labels.sum(axis=1) > 1).sum())
    summary = {"words": len(dictionary.words), "ambiguous_words": ambiguous, "labels": names}
    policy = dictionary.policy(names)
    summary |= {"unknown_words": policy, "output": output}
    if as_json:
        shared.print_json(summary | {name: part.as_dict() for name, part in found.items()})
        return
    print(f"{summary['words']:,} words, {len(names)} labels, {ambiguous:,} words with more than one")
    print(f"other words {shared.unknown_words(policy)}")
    for path, part in zip((data, check) if corpus is not None else (check,), found.values(), strict=False):
        print(f"{path}: {part.report()}")
    if output:
        print(f"dictionary written to {output}")


def _dictionary(path: str, given: dict) -> tuple[list, TagDictionary, Corpus | None]:
    """Label names, dictionary, and the text that it was made from, if there is one."""
    from loglin.corpus import trees
    from loglin.corpus.columns import Corpus
    from loglin.corpus.formats import detected
    from loglin.corpus.tagged import LabeledText, read_labeled
    from loglin.features.dictionary import TagDictionary, first_words, frequent_words, read_dictionary

    if given["text_format"] == "dictionary" or (given["text_format"] == "auto" and path.endswith(".dict")):
        if given["min_count"] or given["first"]:
            raise LoglinError("--min-count and --first count words of a text, but DATA is a dictionary; leave them out")
        return *read_dictionary(path, given["encoding"]), None
    is_trees = os.path.isdir(path) or path.removesuffix(".gz").endswith(".mrg")
    if given["text_format"] == "trees" or (given["text_format"] == "auto" and is_trees):
        corpus = trees.read(path, given["encoding"])
        text = LabeledText(corpus, corpus.columns[1])
    else:
        chosen: dict[str, Any] = {name: given[name] for name in ("encoding", "label_column")}
        text = read_labeled(path, detected(path, given["text_format"]), **chosen)
    if not isinstance(text.inputs, Corpus):
        raise LoglinError(f"{path} holds attributes, not words; give columns, text, trees or JSON lines with words")
    corpus = text.inputs
    names, gold = text.gold()
    dictionary = TagDictionary.of(corpus.columns[0], gold)
    if given["min_count"]:
        dictionary = dictionary.diluted(frequent_words(corpus.columns[0], given["min_count"]))
    if given["first"]:
        dictionary = dictionary.diluted(first_words(corpus, given["first"]))
    return names, dictionary, corpus


def _with_policy(names: list, dictionary: TagDictionary, unknown: str | None, open_types: int | None) -> TagDictionary:
    from loglin.corpus.dictionaries import POLICIES
    from loglin.features.dictionary import OPEN_TYPES

    if open_types and unknown != "open":
        raise LoglinError(f"--open-types is {open_types}, but labels are not counted; give --unknown open too")
    if unknown is None:
        return dictionary
    policy = unknown if unknown in POLICIES else unknown.split(",")
    return dictionary.with_unknown(policy, names, open_types or OPEN_TYPES)


COMMANDS = {"dictionary": dictionary_command}
