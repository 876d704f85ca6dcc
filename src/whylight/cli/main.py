"""`whylight`: the entry point of the command line."""

import errno
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

STOPPED = 130
"""The exit code of a command that was stopped by hand (Ctrl-C)."""

UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a stream that is open already answers where it cannot be written to. Files are written, and their failures said,
in the store; what is left is standard output."""

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
        _run()
    except WhylightError as error:
        sys.stderr.write(f"whylight: {error}\n")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        _drop_output()  # the reader of a pipe (head, less) has seen enough
        sys.exit(0)
    except OSError as error:
        if error.filename is not None:  # a file of the user's, or a disk of the system's: nothing is wrong here
            sys.stderr.write(f"whylight: cannot use '{error.filename}': {error.strerror}.\n")
        elif error.errno in UNWRITTEN:
            _drop_output()
            sys.stderr.write(f"whylight: cannot write the output: {error.strerror}.\n")
        else:
            raise
        sys.exit(WhylightError.exit_code)


def _run() -> None:
    """Run the command, and have all of its output written while a failure can still be said."""
    try:
        app()
    except SystemExit as ended:
        if ended.code == STOPPED:
            sys.stderr.write(f"whylight: stopped{_afterwards(ended)}.\n")
        _flush()
        raise


def _afterwards(ended: BaseException) -> str:
    """Return what the work that was stopped by hand says about going on, from the interrupt behind an exit."""
    error: BaseException | None = ended
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return f"; {error}" if error is not None and str(error) else ""


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _drop_output() -> None:
    """Have the interpreter's last flush go nowhere, so that it does not complain either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
