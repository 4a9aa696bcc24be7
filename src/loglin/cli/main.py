"""The command ``loglin``. Each command imports what it needs when it runs, so that --help is quick."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
import warnings

import click

from loglin import __version__
from loglin.cli import interrupts
from loglin.errors import LoglinError

# name → (module, one line for --help)
_COMMANDS = {
    "train": ("tagger_training", "Train a tagger from labelled text, or without labels."),
    "tag": ("tagging", "Label text with a trained tagger."),
    "eval": ("tagging", "Compare a tagger's labels with the right ones."),
    "dictionary": ("dictionary", "Make a tagging dictionary from labelled text."),
    "compare": ("comparing", "Test whether two outputs differ by more than chance."),
    "classify-train": ("classifier_training", "Train a maximum-entropy classifier."),
    "classify": ("classifying", "Classify examples with a trained model."),
    "lm": ("language", "Language models: the probability of the next word."),
    "parse-train": ("parser_training", "Train a parser from trees, or without them."),
    "parse": ("parsing", "Parse sentences with a trained parser."),
    "parse-eval": ("parse_evaluation", "Compare trees with the right ones."),
    "neighborhood": ("neighborhood", "Show what contrastive estimation compares a sentence with."),
    "inspect": ("inspecting", "Show what is in a model, or why it decides as it does."),
    "prune": ("inspecting", "Make a model file smaller."),
    "import": ("moving", "Read a model of CRFsuite, CRF++ or Wapiti."),
    "export": ("moving", "Write a model for CRFsuite or Wapiti, or as JSON."),
    "reproduce": ("reproducing", "Make published tables with this library."),
    "serve": ("serving", "Answer requests over HTTP, with a page that shows what models say."),
    "compile": ("compiling", "Compile ahead of time what would be compiled when first used."),
    "annotate": ("annotating", "Label text in the browser while a model learns."),
    "demo": ("demo", "Train, evaluate and explain a model on a built-in corpus."),
}


def _set_limits(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        from loglin.corpus.limits import VARIABLE, parse

        parse(value)
        os.environ[VARIABLE] = value


def _add_limits(command: click.Command) -> None:
    """Give a command, or all commands of a group, the option that raises limits, once."""
    for one in command.commands.values() if isinstance(command, click.Group) else [command]:
        if any(param.name == "limits" for param in one.params):
            continue
        option = click.Option(
            ["--limits"],
            metavar="NAME=NUMBER,…",
            expose_value=False,
            callback=_set_limits,
            help="Read larger files than by default: line=1G,token=1M,columns=9999,expansion=999,whole=1T.",
        )
        one.params.append(option)


class _Lazy(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module = importlib.import_module(f"loglin.cli.{_COMMANDS[name][0]}")
        command = module.COMMANDS[name]
        _add_limits(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


@click.command(cls=_Lazy, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="loglin")
def cli() -> None:
    """Log-linear models for text: train, tag, parse, classify, evaluate, explain."""


def main() -> None:
    """Run a command; whatever is wrong with the input is one sentence on standard error."""
    if sys.stdout is None or sys.stderr is None:  # closed by the shell, as in loglin … >&-
        sys.stdout, sys.stderr = (s or open(os.devnull, "w") for s in (sys.stdout, sys.stderr))  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may lack some characters
    if not sys.warnoptions:
        warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy, on numbers that overflow: results are checked
        warnings.simplefilter("ignore", UserWarning)  # of training that did not converge: summaries say it
    interrupts.install()
    # Imports make many objects and no garbage: looking for some, now and at the end, is an eighth of a short command.
    gc.set_threshold(100_000)
    try:
        with cli.make_context("loglin", sys.argv[1:]) as context:  # cli.main would end on a broken pipe with 1
            cli.invoke(context)
        sys.stdout.flush()
        sys.exit(interrupts.exit_code())
    except LoglinError as error:
        _fail(str(error), 1)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "loglin"
        _fail(f"{error.format_message().rstrip('.')}; see {command} --help", 2)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted; nothing was written", interrupts.exit_code() or 130)
    except BrokenPipeError:  # the reader of our output has gone, as in loglin tag … | head
        _give_up_output()
        sys.exit(128 + 13)  # as SIGPIPE ends other programs
    except OSError as error:
        _give_up_output()
        _fail(f"{error.strerror or error}; free some space or choose another place", 1)
    except MemoryError:
        _fail("there is not enough memory; use fewer features (min_count) or less data", 1)
    finally:
        gc.freeze()


def _give_up_output() -> None:
    """What is still to be written cannot be: do not try again when Python ends."""
    with contextlib.suppress(OSError, ValueError):  # not a file of the system
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> None:
    print(f"loglin: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
