"""What a command may take: the two options of every command whose work may be long."""

from typing import Annotated

import typer

Budget = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Refuse work that takes longer, by an early estimate.")
]
MaxMemory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Refuse work that takes more memory than this, e.g. 4GB.")
]
