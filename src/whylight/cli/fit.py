"""`whylight fit`: a network that explains a classifier, fitted to it once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from whylight.cli.data import DropBroken
from whylight.cli.explain import parse_head, parse_settings
from whylight.cli.train import read_texts
from whylight.core.errors import SettingError
from whylight.explaining.console import say

EXAMPLES = """
[bold]Examples[/bold]

whylight fit aml --model ./my-model --data reviews.jsonl --dev more.jsonl --metric comprehensiveness --out ./fitted

whylight fit aml --data sst:trees --sample 1000 --dev-sample 200 --encoder ./pretrained --trials 10 --out ./fitted

whylight fit aml --data sst:trees --metric comprehensiveness --metric sufficiency --trials 0 --out ./two

whylight explain "A gripping film." --method aml --set folder=./fitted --set steps=10
"""


def fit(  # noqa: PLR0913  one parameter an option
    method: Annotated[str, typer.Argument(help="aml.")],
    *,
    data: Annotated[str, typer.Option(help="CORPUS:PATH, or the path of a .jsonl, .csv, .tsv or .parquet file.")],
    out: Annotated[Path, typer.Option(help="Folder for the network; a stopped fit goes on from there.")],
    model: Annotated[
        str | None, typer.Option(help="The classifier to explain. [dim]\\[default: the bundled model][/]")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="What to be good at; may be repeated. [dim]\\[default: comprehensiveness][/]"),
    ] = None,
    trials: Annotated[int, typer.Option(min=0, help="Trials of the search for the three weights; 0: none.")] = 30,
    epochs: Annotated[int, typer.Option(help="Passes over the texts.")] = 10,
    encoder: Annotated[
        str | None, typer.Option(help="Pretrained encoder to start from. [dim]\\[default: the model's own encoder][/]")
    ] = None,
    split: Annotated[str, typer.Option(help="Split to learn from.")] = "train",
    dev: Annotated[
        str | None, typer.Option(help="Data to choose a checkpoint by. [dim]\\[default: the split dev of --data][/]")
    ] = None,
    dev_split: Annotated[str, typer.Option(help="Split of those data.")] = "dev",
    sample: Annotated[int | None, typer.Option(help="Learn from so many records, drawn at random.")] = None,
    dev_sample: Annotated[int | None, typer.Option(help="Choose by so many records, drawn at random.")] = None,
    sample_seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    learning_rate: Annotated[float, typer.Option(help="At the start; it falls to 0.")] = 4e-5,
    batch_size: Annotated[int, typer.Option(help="Texts in an update.")] = 20,
    micro_batch: Annotated[int | None, typer.Option(help="Texts in a pass, where a batch does not fit.")] = None,
    search_epochs: Annotated[int, typer.Option(help="Passes over the texts of a trial.")] = 2,
    search_texts: Annotated[int, typer.Option(help="Texts that a trial learns from.")] = 450,
    remover: Annotated[str | None, typer.Option(help="What removed means to the metrics.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Setting of the loss, e.g. merge=mean.")
    ] = None,
    data_settings: Annotated[
        list[str] | None, typer.Option("--data-set", metavar="NAME=VALUE", help="Setting of the corpus.")
    ] = None,
    drop_broken: DropBroken = False,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Do not learn from texts that are among those to choose by.")
    ] = False,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Fit a network that explains a classifier in one pass."""
    options = locals()
    from whylight.models.load import load  # noqa: PLC0415  torch loads only when it is needed
    from whylight.training import processes  # noqa: PLC0415
    from whylight.training.fit import check_fit, fit as run  # noqa: PLC0415

    names = metric or ["comprehensiveness"]
    numbers = _numbers(options)
    check_fit(method, names, numbers)
    texts = read_texts(options)
    found = run(
        method,
        load(model, head=parse_head(head)),
        *texts,
        out=out,
        metrics=names,
        trials=trials,
        encoder=encoder,
        remover=remover,
        **numbers,
    )
    for name, one in found.items() if processes.is_first() else ():
        receipt = one.receipt
        value = receipt["validation"][name]
        weights = ", ".join(
            f"{key} {receipt['asked']['mask'][key]:.3g}" for key in ("prediction", "inverse", "sparsity")
        )
        say(
            f"{one.folder}: epoch {receipt['best_epoch']:g} of {receipt['epochs_run']:g}; {name} {value:.4f}; {weights}"
        )
        for note in receipt["notes"]:
            say(f"note: {note}.")


def _numbers(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers and settings of a fit, by name."""
    from whylight.training.fitting import NUMBERS  # noqa: PLC0415

    own = {name: options[name] for name in NUMBERS}
    given = parse_settings(options["settings"] or [])
    for name in given:
        if name in own:
            raise SettingError(f"'{name}' has an option of its own, --{name.replace('_', '-')}.")
    return {**own, **given}


fit.__doc__ = f"{fit.__doc__}\n{EXAMPLES}"
