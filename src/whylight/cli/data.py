"""The data that commands are asked about, how they are called in a file, and what is said of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whylight.cli.completion import complete_data
from whylight.cli.settings import parse_settings
from whylight.core.errors import SettingError
from whylight.explaining.console import complain

if TYPE_CHECKING:
    from whylight.data.dataset import Dataset

Data = Annotated[
    str,
    typer.Option(
        help="CORPUS:PATH, or the path of a .jsonl, .csv, .tsv, .parquet or .txt file.", autocompletion=complete_data
    ),
]
DropBroken = Annotated[
    bool, typer.Option("--drop-broken", help="Leave out records that cannot be read, and say which; do not stop.")
]
TextColumn = Annotated[
    str | None,
    typer.Option("--text-column", metavar="NAME", help="Column of the texts in a table. [dim]\\[default: text][/]"),
]
PairColumn = Annotated[
    str | None,
    typer.Option("--pair-column", metavar="NAME", help="Column of the second texts. [dim]\\[default: pair][/]"),
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--label-column", metavar="NAME", help="Column of the labels. [dim]\\[default: label or labels][/]"),
]
RationaleColumn = Annotated[
    str | None,
    typer.Option(
        "--rationale-column", metavar="NAME", help="Column of what people marked. [dim]\\[default: rationale][/]"
    ),
]
MapLabel = Annotated[
    list[str] | None,
    typer.Option(
        "--map-label",
        metavar="LABEL=NAME",
        help="What a label of the data is called in the model, e.g. 2=joy; repeat it for every label.",
    ),
]
DataSettings = Annotated[
    list[str] | None, typer.Option("--data-set", metavar="NAME=VALUE", help="Setting of the corpus.")
]
COLUMNS = ("text_column", "pair_column", "label_column", "rationale_column")


def read_data(data: str, *, split: str, options: Mapping[str, Any], labelled: bool = True) -> "Dataset":
    """Load the data of a command.

    Args:
        data: What the user names.
        split: The split.
        options: The options of the command, by the names of its parameters: those above.
        labelled: Whether the command needs labels; else texts without any will do, in files that may have none.
    """
    from whylight.data.load import dataset, has_setting  # noqa: PLC0415  numpy loads only when it is needed

    given: dict[str, Any] = dict(parse_settings(options["data_settings"] or []))
    for name, own in {"split": "--split", "labels": "--map-label"}.items():
        if name in given:
            raise SettingError(f"--data-set sets what a corpus has; '{name}' has an option of its own, {own}.")
    given |= {name: options[name] for name in COLUMNS if options[name] is not None}
    if options["drop_broken"]:
        given["drop_broken"] = True
    if not labelled and has_setting(data, "unlabelled"):
        given.setdefault("unlabelled", True)
    return dataset(data, split=split, labels=parse_label_map(options["map_label"]), **given)


def parse_label_map(given: list[str] | None) -> dict[str, str] | None:
    """Turn LABEL=NAME arguments into a map, or None if there are none."""
    names: dict[str, str] = {}
    for one in given or []:
        label, equals, name = (part.strip() for part in one.partition("="))
        if not (label and equals and name):
            raise SettingError(f"--map-label takes LABEL=NAME, e.g. --map-label 2=joy, not '{one}'.")
        if names.setdefault(label, name) != name:
            raise SettingError(f"--map-label has two names for '{label}': {names[label]}, {name}.")
    return names or None


def say_losses(*data: "Dataset") -> None:
    """Say what is in the files but not in the records, which no table shows."""
    for one in data:
        for note in one.losses:
            complain(f"{one.name} {one.split}, {note}.")
