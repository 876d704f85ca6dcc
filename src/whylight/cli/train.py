"""`whylight train`: a classifier whose reasons hold up."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from whylight.cli.completion import complete_data, complete_objectives
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
from whylight.cli.engines import Address, Engine, Workers
from whylight.cli.models import TrainingDevice, training_on
from whylight.cli.settings import parse_settings
from whylight.core.errors import InputError, SettingError
from whylight.explaining.console import say, say_written

if TYPE_CHECKING:
    from whylight.data.dataset import Dataset
    from whylight.models.prepare import Architecture
    from whylight.training.recipe import Recipe
    from whylight.training.result import Trained

DEV_SEED = 1
EXAMPLES = """
[bold]Examples[/bold]

whylight train --data reviews.jsonl --dev more.jsonl --out ./my-model

whylight train --data reviews.csv --text-column review --label-column stars --dev more.csv --out ./my-model

whylight train --data sst:trees --objective rationale_attention=1 --out ./guided --seeds 3 --workers 3

whylight train --data sst:trees --objective rationale_rollout --find-bound --out ./bound

whylight train --data sst:trees --objective rationale_rollout --combine constrained --bound-train .03 --bound-val .03
--out ./held

whylight train --data discharge: --architecture plm_ca --objective input_gradient_penalty --out ./coder
"""


def train(  # noqa: PLR0913  one parameter an option
    *,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the model; a stopped training resumes from there.")],
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
    model: Annotated[
        str | None,
        typer.Option(
            help="Encoder or classifier to start from; 'encoder' is the bundled encoder without its head. "
            "[dim]\\[default: the bundled sentiment model, trained on SST, with its head where labels agree][/]"
        ),
    ] = None,
    architecture: Annotated[str, typer.Option(help="auto, or plm_ca for long documents with many labels.")] = "auto",
    label_descriptions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What labels stand for, shown beside them: .json (label to text), or .csv or .tsv of two columns. "
            "[dim]\\[default: what the data say][/]",
        ),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=WEIGHT]",
            help="Term of the loss; see `whylight objectives`.",
            autocompletion=complete_objectives,
        ),
    ] = None,
    combine: Annotated[
        str, typer.Option(help="joint, or constrained: labels first, the rest below a bound.")
    ] = "joint",
    bound_train: Annotated[float | None, typer.Option(help="Bound on the other terms while training.")] = None,
    bound_val: Annotated[float | None, typer.Option(help="Bound on them for a checkpoint.")] = None,
    find_bound: Annotated[
        bool, typer.Option("--find-bound", help="Train on the other terms alone, and propose both bounds.")
    ] = False,
    epochs: Annotated[int, typer.Option(help="Passes over the texts, at most.")] = 5,
    learning_rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 5e-5,
    batch_size: Annotated[int, typer.Option(help="Texts in an update.")] = 32,
    micro_batch: Annotated[int | None, typer.Option(help="Texts in a pass, where a batch does not fit.")] = None,
    patience: Annotated[int | None, typer.Option(help="Epochs without a better checkpoint before it stops.")] = None,
    multiplier_rate: Annotated[float, typer.Option(help="Learning rate of the multiplier of a bound.")] = 0.1,
    max_tokens: Annotated[int | None, typer.Option(help="Cut longer texts.")] = None,
    device: TrainingDevice = None,
    precision: Annotated[str, typer.Option(help="float32 or bfloat16.")] = "float32",
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Train so many models, in folders seed-N.")] = 1,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Setting of an objective.")
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
) -> None:
    """Train a classifier, on labels alone or also on reasons."""
    asked = read_options(locals())
    from whylight.engines.where import elsewhere  # noqa: PLC0415  torch loads only when it is needed
    from whylight.training.seeds import train_seeds  # noqa: PLC0415
    from whylight.training.train import train as train_one  # noqa: PLC0415

    where: dict[str, Any] = {"engine": engine, "workers": workers, "address": address}
    learnt, chosen = asked.data
    named: dict[str, Any] = {"architecture": asked.architecture, "label_descriptions": asked.label_descriptions}
    with training_on(device):
        if seeds == 1 and elsewhere(**where) is not None:
            raise SettingError("workers share several trainings; say how many: --seeds, or leave out --workers.")
        if seeds == 1:
            recipe = replace(asked.recipe, seed=seed)
            _say_trained(asked, train_one(model, learnt, chosen, recipe, out=out, **named))
            return
        told = partial(_say_trained, asked)
        every = range(seed, seed + seeds)
        train_seeds(model, learnt, chosen, asked.recipe, seeds=every, out=out, told=told, **named, **where)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options of a training stand for; `data` are the texts to learn from and those to choose by."""

    data: "tuple[Dataset, Dataset]"
    recipe: "Recipe"
    architecture: "Architecture"
    label_descriptions: Path | None = None


def read_options(options: Mapping[str, Any]) -> Asked:
    """Turn the options of `train`, by the names of its parameters, into data and a recipe."""
    from whylight.explaining.options import choice  # noqa: PLC0415  torch loads only when it is needed
    from whylight.models.prepare import Architecture  # noqa: PLC0415
    from whylight.training.recipe import NUMBERS, make_recipe  # noqa: PLC0415

    if options["find_bound"] and options["combine"] == "constrained":
        raise SettingError("--find-bound trains on the other terms alone; leave out --combine.")
    numbers = {name: options[name] for name in NUMBERS if name in options}
    numbers["bound_validation"] = options["bound_val"]
    if options["find_bound"]:
        numbers["combine"] = "alone"
    for_terms = parse_settings(options["settings"] or [])
    recipe = make_recipe(options["objective"] or [], numbers=numbers, settings=for_terms)
    architecture = choice("architecture", options["architecture"], get_args(Architecture))
    return Asked(read_texts(options), recipe, architecture, options.get("label_descriptions"))


def read_texts(options: Mapping[str, Any], *, labelled: bool = True) -> "tuple[Dataset, Dataset]":
    """Return the texts to learn from and those to choose by; both are read in the same way."""
    learnt = read_data(options["data"], split=options["split"], options=options, labelled=labelled)
    dev = options["dev"] or options["data"]
    chosen = read_data(dev, split=options["dev_split"], options=options, labelled=labelled)
    count, dev_count, seed = options["sample"], options["dev_sample"], options["sample_seed"]
    chosen = chosen if dev_count is None else chosen.sample(dev_count, seed=seed + DEV_SEED)
    learnt = learnt.without(chosen) if options["drop_duplicates"] else learnt
    learnt = learnt if count is None else learnt.sample(count, seed=seed)
    say_losses(learnt, chosen)
    return learnt, chosen


def _say_trained(asked: Asked, found: "Trained") -> None:
    """Say what came of a training."""
    from whylight.training import processes  # noqa: PLC0415  torch loads only when it is needed

    if not processes.is_first():
        return
    say_written(found.folder)
    receipt = found.receipt
    figures = {name: value for name, value in receipt["validation"].items() if name not in ("seconds", "selection")}
    shown = ", ".join(
        f"{name} {value if isinstance(value, int) else f'{value:.4f}'}" for name, value in figures.items()
    )
    say(f"{found.folder}: epoch {receipt['best_epoch']:g} of {receipt['epochs_run']:g}; {shown}")
    for note in receipt.get("notes", []):
        say(f"note: {note}")
    if asked.recipe.combine == "alone":
        bounds = receipt["bounds"]
        if bounds is None:
            raise InputError("the training was too short to propose a bound; give it more epochs.")
        say(f"proposed: --bound-train {bounds['train']:.4g} --bound-val {bounds['validation']:.4g}")


train.__doc__ = f"{train.__doc__}\n{EXAMPLES}"
