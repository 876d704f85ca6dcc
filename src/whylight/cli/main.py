"""`whylight`: the entry point of the command line."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from whylight import __version__
from whylight.cli.audit import audit
from whylight.cli.compare import compare
from whylight.cli.evaluate import evaluate
from whylight.cli.explain import explain
from whylight.cli.fit import fit
from whylight.cli.mcp import mcp
from whylight.cli.methods import datasets, methods, metrics, objectives
from whylight.cli.prompts import prompts
from whylight.cli.recommend import recommend
from whylight.cli.report import report
from whylight.cli.roar import roar
from whylight.cli.run import export, query, run as run_command, verify
from whylight.cli.sanity import sanity
from whylight.cli.serve import serve
from whylight.cli.starting import without_pauses
from whylight.cli.train import train
from whylight.cli.tune import tune
from whylight.core.errors import SettingError, WhylightError
from whylight.explaining.console import complain, say

NAME = "whylight"
_UsageError: Any = next(one for one in typer.BadParameter.__mro__ if one.__name__ == "ClickException")
"""What the parser raises; typer brings it along under changing addresses."""


class _Commands(TyperGroup):
    """All commands; what is wrong with a call becomes an error like any other, in one sentence."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:  # noqa: ANN401, ARG002
        """Read the arguments; the name is fixed, because the path of a script may be anything."""
        with _in_one_sentence():
            return super().make_context(NAME, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run a command, after its own arguments have been read."""
        with _in_one_sentence():
            return super().invoke(ctx)


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # help has been printed already
            raise
        context = getattr(error, "ctx", None)
        path = NAME if context is None else context.command_path
        raise SettingError(f"{error.format_message().rstrip('.')}; see {path} --help.") from None


STOPPED = 130
"""The exit code of a command that was stopped by hand (Ctrl-C)."""

UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a stream that is open already answers where it cannot be written to. Files are written, and their failures said,
in the store; what is left is standard output."""

app = typer.Typer(
    name=NAME,
    cls=_Commands,
    help="Which words made a text classifier decide, and how far that answer can be trusted.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command()(explain)
app.command()(evaluate)
app.command("run")(run_command)
app.command()(verify)
app.command()(query)
app.command()(export)
app.command()(compare)
app.command()(report)
app.command()(serve)
app.command()(mcp)
app.command()(recommend)
app.command()(audit)
app.command()(sanity)
app.command()(roar)
app.command()(fit)
app.command()(train)
app.command()(tune)
app.command()(methods)
app.command()(metrics)
app.command()(objectives)
app.command()(datasets)
app.command()(prompts)


def _print_version(value: bool) -> None:  # noqa: FBT001  typer's own signature
    if value:
        say(f"whylight {__version__}")
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
    without_pauses()
    try:
        _run()
    except WhylightError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        _drop_output()  # the reader of a pipe (head, less) has seen enough
        sys.exit(0)
    except OSError as error:
        if error.filename is not None:  # a file of the user's, or a disk of the system's: nothing is wrong here
            complain(f"cannot use '{os.fsdecode(error.filename)}': {error.strerror}.")
        elif error.errno in UNWRITTEN:
            _drop_output()
            complain(f"cannot write the output: {error.strerror}.")
        else:
            raise
        sys.exit(WhylightError.exit_code)


def _run() -> None:
    """Run the command, and have all of its output written while a failure can still be said."""
    try:
        app()
    except SystemExit as ended:
        if ended.code == STOPPED:
            complain(f"stopped{_afterwards(ended)}.")
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
