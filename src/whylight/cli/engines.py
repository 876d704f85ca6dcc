"""Where a command works: the options of every command that several workers can share."""

from typing import Annotated

import typer

Engine = Annotated[
    str, typer.Option(help="Where workers are: local (processes of this machine) or ray (a Ray cluster).")
]
Address = Annotated[
    str | None, typer.Option(help="Ray cluster: auto (one of this machine) or HOST:PORT. [dim]\\[default: one here][/]")
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Work in so many processes, each with one thread. [dim]\\[default: in this one, with all threads][/]"
    ),
]
