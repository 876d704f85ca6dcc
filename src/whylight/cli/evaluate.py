"""`whylight evaluate`: methods x metrics on a data set, as one table."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whylight.cli.completion import complete_metrics, complete_removers
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
from whylight.cli.limits import Budget, MaxMemory
from whylight.cli.models import Accelerate, AskedBy, Device, EndpointModel, EndpointSettings, EndpointUrl, named_model
from whylight.cli.names import Methods
from whylight.cli.settings import parse_head, parse_settings
from whylight.cli.tables import TableFormat, print_records
from whylight.core.endpoint import Endpoint
from whylight.core.limits import limited
from whylight.explaining.console import complain, say_written
from whylight.models.bundled_start import is_bundled, seen_notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whylight.data.dataset import Dataset

DEFAULT_METHODS = ("integrated_gradients", "lime", "attingrad", "occlusion")
TUNING_SEED = 1
"""Another seed than the sample's own, where both are drawn from one split."""


EXAMPLES = """
[bold]Examples[/bold]

whylight evaluate --data sst:trees --split dev --sample 100 --method lime --method attingrad --out runs/sst

whylight evaluate --data sst:trees --split dev --sample 100 --method lime --method attingrad --method ig --out runs/sst
[dim](adds ig to the run above)[/]

whylight evaluate --data reviews.jsonl --model ./my-model --method occlusion --metric aopc_comprehensiveness

whylight evaluate --data eraser:movies --split test --method lime --metric token_f1 --tune val --tune-sample 50

whylight evaluate --data reviews.csv --text-column review --label-column stars --map-label 0=negative
--map-label 1=positive --method ig

whylight evaluate --data reviews.jsonl --method lime --metric aopc_comprehensiveness --target gold

whylight evaluate --data reviews.jsonl --method attention --method alti --set layer=all --out runs/layers

whylight evaluate --data reviews.jsonl --model ./my-model --metric-model ./copy --metric f_fidelity_plus --method lime

whylight evaluate --data reviews.jsonl --method "lime\\[samples=200]" --method "lime\\[samples=2000]" --out runs/samples

whylight evaluate --data reviews.jsonl --model ./seed-0 --model ./seed-1 --method lime --out runs/seeds
"""


def evaluate(  # noqa: PLR0913  one parameter an option
    *,
    data: Data,
    split: Annotated[str, typer.Option(help="Split of the corpus.")] = "test",
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Folder or hub id; several give mean and deviation over models. "
            "[dim]\\[default: the bundled sentiment model][/]"
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of methods that draw at random, for each model.")] = 1,
    method: Methods = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Metric, may be repeated; see `whylight metrics`.", autocompletion=complete_metrics),
    ] = None,
    sample: Annotated[int | None, typer.Option(help="Evaluate on so many records, drawn at random.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    remover: Annotated[
        str | None,
        typer.Option(help='What "removed" means to methods and metrics.', autocompletion=complete_removers),
    ] = None,
    metric_remover: Annotated[
        list[str] | None,
        typer.Option(
            help='Measure under this remover instead, e.g. "infill\\[mode=top1]"; may be repeated, and should be.',
            autocompletion=complete_removers,
        ),
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            help="Labels whose faithfulness is measured: predicted, gold, or generated (what a language model writes); "
            "plausibility is of gold ones."
        ),
    ] = "predicted",
    unit: Annotated[
        str | None,
        typer.Option(help="word (default), token or sentence; of pictures pixel (default), patch, superpixel."),
    ] = None,
    long: Annotated[str, typer.Option(help="window, segments, truncate or refuse.")] = "window",
    tune: Annotated[str | None, typer.Option(help="Split on which decision boundaries are tuned.")] = None,
    tune_sample: Annotated[int, typer.Option(help="Records of that split to use.")] = 100,
    zero_non_alphanumeric: Annotated[
        bool, typer.Option("--zero-non-alphanumeric", help="Control: features without letter or digit score 0.")
    ] = False,
    control: Annotated[
        str | None,
        typer.Option(help="best-of=10: also measure each method as the best of ten maps, its own and perturbed ones."),
    ] = None,
    metric_model: Annotated[
        str | None,
        typer.Option(help="Measure faithfulness on this model instead, e.g. a copy trained by random_masking."),
    ] = None,
    by_outcome: Annotated[
        bool, typer.Option("--by-outcome", help="Also one table for right and one for wrong predictions.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Setting of a method or metric; lime.samples=200 is for one alone."
        ),
    ] = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    rationale_column: RationaleColumn = None,
    map_label: MapLabel = None,
    data_settings: DataSettings = None,
    drop_broken: DropBroken = False,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Do not tune on texts that are among those evaluated.")
    ] = False,
    output_format: Annotated[TableFormat, typer.Option("--format", help="table, json or csv.")] = TableFormat.table,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for Parquet tables; a stopped run resumes from there, and what it lacks is added."),
    ] = None,
    budget: Budget = None,
    max_memory: MaxMemory = None,
    prompt: AskedBy = None,
    endpoint: EndpointUrl = None,
    endpoint_model: EndpointModel = None,
    endpoint_settings: EndpointSettings = None,
    device: Device = None,
    accelerate: Accelerate = None,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid, binary or regression.")] = None,
) -> None:
    """Measure methods on a data set: one table with intervals, beside `random` and `human`."""
    options = locals()
    named = _named(model, endpoint, endpoint_model, endpoint_settings)
    from whylight.explaining.options import Options  # noqa: PLC0415  torch loads only when it is needed
    from whylight.models.load import load  # noqa: PLC0415
    from whylight.report.run_sheets import evaluation_sheet, several_sheet  # noqa: PLC0415
    from whylight.report.sheets import print_sheet  # noqa: PLC0415
    from whylight.run.control import Control  # noqa: PLC0415
    from whylight.run.evaluate import Question, answer  # noqa: PLC0415
    from whylight.study.several import evaluate_several, model_names  # noqa: PLC0415

    records = read_data(data, split=split, options=options)
    records = records if sample is None else records.sample(sample, seed=seed)
    tuning = None
    if tune is not None:
        tuning = read_data(data, split=tune, options=options)
        tuning = tuning.without(records, pairs=False) if drop_duplicates else tuning
        tuning = tuning.sample(tune_sample, seed=seed + TUNING_SEED)
    say_losses(records, *([] if tuning is None else [tuning]))
    _warn_of_texts(records, [one for one in named if not isinstance(one, Endpoint)])
    open_model = partial(load, head=parse_head(head), prompt=prompt, device=device, accelerate=accelerate)
    question = Question(
        methods=method or DEFAULT_METHODS,
        metrics=metric or None,
        remover=remover,
        metric_removers=metric_remover or None,
        options=Options.parse(target=target, unit=unit, remover=remover, score=None, long=long, pieces="sum"),
        tune=tuning,
        zero_non_alphanumeric=zero_non_alphanumeric,
        control=None if control is None else Control.parse(control),
        metric_model=None if metric_model is None else open_model(metric_model),
        settings=parse_settings(settings or []),
    )
    title = _title(records, metric_model)
    if len(named) > 1 or seeds != 1:
        names = model_names([one.model if isinstance(one, Endpoint) else one or "bundled" for one in named])
        opened = {name: partial(open_model, one) for name, one in zip(names, named, strict=True)}
        with limited(budget=budget, max_memory=max_memory), _resumable(out):
            several = evaluate_several(opened, records, question, seeds=seeds, out=out)
        if output_format is TableFormat.table:
            print_sheet(several_sheet(several, title=title))
        else:
            print_records(several.records(), output_format)
        _say_folder(out)
        return
    classifier = open_model(named[0])
    with limited(budget=budget, max_memory=max_memory), _resumable(out):
        found = answer(classifier, records, question, out=out, progress=True)
    if output_format is TableFormat.table:
        print_sheet(evaluation_sheet(found, title=title, by_outcome=by_outcome))
    else:
        print_records(found.records(), output_format)
    _say_folder(out)


def _named(model: list[str] | None, *endpoint: Any) -> list[str | Endpoint | None]:  # noqa: ANN401  options of one
    """Return the models that a command names."""
    paths: list[str | None] = [*model] if model else [None]
    return [named_model(one, *endpoint) for one in paths]


def _title(records: "Dataset", metric_model: str | None) -> str:
    elsewhere = "" if metric_model is None else f"; faithfulness on {metric_model}"
    return f"{records.name} {records.split}, {records.noun.count(len(records))}{elsewhere}"


@contextmanager
def _resumable(out: Path | None) -> Iterator[None]:
    """Have Ctrl-C say where the work is, and which command goes on with it."""
    try:
        yield
    except KeyboardInterrupt:
        if out is None:
            raise KeyboardInterrupt("nothing was kept: with --out FOLDER, a stopped run can be resumed") from None
        command = shlex.join(["whylight", *sys.argv[1:]])
        raise KeyboardInterrupt(f"what was done is in '{out}', and this resumes from there: {command}") from None


def _say_folder(out: Path | None) -> None:
    if out is not None:
        say_written(out)


def _warn_of_texts(records: "Dataset", models: "Sequence[str | None]") -> None:
    """Say what a reader of the table would not see: figures of one class alone, or of texts that the model knows."""
    if any(map(is_bundled, models)):
        for note in seen_notes(((records.name, records.split),)):
            complain(f"{note}; its figures there say little about other texts.")
    labels = {record.labels for record in records}
    if len(labels) == 1 and len(records) > 1 and (only := next(iter(labels))):
        complain(
            f"all {records.noun.count(len(records))} have the label '{only[0]}'; the figures say nothing about others."
        )


evaluate.__doc__ = f"{evaluate.__doc__}\n{EXAMPLES}"
