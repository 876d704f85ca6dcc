"""`whylight prompts`: the prompts that come with the package."""

from typing import Annotated

import typer

from whylight.cli.tables import print_columns
from whylight.core.prompt import PARTS
from whylight.core.prompt_files import read_prompt, ready_prompts
from whylight.explaining.console import put, say
from whylight.report.layout import Column

FREE = "free text"
"""What a prompt without answers asks for."""


def prompts(
    name: Annotated[str | None, typer.Argument(help="A prompt, or a TOML file, to show whole.")] = None,
) -> None:
    r"""List the prompts that are ready, or show one as a model reads it.

    [bold]Examples[/]

        whylight prompts
        whylight prompts sentiment
        whylight explain "A gripping film." --model ./my-llm --prompt sentiment
        whylight explain "A gripping film." --model ./my-llm --prompt "sentiment\[features=text+shots]" --remover delete
    """
    if name is None:
        every = [(one, read_prompt(one)) for one in ready_prompts()]
        rows = [(name, ", ".join(one.answers) or FREE, one.note) for name, one in every]
        print_columns([Column("prompt", "key"), Column("labels", "words"), Column("what it asks", "words")], rows)
        say("Use: --prompt NAME, or a TOML file of your own.", style="dim")
        return
    asked = read_prompt(name)
    shown = asked.written(asked.pieces, [f"<{name}>" for name in PARTS[: asked.n_texts]])
    if asked.blocks:
        shown += f"\n\n--- explained besides the text: {', '.join(block.name for block in asked.blocks)}"
    if asked.free:
        put(f"{shown}\n\n--- {FREE}, at most {asked.length} tokens; scoring {asked.scoring}\n")
        return
    answers = "\n".join(f"{label}: {answer!r}" for label, answer in asked.answers.items())
    put(f"{shown}\n\n--- answers, by label; scoring {asked.scoring}, calibration {asked.calibration}\n{answers}\n")
