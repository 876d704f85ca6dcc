"""`whylight`: the entry point of the command line."""

import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from whylight import __version__
from whylight.cli.compare import compare
from whylight.cli.datasets import datasets
from whylight.cli.evaluate import evaluate
from whylight.cli.explain import explain
from whylight.cli.methods import methods, metrics, objectives
from whylight.cli.recommend import recommend
from whylight.cli.report import report
from whylight.cli.sanity import sanity
from whylight.cli.train import train
from whylight.cli.tune import tune
from whylight.core.errors import WhylightError

app = typer.Typer(
    name="whylight",
    help="Which words made a text classifier decide, and how far that answer can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command()(explain)
app.command()(evaluate)
app.command()(compare)
app.command()(report)
app.command()(recommend)
app.command()(sanity)
app.command()(train)
app.command()(tune)
app.command()(methods)
app.command()(metrics)
app.command()(objectives)
app.command()(datasets)


def _print_version(value: bool) -> None:  # noqa: FBT001  typer's own signature
    if value:
        typer.echo(f"whylight {__version__}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Which words made a text classifier decide, and how far that answer can be trusted."""


def run() -> None:
    """Run the command line; what a user can mend is said in one sentence, with exit code 2."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks a character shows a question mark
    try:
        app()
    except WhylightError as error:
        sys.stderr.write(f"whylight: {error}\n")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of a pipe (head, less) has seen enough; the interpreter's last flush must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
