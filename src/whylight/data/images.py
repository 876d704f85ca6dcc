"""Pictures of your own, each with its label and perhaps a mask of what people marked.

Layout, one of these:

- a folder with `labels.csv` (columns `file` and `label`, and perhaps `mask`), which names files in the folder itself
  or else in its folder `images`; masks lie in its folder `masks`, or else in the folder itself, and are as large as
  their pictures (PNG, BMP, GIF, PPM or TIFF: in other formats black may not stay black);
- a folder with one folder of pictures per label, as ImageNet has.

What is not black in a mask is marked for the label of its picture. There is one split, `test`, unless the folder holds
folders of that name (`train`, `dev`, `test`), which then hold the layout.
"""

from collections.abc import Iterator
from pathlib import Path

from whylight.core.arrays import Bools
from whylight.core.errors import InputError
from whylight.core.image import Image, runs_of
from whylight.core.rationale import Rationale
from whylight.data import _reading
from whylight.data._checks import Flaw, quotable
from whylight.data._reading import Reading
from whylight.data._tables import delimited_cells
from whylight.data.dataset import Dataset, Record
from whylight.data.pictures import image, is_drawn
from whylight.data.registry import corpus

TABLE = "labels.csv"
SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp"}
ONLY, HERE = "test", "."


@corpus(cite="")
def images(path: Path, split: str, reading: Reading) -> Dataset:
    """Pictures in a folder, by a table or by folders of their labels."""
    folder = path / split if (path / split).is_dir() else path
    if folder == path and split != ONLY:
        raise InputError(f"'{quotable(path)}' has no folder '{split}'; without such folders its split is '{ONLY}'.")
    rows = _by_table(folder, reading) if (folder / TABLE).is_file() else _by_folders(folder, reading)
    records = tuple(rows)
    if not records:
        raise InputError(f"'{quotable(folder)}' holds no pictures: neither {TABLE} nor folders of pictures.")
    names = tuple(sorted({label for record in records for label in record.labels}))
    return Dataset(path.name or "images", split, names, records)


def _by_table(folder: Path, reading: Reading) -> Iterator[Record]:
    """Yield what the lines of the table name."""
    file = folder / TABLE
    rows = delimited_cells(file, reading, ",")
    head = [name.strip() for name in next(rows, (0, [""]))[1]]
    if not {"file", "label"} <= set(head):
        raise InputError(f"the first line of '{quotable(file)}' must name the columns 'file' and 'label'.")
    for number, cells in rows:
        row = dict(zip(head, (cell.strip() for cell in cells), strict=False))
        try:
            yield _record(folder, row)
        except InputError as flaw:
            reading.drop(file, number, flaw)


def _record(folder: Path, row: dict[str, str]) -> Record:
    name, label, mask = row.get("file", ""), row.get("label", ""), row.get("mask", "")
    if not name or not label:
        raise Flaw("names no file, or no label")
    file = found_in(folder, name, HERE, "images")
    picture = image(file, name=name)
    if not mask:
        return Record(name, picture, (label,))
    drawn = found_in(folder, mask, "masks", HERE)
    if drawn == file:
        raise Flaw(f"names '{quotable(name)}' as its own mask")
    return Record(name, picture, (label,), rationale_of(label, marked_in(drawn, picture)))


def _by_folders(folder: Path, reading: Reading) -> Iterator[Record]:
    """Yield the pictures of each folder, whose name is their label."""
    if not folder.is_dir():
        said = f"give the folder that holds {TABLE}, or folders of pictures"
        raise InputError(f"'{quotable(folder)}' does not exist; {said}.")
    for own in sorted(one for one in folder.iterdir() if one.is_dir()):
        files = sorted(one for one in own.iterdir() if one.suffix.lower() in SUFFIXES)
        for number, file in enumerate(files, start=1):
            try:
                yield Record(f"{own.name}/{file.name}", image(file), (own.name,))
            except InputError as flaw:
                reading.drop(own, number, flaw, unit="picture")


def found_in(folder: Path, name: str, *places: str) -> Path:
    """Return the file that a line names, in the first of some places in a folder where there is one.

    Masks may be called as their pictures: in the folder itself they are looked for last.
    """
    found = next((file for place in places if (file := _reading.inside(folder, str(Path(place) / name)))), None)
    if found is None:
        raise Flaw(f"names '{quotable(name)}', which is not there")
    return found


def marked_in(mask: Path, picture: Image) -> Bools:
    """Return what is not black in a mask, `[height, width]`."""
    found = is_drawn(mask)
    if found.shape != (picture.height, picture.width):
        height, width = found.shape
        raise Flaw(
            f"has a mask of {width} x {height} pixels for a picture of {picture.width} x {picture.height}; "
            "they must be alike"
        )
    return found


def rationale_of(label: str, marked: Bools) -> dict[str, Rationale]:
    """Return what is marked as the rationale of a label; nothing, if nothing is."""
    return {label: Rationale(runs_of(marked))} if marked.any() else {}
