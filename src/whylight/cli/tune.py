"""`whylight tune`: `whylight train` in search of its numbers."""

import inspect
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whylight.cli.models import training_on
from whylight.cli.settings import parse_settings
from whylight.cli.tables import TableFormat, print_columns, print_records
from whylight.cli.train import read_options, train
from whylight.core.errors import UnmetError
from whylight.core.registry import OBJECTIVES
from whylight.explaining.console import put, say, say_written
from whylight.report.layout import Column

if TYPE_CHECKING:
    from whylight.training.tune import TriedRecipe, Tuned

SHOWN = 10
"""Trials in the table."""
WHERE = ("engine", "workers", "address")
"""Options that say where trials are trained, which a single training has not."""
LEFT_OUT = ("seeds",)
"""Options of `train` that a search does not have."""
FLAGS = {"settings": "--set", "data_settings": "--data-set"}
"""Options that are not called as their parameter is."""
EXAMPLES = """
[bold]Examples[/bold]

whylight tune --data reviews.jsonl --dev more.jsonl --trials 20 --out ./search

whylight tune --data sst:trees --trials 40 --workers 4 --out ./search

whylight tune --data sst:trees --search rationale_attention=0.1:50:log --search epochs=2:6 --out ./weights

whylight tune --data sst:trees --objective adversarial_noise --search epsilon=1e-5,1e-3,1e-1 --trials 3 --out ./noise
"""


def tune(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the study and the best model; a stopped search resumes there.")],
    trials: Annotated[int, typer.Option(min=1, help="Trainings in all, with those of earlier calls.")] = 20,
    search: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RANGE",
            help="Number of the training, objective (its weight) or setting of one, over LOW:HIGH, LOW:HIGH:log or "
            "A,B,C; may be repeated. "
            "[dim]\\[default: learning_rate from 1e-5 to 2e-4, log][/]",
        ),
    ] = None,
    together: Annotated[
        int | None,
        typer.Option(
            help="Trials that are drawn at once, from what those before gave. [dim]\\[default: 1, with --workers 8][/]"
        ),
    ] = None,
    output_format: Annotated[TableFormat, typer.Option("--format", help="table, json or csv.")] = TableFormat.table,
    **options: Any,  # noqa: ANN401  those of `train`
) -> None:
    """Search the numbers of a training; the best model is kept in OUT/best."""
    from whylight.training.tune import DEFAULT, tune as run  # noqa: PLC0415  torch loads only when it is needed

    asked = {**options, "out": out, "objective": _with_searched(options["objective"] or [], search or [])}
    read = read_options(asked)
    where: dict[str, Any] = {name: options[name] for name in WHERE}
    with training_on(options["device"]):
        found = run(
            options["model"],
            *read.data,
            read.recipe,
            out=out,
            search=search or DEFAULT,
            trials=trials,
            architecture=read.architecture,
            label_descriptions=read.label_descriptions,
            together=together,
            **where,
        )
    say_written(found.folder)
    again = repeat(asked, found.receipt["trial"]["parameters"])
    if output_format is TableFormat.table:
        _print_table(found)
        put(f"To repeat the best one: {again}\n")
    else:
        print_records(_records(found.trials), output_format)
        put(f"{again}\n", stream=sys.stderr)
    if found.receipt["unmet"]:
        raise UnmetError(f"no trial kept the bound; the closest model is in '{found.folder / 'unmet'}'.")


def _with_searched(objectives: Sequence[str], search: Sequence[str]) -> list[str]:
    """Add the objectives whose weight is searched."""
    given = {text.partition("=")[0] for text in objectives}
    names = [text.partition("=")[0].strip().replace("-", "_") for text in search]
    return [*objectives, *(name for name in names if name in OBJECTIVES.names() and name not in given)]


def repeat(options: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    """Return the command line of `whylight train` that repeats a trial.

    Args:
        options: Those of the search, by the names of the parameters of `train`.
        parameters: What was drawn.
    """
    known = inspect.signature(train).parameters
    objectives = {text.partition("=")[0]: text for text in options["objective"]}
    objectives |= {name: f"{name}={value}" for name, value in parameters.items() if name in objectives}
    settings: dict[str, Any] = dict(parse_settings(options["settings"] or []))
    settings |= {name: value for name, value in parameters.items() if name not in known and name not in objectives}
    values = {**options, **{name: value for name, value in parameters.items() if name in known}}
    values |= {"objective": list(objectives.values()), "settings": [f"{n}={value}" for n, value in settings.items()]}
    values["out"] = options["out"] / "again"
    words = ["whylight", "train"]
    for name, parameter in known.items():
        if name in WHERE:
            continue
        value = values.get(name, parameter.default)
        if value not in (parameter.default, None, []):
            flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
            each = value if isinstance(value, list) else [value]
            words += [flag] if value is True else [word for one in each for word in (flag, str(one))]
    # a worker has one thread, and the number of threads shows in the last digits
    by_workers = any(options.get(name) not in (None, known[name].default) for name in WHERE)
    return f"{'OMP_NUM_THREADS=1 ' if by_workers else ''}{shlex.join(words)}"


def _records(trials: "Sequence[TriedRecipe]") -> list[dict[str, Any]]:
    """Return one flat record per trial; what one has not is None."""
    figures = dict.fromkeys(name for one in trials for name in one.figures)
    return [
        {"trial": one.number, "state": one.state, "value": one.value, **one.parameters, **figures, **one.figures}
        for one in trials
    ]


def _print_table(found: "Tuned") -> None:
    from whylight.training.search import FIGURES  # noqa: PLC0415

    minimised = f"-{found.minimised}" if found.minimised in FIGURES else found.minimised
    best = found.trials[0].figures
    shown: list[str] = [name for name in ("accuracy", "micro_f1", "document_average_precision") if name in best]
    shown += ["rest"] if best["rest"] else []
    title = f"{len(found.trials)} trials, the best in {found.folder}"
    rows = []
    for one in found.trials[:SHOWN]:
        drawn = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in one.parameters.values()]
        figures = [f"{one.figures[name]:.4f}" if name in one.figures else "-" for name in shown]
        rows.append([str(one.number), *drawn, _value(one), *figures])
    names = (*found.trials[0].parameters, f"{minimised} ↓", *shown)
    print_columns([Column("trial", "key"), *map(Column, names)], rows, title=title)
    say(f"{minimised} is minimised: {found.receipt['trial']['because']}.", style="dim")


def _value(trial: "TriedRecipe") -> str:
    from whylight.training.trainer import UNMET  # noqa: PLC0415

    if trial.value is None:
        return trial.state
    shown = f"unmet: {trial.value - UNMET:.4f}" if trial.value >= UNMET else f"{trial.value:.4f}"
    return shown if trial.state == "complete" else f"{shown} ({trial.state})"


_own = {name: one for name, one in inspect.signature(tune).parameters.items() if name != "options"}
_first, *_shared = (one for name, one in inspect.signature(train).parameters.items() if name not in (*_own, *LEFT_OUT))
tune.__dict__["__signature__"] = inspect.Signature([_first, *_own.values(), *_shared])  # what the command line reads
tune.__doc__ = f"{tune.__doc__}\n{EXAMPLES}"
