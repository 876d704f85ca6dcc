"""Methods by name, as every command takes them that runs several."""

from typing import Annotated

import typer

from whylight.cli.completion import complete_methods

Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        help="Method, may be repeated; lime\\[samples=200] has settings of its own, ig is short for "
        "integrated_gradients.",
        autocompletion=complete_methods,
    ),
]
