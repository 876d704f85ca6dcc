"""`whylight recommend`: which method to trust, as far as a budget of seconds can tell."""

from typing import Annotated

import typer

from whylight.cli.data import (
    Data,
    DataSettings,
    DropBroken,
    LabelColumn,
    MapLabel,
    PairColumn,
    RationaleColumn,
    TextColumn,
    read_data,
    say_losses,
)
from whylight.cli.models import AskedBy, Device, EndpointModel, EndpointSettings, EndpointUrl, named_model
from whylight.cli.settings import parse_head


def recommend(  # noqa: PLR0913  one parameter an option
    *,
    data: Data,
    split: Annotated[str, typer.Option(help="Split of the corpus.")] = "test",
    model: Annotated[
        str | None, typer.Option(help="Folder or hub id. [dim]\\[default: the bundled sentiment model][/]")
    ] = None,
    budget: Annotated[float, typer.Option(help="Seconds to spend.")] = 120.0,
    seed: Annotated[int, typer.Option(help="Seed of the order of texts.")] = 0,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    rationale_column: RationaleColumn = None,
    map_label: MapLabel = None,
    data_settings: DataSettings = None,
    drop_broken: DropBroken = False,
    prompt: AskedBy = None,
    endpoint: EndpointUrl = None,
    endpoint_model: EndpointModel = None,
    endpoint_settings: EndpointSettings = None,
    device: Device = None,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Say which method names the words that matter to this model, and what could not be told.

    Labels are not looked at; a file of texts alone will do.

    [bold]Examples[/bold]

    whylight recommend --model ./my-model --data reviews.csv --text-column review --budget 300

    whylight recommend --model ./my-model --data texts.txt
    """
    options, subject = locals(), named_model(model, endpoint, endpoint_model, endpoint_settings)
    from whylight.models.load import load  # noqa: PLC0415  torch loads only when it is needed
    from whylight.report.sheets import print_sheet  # noqa: PLC0415
    from whylight.report.study_sheets import recommendation_sheet  # noqa: PLC0415
    from whylight.study.recommend import recommend as find  # noqa: PLC0415

    records = read_data(data, split=split, options=options, labelled=False)
    say_losses(records)
    found = find(load(subject, head=parse_head(head), prompt=prompt, device=device), records, budget=budget, seed=seed)
    title = f"{records.name} {records.split}, {records.noun.count(found.texts)}"
    print_sheet(recommendation_sheet(found, title=title, budget=budget))
