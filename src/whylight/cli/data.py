"""The data that commands are asked about, and what is said of them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from whylight.cli.explain import parse_settings
from whylight.core.errors import SettingError
from whylight.explaining.console import complain

if TYPE_CHECKING:
    from whylight.data.dataset import Dataset

DropBroken = Annotated[
    bool, typer.Option("--drop-broken", help="Leave out records that cannot be read, and say which; do not stop.")
]


def read_data(data: str, *, split: str, settings: list[str] | None, drop_broken: bool) -> "Dataset":
    """Load the data of a command; `settings` are those of `--data-set`."""
    from whylight.data.load import dataset  # noqa: PLC0415  numpy loads only when it is needed

    given: dict[str, Any] = dict(parse_settings(settings or []))
    if "split" in given:
        raise SettingError("--data-set sets what a corpus has; the split has an option of its own.")
    if drop_broken:
        given["drop_broken"] = True
    return dataset(data, split=split, **given)


def say_losses(*data: "Dataset") -> None:
    """Say what is in the files but not in the records, which no table shows."""
    for one in data:
        for note in one.losses:
            complain(f"{one.name} {one.split}, {note}.")
