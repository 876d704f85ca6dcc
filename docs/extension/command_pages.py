"""Pages of the command line, one per command, from the signatures that its parser is made of."""

import inspect
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from typer.models import ArgumentInfo, OptionInfo
from usage import guides_running
from written import contents, escaped, sentence, table

from whylight.cli.main import app

KINDS = {str: "TEXT", int: "NUMBER", float: "NUMBER", Path: "PATH"}
"""What stands for a value in the usage of an option that names nothing else."""
_MARKUP = re.compile(r"(?<!\\)\[/?(?:bold|dim)?\]")
_HEADING = re.compile(r"^\s*Examples?\s*$", re.MULTILINE)
_DEFAULT = re.compile(r"\s*\[default: ([^\]]*)\]")
Command = Callable[..., None]


@dataclass(frozen=True)
class CommandOption:
    """One parameter of a command: what is typed, what it takes, and what its help says."""

    name: str
    info: OptionInfo | ArgumentInfo
    kind: Any
    default: object
    repeated: bool

    @property
    def shown(self) -> str:
        """What a user types."""
        if isinstance(self.info, ArgumentInfo):
            return self.info.metavar or self.name.upper()
        declared = [self.info.default, *(self.info.param_decls or ())]  # typer keeps a first name as a default
        declared = [one for one in declared if isinstance(one, str) and one.startswith("-")]
        return ", ".join(declared) or f"--{self.name.replace('_', '-')}"

    @property
    def takes(self) -> str:
        """What follows it."""
        if isinstance(self.info, ArgumentInfo):
            return "text" + (", may be repeated" if self.repeated else "")
        if self.kind is bool:
            return ""
        choices = self.kind if inspect.isclass(self.kind) and issubclass(self.kind, Enum) else ()
        value = self.info.metavar or "|".join(str(one.value) for one in choices) or KINDS.get(self.kind, "VALUE")
        return f"`{value}`" + (", may be repeated" if self.repeated else "")

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Its line in the table of options."""
        said = plain(self.info.help or "")
        named = _DEFAULT.search(said)
        return f"`{self.shown}`", self.takes, named[1] if named else self._default(), escaped(_DEFAULT.sub("", said))

    def _default(self) -> str:
        if self.default is inspect.Parameter.empty:
            return "must be given"
        if self.default is None or self.default is False:
            return ""
        return f"`{getattr(self.default, 'value', self.default)}`"


def commands() -> dict[str, Command]:
    """Return the function behind every command, by the command's name."""
    found = [one.callback for one in app.registered_commands if one.callback is not None]
    return {one.__name__: one for one in found}


def options_of(command: Command) -> Iterator[CommandOption]:
    """Yield the parameters of a command."""
    for name, parameter in inspect.signature(command).parameters.items():
        kind, *extras = get_args(parameter.annotation)
        info = next(one for one in extras if isinstance(one, OptionInfo | ArgumentInfo))
        if get_origin(kind) in (Union, types.UnionType):
            kind = next(one for one in get_args(kind) if one is not type(None))
        repeated = get_origin(kind) is list
        yield CommandOption(name, info, get_args(kind)[0] if repeated else kind, parameter.default, repeated)


def command_pages() -> dict[str, str]:
    """Return all pages of the command line, by their path below `reference/`."""
    known = commands()
    rows = [(f"[`whylight {name}`]({name}.md)", escaped(_told(command)[0])) for name, command in known.items()]
    lead = (
        "Every command has `--help`. A mistake gets one sentence that says what would work, and exit code 2; what else "
        "exit codes mean: [](../../howto/ci.md#exit-codes)."
    )
    head = ["# Command line", lead, table(("command", "what it does"), rows), contents(known)]
    pages = {"commands/index.md": "\n\n".join(head) + "\n"}
    return pages | {f"commands/{name}.md": _page(name, command) for name, command in known.items()}


def examples_of(command: Command) -> list[str]:
    """Return the examples in the help of a command."""
    return _told(command)[1]


def _page(name: str, command: Command) -> str:
    summary, examples = _told(command)
    options = list(options_of(command))
    arguments = [f"[{one.shown}]..." for one in options if isinstance(one.info, ArgumentInfo)]
    usage = " ".join(["whylight", name, *arguments, *(["[OPTIONS]"] if options else [])])
    parts = [f"# whylight {name}", escaped(sentence(summary)), f"```text\n{usage}\n```"]
    if examples:
        parts += ["## Examples", "```bash\n" + "\n".join(examples) + "\n```"]
    if options:
        parts += ["## Options", table(("option", "takes", "default", "what it says"), (one.row for one in options))]
    used = guides_running(name)
    if used:
        parts += ["## Guides that use it", "\n".join(f"- {one}" for one in used)]
    return "\n\n".join(parts) + "\n"


def _told(command: Command) -> tuple[str, list[str]]:
    """Return what the help says first, and its examples."""
    summary, *rest = _HEADING.split(plain(inspect.getdoc(command) or ""), maxsplit=1)
    return " ".join(summary.split()), [line.strip() for line in "".join(rest).splitlines() if line.strip()]


def plain(text: str) -> str:
    """Remove the markup of the terminal from a help text."""
    return _MARKUP.sub("", text).replace("\\[", "[").replace("[/]", "")
