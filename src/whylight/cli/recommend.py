"""`whylight recommend`: which method to trust, as far as a budget of seconds can tell."""

from typing import Annotated

import typer

from whylight.cli.data import DropBroken, read_data, say_losses
from whylight.cli.explain import parse_head
from whylight.cli.tables import print_table
from whylight.explaining.console import say


def recommend(  # noqa: PLR0913  one parameter an option
    *,
    data: Annotated[str, typer.Option(help="CORPUS:PATH, or the path of a file; texts like those to be explained.")],
    split: Annotated[str, typer.Option(help="Split of the corpus.")] = "test",
    model: Annotated[
        str | None, typer.Option(help="Folder or hub id. [dim]\\[default: the bundled sentiment model][/]")
    ] = None,
    budget: Annotated[float, typer.Option(help="Seconds to spend.")] = 120.0,
    seed: Annotated[int, typer.Option(help="Seed of the order of texts.")] = 0,
    data_settings: Annotated[
        list[str] | None, typer.Option("--data-set", metavar="NAME=VALUE", help="Setting of the corpus.")
    ] = None,
    drop_broken: DropBroken = False,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Say which method names the words that matter to this model, and what could not be told.

    [bold]Example[/bold]

    whylight recommend --model ./my-model --data reviews.jsonl --budget 300
    """
    from whylight.models.load import load  # noqa: PLC0415  torch loads only when it is needed
    from whylight.study.recommend import HOW, recommend as find  # noqa: PLC0415

    records = read_data(data, split=split, settings=data_settings, drop_broken=drop_broken)
    say_losses(records)
    found = find(load(model, head=parse_head(head)), records, budget=budget, seed=seed)
    if found.rankings:
        print_table(found.summary, title=f"{records.name} {records.split}, {found.texts} texts")
    for remover, ranks in found.ranks.items():
        say(f"best to worst under {remover}: {', '.join(f'{rank}. {name}' for name, rank in ranks.items())}")
    if found.left_out:
        say(f"- left out for {budget:g} seconds: {', '.join(found.left_out)}.")
    for sentence in found.findings:
        say(f"- {sentence}")
    if found.ranks:
        say(f"{HOW}.", style="dim")
