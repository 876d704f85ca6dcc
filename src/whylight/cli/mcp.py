"""`whylight mcp`: a classifier as a tool for agents, over standard input and output."""

import sys
from contextlib import redirect_stdout
from importlib.util import find_spec
from typing import Annotated

import typer

from whylight.cli.models import AskedBy, Device
from whylight.cli.settings import parse_head
from whylight.core.errors import SettingError

EXAMPLES = """
[bold]Examples[/bold]

whylight mcp --model ./my-model

In the settings of an agent: {"command": "whylight", "args": \\["mcp", "--model", "./my-model"]}
"""


def mcp(
    *,
    model: Annotated[
        str | None, typer.Option(help="Folder or hub id. [dim]\\[default: the bundled sentiment model][/]")
    ] = None,
    prompt: AskedBy = None,
    device: Device = None,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Let agents ask a model what it says, why, and how far to trust that (Model Context Protocol, stdio)."""
    if find_spec("mcp") is None:
        raise SettingError('agents need one more package: pip install "whylight[mcp]".')
    with redirect_stdout(sys.stderr):  # standard output carries the protocol alone
        from whylight.models.load import load  # noqa: PLC0415  torch loads only when it is needed
        from whylight.workbench.agents import make_server  # noqa: PLC0415

        server = make_server(load(model, head=parse_head(head), prompt=prompt, device=device))
    server.run("stdio")


mcp.__doc__ = f"{mcp.__doc__}\n{EXAMPLES}"
