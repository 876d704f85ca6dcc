"""Oxford-IIIT Pets: photos of cats and dogs by breed, with masks of the animal.

Layout: `labels.csv` (columns `file`, `breed` and perhaps `imagenet_index`), `images/FILE` and `trimaps/FILE.png`, in
which 1 is the animal, 2 the background and 3 the border between them. Rationale: the animal, and with `border=true` its
border as well. `label=imagenet_index` calls labels by their number in ImageNet, for models that know its 1,000 classes.

Reference: Parkhi et al. 2012.
"""

from pathlib import Path
from typing import Literal

from whylight.core.errors import InputError
from whylight.data import _reading
from whylight.data._checks import Flaw, quotable
from whylight.data._reading import Reading
from whylight.data._tables import delimited_cells
from whylight.data.dataset import Dataset, Record
from whylight.data.images import HERE, TABLE, found_in, rationale_of
from whylight.data.pictures import image, numbers_in
from whylight.data.registry import corpus

ANIMAL, BORDER = 1, 3
NOTE = "rationale: the animal, from trimaps"


@corpus(cite="parkhi2012", splits=("test",))
def pets(
    path: Path,
    split: str,
    reading: Reading,
    *,
    label: Literal["breed", "imagenet_index"] = "breed",
    border: bool = False,
) -> Dataset:
    """Photos of cats and dogs, with masks of the animal."""
    file = _reading.find_file(path, TABLE)
    rows = delimited_cells(file, reading, ",")
    head = [name.strip() for name in next(rows, (0, [""]))[1]]
    if not {"file", label} <= set(head):
        raise InputError(f"the first line of '{quotable(file)}' must name the columns 'file' and '{label}'.")
    records = []
    for number, cells in rows:
        row = dict(zip(head, (cell.strip() for cell in cells), strict=False))
        try:
            records.append(_record(path, row.get("file", ""), row.get(label, ""), border=border))
        except InputError as flaw:
            reading.drop(file, number, flaw)
    names = tuple(sorted({name for record in records for name in record.labels}))
    return Dataset("pets", split, names, tuple(records), notes=(NOTE,))


def _record(path: Path, name: str, label: str, *, border: bool) -> Record:
    if not name or not label:
        raise Flaw("names no file, or no label")
    picture = image(found_in(path, name, HERE, "images"), name=name)
    kinds = numbers_in(found_in(path, f"{Path(name).stem}.png", "trimaps", HERE))
    if kinds.shape != (picture.height, picture.width):
        raise Flaw(f"has a trimap of another size than its picture '{quotable(name)}'")
    marked = (kinds == ANIMAL) | ((kinds == BORDER) & border)
    return Record(name, picture, (label,), rationale_of(label, marked))
