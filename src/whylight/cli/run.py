"""`whylight run`, `verify`, `query` and `export`: a whole corpus, in a folder."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whylight.cli.completion import complete_metrics, complete_removers
from whylight.cli.data import (
    COLUMNS,
    DataSettings,
    DropBroken,
    LabelColumn,
    MapLabel,
    PairColumn,
    RationaleColumn,
    TextColumn,
    parse_label_map,
)
from whylight.cli.engines import Address, Engine
from whylight.cli.models import Accelerate, AskedBy, Device
from whylight.cli.names import Methods
from whylight.cli.settings import parse_head, parse_settings
from whylight.cli.tables import TableFormat, print_columns, print_records
from whylight.core.errors import InputError, SettingError
from whylight.explaining.console import complain, say, say_written

if TYPE_CHECKING:
    from whylight.data.stream import Stream

Corpus = Annotated[
    str,
    typer.Option(
        help="A .jsonl, .csv, .tsv, .parquet or .txt file, a folder or pattern of such, an address that fsspec knows "
        "(s3://...), or CORPUS:PATH."
    ),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")]
RUN_EXAMPLES = """
[bold]Examples[/bold]

whylight run --data reviews.jsonl --method occlusion --out runs/reviews

whylight run --model ./my-model --data "parts/*.parquet" --method decompx_linear --out runs/all --workers 8

whylight run --data reviews.jsonl --method lime --out runs/lime --dry-run

whylight run --model ./my-model --data s3://bucket/reviews/ --method ig --out /shared/run --engine ray --address auto
--workers 100
"""


def run(  # noqa: PLR0913  one parameter an option
    *,
    data: Corpus,
    out: Annotated[Path, typer.Option(help="Folder of the run; the same command goes on with one that was stopped.")],
    method: Methods = None,
    model: Annotated[
        str | None, typer.Option(help="Folder or hub id. [dim]\\[default: the bundled sentiment model][/]")
    ] = None,
    split: Annotated[str, typer.Option(help="Split, where the data has several.")] = "test",
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Metric, may be repeated; none by default.", autocompletion=complete_metrics),
    ] = None,
    remover: Annotated[
        str | None,
        typer.Option(help='What "removed" means to methods and metrics.', autocompletion=complete_removers),
    ] = None,
    unit: Annotated[str | None, typer.Option(help="word (default), token or sentence.")] = None,
    long: Annotated[str, typer.Option(help="window, segments, truncate or refuse.")] = "window",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Setting of a method or metric.")
    ] = None,
    engine: Engine = "local",
    workers: Annotated[int, typer.Option(help="Workers; each loads the model, and has one thread.")] = 1,
    address: Address = None,
    shard: Annotated[int | None, typer.Option(help="Texts of a part file. [dim]\\[default: 256][/]")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take, and do nothing.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Work again on texts that failed.")] = False,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    rationale_column: RationaleColumn = None,
    map_label: MapLabel = None,
    data_settings: DataSettings = None,
    drop_broken: DropBroken = False,
    prompt: AskedBy = None,
    device: Device = None,
    accelerate: Accelerate = None,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Explain a whole corpus into a folder of Parquet tables: resumable, by several workers, in constant memory."""
    given = locals()
    from whylight.data.dataset import LOST  # noqa: PLC0415  torch loads only when it is needed
    from whylight.engines.where import Where  # noqa: PLC0415
    from whylight.explaining.options import Options  # noqa: PLC0415
    from whylight.models.load import load  # noqa: PLC0415
    from whylight.run.evaluate import Question  # noqa: PLC0415
    from whylight.run.running import Asked, run_question  # noqa: PLC0415

    if not method:
        raise SettingError("name at least one method, e.g. --method occlusion; see `whylight methods`.")
    question = Question(
        methods=method,
        metrics=metric or [],
        remover=remover,
        options=Options.parse(target="predicted", unit=unit, remover=remover, score=None, long=long, pieces="sum"),
        settings=parse_settings(settings or []),
        baseline=bool(metric),
    )
    where = Where(engine=engine, workers=workers, address=address)
    loaded: dict[str, Any] = {"head": parse_head(head), "prompt": prompt, "device": device, "accelerate": accelerate}
    own: dict[str, Any] = {"retry_failed": retry_failed, "shard": shard, "loaded": loaded}
    asked = Asked(question, _source(data, split, given), out, where, **own)
    opening = partial(load, model, **loaded)
    if dry_run:
        from whylight.run.estimating import forecast  # noqa: PLC0415

        say(f"{forecast(opening, asked)}.")
        return
    try:
        found = run_question(opening, asked)
    except KeyboardInterrupt:
        command = shlex.join(["whylight", *sys.argv[1:]])
        raise KeyboardInterrupt(f"what was done is in '{out}', and this resumes from there: {command}") from None
    failed = f", of which {found.failed:,} failed (see the column 'reason' of texts/)" if found.failed else ""
    if found.left_out:
        complain(f"{LOST}{found.left_out}.")
    now = f"{found.new:,} of them now, in {found.seconds:,.1f} s"
    say(f"{found.noun.count(found.texts)}{failed}; {now}; sha256 {found.sha256}.")
    say_written(out)


run.__doc__ = f"{run.__doc__}\n{RUN_EXAMPLES}"


def _source(data: str, split: str, options: dict[str, Any]) -> "Stream":
    from whylight.data.stream import needs_no_labels, stream  # noqa: PLC0415  numpy loads only when it is needed

    own: dict[str, Any] = dict(parse_settings(options["data_settings"] or []))
    own |= {name: options[name] for name in COLUMNS if options[name] is not None}
    own = {**needs_no_labels(data), **own}
    labels = parse_label_map(options["map_label"])
    return stream(data, split=split, drop_broken=options["drop_broken"], labels=labels, **own)


def verify(  # noqa: PLR0913  one parameter an option
    folder: Folder,
    *,
    rows: Annotated[int, typer.Option(help="Texts to work on again, drawn at random.")] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    model: Annotated[str | None, typer.Option(help="Where the model is now. [dim]\\[default: where it was][/]")] = None,
    data: Annotated[str | None, typer.Option(help="Where the data is now. [dim]\\[default: where it was][/]")] = None,
    prompt: AskedBy = None,
    device: Device = None,
) -> None:
    """Work on some texts of a run again, and compare every number with what stands in the folder.

    [bold]Examples[/bold]

    whylight verify runs/reviews --rows 50
    """
    from whylight.models.load import load  # noqa: PLC0415  torch loads only when it is needed
    from whylight.run.verifying import loaded_of, source_of, verify as look  # noqa: PLC0415

    said = {**loaded_of(folder), "device": device, **({} if prompt is None else {"prompt": prompt})}

    def opening(name: str) -> Any:  # noqa: ANN401  a classifier
        return load(model or name, **said)

    source = None if data is None else source_of(folder, data)
    found = look(folder, opening, rows=rows, seed=seed, data=source)
    looked = found.noun.count(found.texts)
    if found.differing:
        raise InputError(
            f"{len(found.differing)} of {found.rows} rows of {looked} differ from what stands in '{folder}', e.g. "
            f"{found.differing[0]}."
        )
    say(
        f"{looked}, {found.rows} rows: {found.same} are the same to the last bit, none differs by more than "
        f"{found.largest:.3g}."
    )


def query(
    folder: Folder,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One statement, in quotes.")],
    *,
    output_format: Annotated[TableFormat, typer.Option("--format", help="table, json or csv.")] = TableFormat.table,
) -> None:
    """Ask a run something in SQL: tables explanations, scores, curves, texts, timings (DuckDB).

    [bold]Examples[/bold]

    whylight query runs/reviews "select label, count(*) from explanations group by label"

    whylight query runs/reviews "select example_id, reason from texts where status = 'failed'" --format csv
    """
    from whylight.report.layout import Column  # noqa: PLC0415  loads only when it is needed
    from whylight.store.querying import query as ask  # noqa: PLC0415

    names, rows = ask(folder, sql)
    if output_format is TableFormat.table:
        print_columns([Column(name) for name in names], [[str(value) for value in row] for row in rows])
    elif rows:
        print_records([dict(zip(names, row, strict=True)) for row in rows], output_format)


def export(
    folder: Folder,
    *,
    to: Annotated[str, typer.Option(help="jsonl, parquet, datasets, brat, conll or labelstudio.")],
    out: Annotated[Path, typer.Option(help="File to write; a folder for datasets and brat.")],
    method: Annotated[str | None, typer.Option(help="Only this method.")] = None,
) -> None:
    """Write the explanations of a run in the form of another tool, with character offsets.

    [bold]Examples[/bold]

    whylight export runs/reviews --to jsonl --out reviews.jsonl

    whylight export runs/reviews --to brat --method occlusion --out brat/
    """
    from whylight.report.exporting import export as write  # noqa: PLC0415

    count = write(folder, out, form=to, method=method)
    say(f"{count:,} explanations.")
    say_written(out)
