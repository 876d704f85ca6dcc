"""`whylight roar`: remove what methods call important, and train anew."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from whylight.cli.data import DropBroken
from whylight.cli.evaluate import DEFAULT_METHODS
from whylight.cli.explain import parse_head, parse_settings
from whylight.cli.limits import Budget, MaxMemory
from whylight.cli.tables import TableFormat, print_records
from whylight.cli.train import read_texts
from whylight.explaining.console import Console, complain, say

if TYPE_CHECKING:
    from whylight.study.retrained import Roar, SeedMean

LEGEND = (
    "Accuracy of a model that was trained anew on texts without the top words by each method, on validation texts "
    "without theirs: means over seeds with 95 % t intervals. Differences are taken seed by seed; lower is better. A "
    "verdict needs 3 seeds, an interval without 0, and p < 0.05 in a two-sample t-test; each line is tested by itself."
)
EXAMPLES = """
[bold]Examples[/bold]

whylight roar --data sst:trees --encoder ./pretrained --method occlusion --method lime --out runs/roar

whylight roar --data reviews.jsonl --dev more.jsonl --model ./my-model --encoder ./pretrained --method attingrad
--sample 200 --dev-sample 100 --share 0.2 --seeds 1 --epochs 1 --out runs/quick

whylight roar --data sst:trees --encoder ./pretrained --method occlusion --remover infill --set infill.model=./my-mlm
--out runs/infilled
"""


def roar(  # noqa: PLR0913  one parameter an option
    *,
    data: Annotated[str, typer.Option(help="CORPUS:PATH, or the path of a .jsonl, .csv, .tsv or .parquet file.")],
    encoder: Annotated[str, typer.Option(help="Pretrained encoder that trainings start from: folder or hub id.")],
    out: Annotated[Path, typer.Option(help="Folder of the study; a stopped one resumes from there.")],
    model: Annotated[
        str | None, typer.Option(help="The classifier to explain. [dim]\\[default: the bundled sentiment model][/]")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Method, may be repeated; lime\\[samples=200] has settings of its own.")
    ] = None,
    remover: Annotated[str, typer.Option(help="What happens to the words: delete or infill.")] = "delete",
    method_remover: Annotated[str | None, typer.Option(help='What "removed" means to methods themselves.')] = None,
    target: Annotated[str, typer.Option(help="Whose scores rank the words: predicted or gold.")] = "predicted",
    share: Annotated[
        list[float] | None, typer.Option(help="Share of the words, may be repeated. [dim]\\[default: 0.1, 0.2, 0.3][/]")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each method and share.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first of them; the others follow.")] = 0,
    split: Annotated[str, typer.Option(help="Split to learn from.")] = "train",
    dev: Annotated[
        str | None, typer.Option(help="Data to measure accuracy on. [dim]\\[default: the split dev of --data][/]")
    ] = None,
    dev_split: Annotated[str, typer.Option(help="Split of those data.")] = "dev",
    sample: Annotated[int | None, typer.Option(help="Learn from so many records, drawn at random.")] = None,
    dev_sample: Annotated[int | None, typer.Option(help="Measure on so many records, drawn at random.")] = None,
    sample_seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    epochs: Annotated[int, typer.Option(help="Passes over the texts.")] = 3,
    learning_rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 2e-5,
    batch_size: Annotated[int, typer.Option(help="Texts in an update.")] = 32,
    micro_batch: Annotated[int | None, typer.Option(help="Texts in a pass, where a batch does not fit.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Cut longer texts in trainings.")] = None,
    precision: Annotated[str, typer.Option(help="float32 or bfloat16.")] = "float32",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Setting of a method or remover, e.g. infill.model=FOLDER."),
    ] = None,
    data_settings: Annotated[
        list[str] | None, typer.Option("--data-set", metavar="NAME=VALUE", help="Setting of the corpus.")
    ] = None,
    drop_broken: DropBroken = False,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Do not learn from texts that accuracy is measured on.")
    ] = False,
    output_format: Annotated[TableFormat, typer.Option("--format", help="table, json or csv.")] = TableFormat.table,
    budget: Budget = None,
    max_memory: MaxMemory = None,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Remove the words that methods call important, train a model anew, and see how much worse it is."""
    texts = read_texts(locals())
    from whylight.explaining.options import Options  # noqa: PLC0415  torch loads only when it is needed
    from whylight.models.load import load  # noqa: PLC0415
    from whylight.study.roar import SHARES, roar as run  # noqa: PLC0415

    found = run(
        load(model, head=parse_head(head)),
        *texts,
        encoder=encoder,
        methods=method or DEFAULT_METHODS,
        out=out,
        remover=remover,
        shares=share or SHARES,
        seeds=range(seed, seed + seeds),
        options=Options(target=target, remover=method_remover),
        budget=budget,
        max_memory=max_memory,
        settings=parse_settings(settings or []),
        epochs=epochs,
        learning_rate=learning_rate,
        batch_size=batch_size,
        micro_batch=micro_batch,
        max_tokens=max_tokens,
        precision=precision,
    )
    for note in found.notes:
        complain(f"{note}.")
    if output_format is TableFormat.table:
        sizes = " and ".join(f"{len(one)} of {one.split}" for one in texts)
        _print_roar(
            found, title=f"{texts[0].name}, {sizes}; remover {remover}; {seeds} seed{'' if seeds == 1 else 's'}"
        )
    else:
        print_records(found.records(), output_format)


roar.__doc__ = f"{roar.__doc__}\n{EXAMPLES}"


def _print_roar(found: "Roar", *, title: str) -> None:
    table = Table(title=title, box=None, header_style="bold", pad_edge=False, title_justify="left")
    for name, right in {"share": True, "method": False, "accuracy ↓": True}.items():
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for line in sorted(found.lines, key=lambda line: line.share):
        table.add_row(f"{line.share:.0%}", line.method, _with_interval(line.accuracy))
    Console().print(table)
    if found.comparisons:
        _print_comparisons(found)
    say(LEGEND, style="dim")


def _print_comparisons(found: "Roar") -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("share", "method", "against", "difference", "p", "verdict"):
        table.add_column(name, justify="right" if name in ("share", "difference", "p") else "left", overflow="fold")
    for one in found.comparisons:
        p_value = "-" if one.p_value is None else f"{one.p_value:.3f}"
        row = (f"{one.share:.0%}", one.first, one.second, _with_interval(one.difference), p_value, one.standing)
        table.add_row(*row)
    Console().print()
    Console().print(table)


def _with_interval(one: "SeedMean") -> str:
    """Write a mean, and its interval where there are several seeds."""
    return f"{one.mean:.3f}" if one.low is None else f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]"
