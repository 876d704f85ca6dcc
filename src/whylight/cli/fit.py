"""`whylight fit`: a network that explains a classifier, or a masked language model for `--remover infill`."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from whylight.cli.completion import complete_data, complete_metrics, complete_removers
from whylight.cli.data import (
    Data,
    DataSettings,
    DropBroken,
    LabelColumn,
    MapLabel,
    PairColumn,
    RationaleColumn,
    TextColumn,
)
from whylight.cli.models import AskedBy, Device, training_on
from whylight.cli.settings import parse_head, parse_settings
from whylight.cli.train import read_texts
from whylight.core.errors import SettingError
from whylight.explaining.console import say, say_written

MLM, TRIALS = "mlm", 30
EXAMPLES = """
[bold]Examples[/bold]

whylight fit aml --model ./my-model --data reviews.jsonl --dev more.jsonl --metric comprehensiveness --out ./fitted

whylight fit aml --data sst:trees --sample 1000 --dev-sample 200 --encoder ./pretrained --trials 10 --out ./fitted

whylight fit aml --data sst:trees --metric comprehensiveness --metric sufficiency --trials 0 --out ./two

whylight explain "A gripping film." --method aml --set folder=./fitted --set steps=10

whylight fit mlm --model ./pretrained --data reviews.jsonl --dev more.jsonl --epochs 3 --out ./my-mlm

whylight explain "A gripping film." --method occlusion --remover infill --set infill.model=./my-mlm
"""
FOR_AML = ("metric", "trials", "encoder", "remover", "head", "micro_batch", "search_epochs", "search_texts", "prompt")
"""Options that say something about a network that explains, and nothing about a masked language model."""


def fit(  # noqa: PLR0913  one parameter an option
    method: Annotated[str, typer.Argument(help="aml, or mlm for a masked language model.")],
    *,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the network; a stopped fit resumes from there.")],
    model: Annotated[
        str | None,
        typer.Option(help="The classifier to explain; mlm: what to start from. [dim]\\[default: the bundled model][/]"),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="What to be good at; may be repeated. [dim]\\[default: comprehensiveness][/]",
            autocompletion=complete_metrics,
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=0, help="Trials of the search for the three weights; 0: none. [dim]\\[default: 30][/]"),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the texts. [dim]\\[default: 10; mlm: 3][/]")] = None,
    encoder: Annotated[
        str | None, typer.Option(help="Pretrained encoder to start from. [dim]\\[default: the model's own encoder][/]")
    ] = None,
    split: Annotated[str, typer.Option(help="Split to learn from.")] = "train",
    dev: Annotated[
        str | None,
        typer.Option(
            help="Data to choose a checkpoint by. [dim]\\[default: the split dev of --data][/]",
            autocompletion=complete_data,
        ),
    ] = None,
    dev_split: Annotated[str, typer.Option(help="Split of those data.")] = "dev",
    sample: Annotated[int | None, typer.Option(help="Learn from so many records, drawn at random.")] = None,
    dev_sample: Annotated[int | None, typer.Option(help="Choose by so many records, drawn at random.")] = None,
    sample_seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    learning_rate: Annotated[
        float | None, typer.Option(help="At its highest; it falls to 0. [dim]\\[default: 4e-5; mlm: 5e-5][/]")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Texts in an update. [dim]\\[default: 20; mlm: 8][/]")] = None,
    micro_batch: Annotated[int | None, typer.Option(help="Texts in a pass, where a batch does not fit.")] = None,
    search_epochs: Annotated[
        int | None, typer.Option(help="Passes over the texts of a trial. [dim]\\[default: 2][/]")
    ] = None,
    search_texts: Annotated[
        int | None, typer.Option(help="Texts that a trial learns from. [dim]\\[default: 450][/]")
    ] = None,
    remover: Annotated[
        str | None, typer.Option(help="What removed means to the metrics.", autocompletion=complete_removers)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Setting of the loss, e.g. merge=mean.")
    ] = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    rationale_column: RationaleColumn = None,
    map_label: MapLabel = None,
    data_settings: DataSettings = None,
    drop_broken: DropBroken = False,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Do not learn from texts that are among those to choose by.")
    ] = False,
    prompt: AskedBy = None,
    device: Device = None,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Fit a network that explains a classifier in one pass, or a masked language model."""
    options = locals()
    if method == MLM:
        return _fit_mlm(options)
    from whylight.models.load import load  # noqa: PLC0415  torch loads only when it is needed
    from whylight.training import processes  # noqa: PLC0415
    from whylight.training.fit import check_fit, fit as run  # noqa: PLC0415
    from whylight.training.fitting import NUMBERS  # noqa: PLC0415

    names = metric or ["comprehensiveness"]
    numbers = _numbers(options, NUMBERS)
    check_fit(method, names, numbers)
    texts = read_texts(options, labelled=False)
    with training_on(device):
        found = run(
            method,
            load(model, head=parse_head(head), prompt=prompt, device=device),
            *texts,
            out=out,
            metrics=names,
            trials=TRIALS if trials is None else trials,
            encoder=encoder,
            remover=remover,
            **numbers,
        )
    for name, one in found.items() if processes.is_first() else ():
        say_written(one.folder)
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

    return None


def _fit_mlm(options: Mapping[str, Any]) -> None:
    """Fit a masked language model, and say what came of it."""
    from whylight.models.bundled_start import MASKED_NAME  # noqa: PLC0415  torch loads only when it is needed
    from whylight.training import processes  # noqa: PLC0415
    from whylight.training.fit_mlm import NUMBERS, fit_mlm, mlm_recipe  # noqa: PLC0415

    for name in FOR_AML:
        if options[name] is not None:
            raise SettingError(f"--{name.replace('_', '-')} is of a network that explains, not of {MLM}.")
    numbers = _numbers(options, NUMBERS)
    mlm_recipe(numbers)
    texts = read_texts(options, labelled=False)
    with training_on(options["device"]):
        found = fit_mlm(options["model"] or MASKED_NAME, *texts, out=options["out"], **numbers)
    if processes.is_first():
        say_written(found.folder)
        receipt, values = found.receipt, found.receipt["validation"]
        epochs = f"epoch {receipt['best_epoch']:g} of {receipt['epochs_run']:g}"
        right = f"{values['masked_accuracy']:.1%} of {values['hidden_tokens']:,} hidden tokens are found"
        say(f"{found.folder}: {epochs}; {right}")
        for note in receipt["notes"]:
            say(f"note: {note}.")


def _numbers(options: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the numbers and settings of a fit that were given, by name."""
    own = {name: options[name] for name in known if options.get(name) is not None}
    given = parse_settings(options["settings"] or [])
    for name in given:
        if name in options and name in known:
            raise SettingError(f"'{name}' has an option of its own, --{name.replace('_', '-')}.")
    return {**own, **given}


fit.__doc__ = f"{fit.__doc__}\n{EXAMPLES}"
