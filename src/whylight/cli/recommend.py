"""`whylight recommend`: which method to trust, as far as a budget of seconds can tell."""

from typing import Annotated

import typer

from whylight.cli.data import DropBroken, read_data, say_losses
from whylight.cli.explain import parse_head


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
    from whylight.report.sheets import print_sheet  # noqa: PLC0415
    from whylight.report.study_sheets import recommendation_sheet  # noqa: PLC0415
    from whylight.study.recommend import recommend as find  # noqa: PLC0415

    records = read_data(data, split=split, settings=data_settings, drop_broken=drop_broken)
    say_losses(records)
    found = find(load(model, head=parse_head(head)), records, budget=budget, seed=seed)
    title = f"{records.name} {records.split}, {found.texts} texts"
    print_sheet(recommendation_sheet(found, title=title, budget=budget))
