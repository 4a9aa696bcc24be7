"""loglin serve: models behind an address."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from loglin.cli import interrupts
from loglin.cli import options as shared
from loglin.errors import LoglinError

LOCAL = ("127.0.0.1", "::1", "localhost")
EXTRA = "install loglin[serve]"

host = click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
port = click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port; 0: any that is free."
)


def token(command: Any) -> Any:
    """The options --token and --token-file."""
    command = click.option("--token-file", metavar="FILE", help="A file whose first line is the token.")(command)
    return click.option(
        "--token",
        envvar="LOGLIN_TOKEN",
        help="Answer only requests with the header Authorization: Bearer TOKEN. Processes of others may see the "
        "command: better set the variable LOGLIN_TOKEN, or give --token-file.",
    )(command)


@click.command("serve")
@click.argument("models", nargs=-1, required=True, metavar="[NAME=]MODEL…")
@host
@port
@token
@click.option("--max-body", type=shared.Count(1), default=10, show_default=True, help="MiB that a request may have.")
@click.option(
    "--max-tokens", type=shared.Count(1), default=10_000, show_default=True, help="Tokens that a sentence may have."
)
@click.option(
    "--max-batch", type=shared.Count(1), default=10_000, show_default=True, help="Items that a batch may have."
)
@click.option(
    "--timeout", type=click.FloatRange(0.1, 3600), default=30.0, show_default=True, help="Seconds for a body to come."
)
@shared.threads
def serve_command(models, host, port, token, token_file, max_body, max_tokens, max_batch, timeout, threads) -> None:
    """Answer requests over HTTP with one or several models of any kind; a page at / shows what they say.

    A model's name, by default that of its file, is what requests call it: POST /tag?model=NAME. A file that is
    replaced is taken over without a lost request. SIGTERM or Ctrl-C ends the service when it has answered what it has
    begun. docs/serving.md has all paths.
    """
    require_extra()
    from loglin.inspection.routes import with_contents
    from loglin.serve.app import application, with_page
    from loglin.serve.limits import Limits
    from loglin.serve.server import address_of, listening, run
    from loglin.serve.worker import Served

    limits = Limits(max_body << 20, max_tokens, max_batch, timeout)
    secret = secret_of(token, token_file)
    named = names_of(models)
    sock = listening(host, port)
    served = [Served(name, path, limits, threads or 1) for name, path in named.items()]
    if host not in LOCAL and secret is None:
        print(f"loglin: {host} can be reached by others, and no token is asked for; give --token-file", file=sys.stderr)
    for one in served:
        print(f"{one.name} answers /{one.current.verb}")
    print(f"listening on {address_of(sock)}", flush=True)
    interrupts.release()
    run(with_page(with_contents(application(served, limits, secret))), sock, limits)


def require_extra() -> None:
    """Refuse to serve without the packages that do."""
    try:
        import fastapi  # noqa: F401
        import httptools  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise LoglinError(f"serving needs {error.name}, which is not installed; {EXTRA}") from None


def secret_of(token: str | None, path: str | None) -> str | None:
    """The token that requests must bring, if any."""
    if path is not None:
        if token is not None:
            raise LoglinError("both a token and --token-file are given; give one of them")
        try:
            with open(path, encoding="utf-8") as stream:
                token = stream.readline().strip()
        except (OSError, ValueError) as error:
            raise LoglinError(f"cannot read the token in {path}: {error}; check the name") from None
    if token is not None and not (token.isascii() and token.isprintable() and token and " " not in token):
        raise LoglinError("the token is empty or has more than visible ASCII characters; give another")
    return token


def names_of(models: tuple[str, ...]) -> dict[str, str]:
    """{"chunk": "models/chunk.model"} of ("models/chunk.model",) or ("chunk=models/chunk.model",)."""
    found: dict[str, str] = {}
    for given in models:
        name, equals, path = given.partition("=")
        if not equals or os.path.exists(given):
            name, path = os.path.splitext(shared.base_name(given))[0], given
        if not name or not path or any(c in name for c in '/?&#"\\') or not name.isprintable():
            raise LoglinError(f"{given!r} names no model; write MODEL, or NAME=MODEL")
        if name in found:
            raise LoglinError(f"two models are called {name!r}; give one another name, as in NAME={path}")
        found[name] = path
    return found


COMMANDS = {"serve": serve_command}
