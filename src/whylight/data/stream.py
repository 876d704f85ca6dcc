"""Data that is read as it is worked on: any number of records, in the memory of a few.

    data = stream("reviews/*.jsonl.gz")
    for record in data.records(): ...

A path is a file or folder as `wl.dataset` takes it, a pattern (`parts/*.parquet`), or an address that fsspec knows
(`s3://bucket/reviews/*.jsonl`): such files are copied here one at a time, and removed when they are read. What is not a
file of one's own (`sst:PATH`, `hf:NAME`) is read at once, as `wl.dataset` does.

An id that stands twice is refused where it comes for the second time (`data/_seen.py`): of files, named or behind an
address, the second record is left out with other broken ones where these are; of a named corpus and of data in memory
it is refused in any case, since there is no line that could be told. What is left out is counted in a `Reading`.
"""

import glob
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError, SettingError
from whylight.core.inputs import JsonValue
from whylight.data._checks import Flaw
from whylight.data._columns import Named
from whylight.data._reading import Reading
from whylight.data._seen import Seen
from whylight.data._tables import ENDINGS, LINES, ends_in
from whylight.data.dataset import Dataset, Record, relabelled_record
from whylight.data.files import SPLIT_FILES, files_of_split, table_of
from whylight.data.load import ALIASES, BOUNDS, has_setting, label_map, read_corpus, reading_rules, which_corpus

ADDRESS = "://"
PATTERN = "*?["
ANY_SIZE = 2**62
_BLOCK = 2**22


@dataclass(frozen=True, slots=True)
class Stream:
    """Data that is read as it is worked on.

    Attributes:
        spec: What the user names.
        split: The split.
        drop_broken: Whether records that cannot be read are left out.
        labels: What labels are called in the model.
        settings: Settings of the corpus.
        whole: The data, where it is in memory already.
    """

    spec: str
    split: str = "test"
    drop_broken: bool = False
    labels: Mapping[str, str] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    whole: Dataset | None = None

    def described(self) -> dict[str, JsonValue]:
        """Return what people call it, and what reads it again."""
        if self.whole is not None:
            return self.whole.described()
        own: dict[str, JsonValue] = {"name": self.spec, "split": self.split, "settings": dict(self.settings)}
        return {**own, "drop_broken": self.drop_broken, "labels": None if self.labels is None else dict(self.labels)}

    def reading(self) -> Reading:
        """Return how files are read: within which bounds, and what was dropped."""
        given = {name: self.settings[name] for name in BOUNDS if name in self.settings}
        return reading_rules({"drop_broken": self.drop_broken, "max_file_bytes": ANY_SIZE, **given})

    def records(self, reading: Reading | None = None) -> Iterator[Record]:
        """Yield the records in their order; as often as one likes.

        Args:
            reading: Where to count what is dropped, `.reading()`.

        Raises:
            InputError: It cannot be read, or there is none.
        """
        empty = True
        with Seen() as seen:
            for record in self._read(reading or self.reading(), lambda one: seen.add(one.id)):
                empty = False
                yield record if self.labels is None else relabelled_record(record, self.labels)
        if empty:
            raise InputError(f"there is no record in the split '{self.split}' of '{self.spec}'.")

    def _read(self, reading: Reading, check: Callable[[Record], None]) -> Iterator[Record]:
        if self.whole is not None:
            yield from self._whole(self.whole, check)
            return
        given = {name: own for name, own in self.settings.items() if name not in BOUNDS}
        if not _is_files(self.spec):
            yield from self._whole(read_corpus(self.spec, self.split, reading, given), check)
        else:
            named = Named(*(given.pop(f"{name}_column", None) for name in ("text", "pair", "label", "rationale")))
            names = SPLIT_FILES.get(ALIASES.get(self.split, self.split), (self.split,))
            table = table_of(names[0], named, **_checked(given))
            yield from table.records_in(_files(self.spec, names), reading, check=check)

    def _whole(self, data: Dataset, check: Callable[[Record], None]) -> Iterator[Record]:
        for number, record in enumerate(data, start=1):
            try:
                check(record)
            except Flaw as flaw:
                raise InputError(f"record {number} of '{data.name}' ({data.split}) {flaw}.") from None
            yield record

    def count(self) -> int | None:
        """Return how many records there are at most, where that is quickly said."""
        if self.whole is not None:
            return len(self.whole)
        if ADDRESS in self.spec or not _is_files(self.spec):
            return None
        found = [_rows(file) for file in _files(self.spec, SPLIT_FILES.get(self.split, (self.split,)))]
        return None if None in found else sum(one or 0 for one in found)


def stream(
    spec: str | Path | Dataset,
    /,
    *,
    split: str = "test",
    drop_broken: bool = False,
    labels: Mapping[Any, str] | None = None,
    **settings: Any,  # noqa: ANN401  as `wl.dataset` has it
) -> Stream:
    """Name data that is read as it is worked on; arguments are those of `wl.dataset`.

    A data set in memory is one as well.
    """
    if isinstance(spec, Dataset):
        return Stream(spec.name, spec.split, whole=spec)
    split, names = ALIASES.get(split, split), None if labels is None else label_map(labels)
    found = Stream(str(spec), split, drop_broken, names, settings)
    if ADDRESS not in found.spec and not _is_pattern(found.spec):
        which_corpus(spec)  # a path that does not exist is said now
    return found


def streamed(spec: str) -> bool:
    """Say whether data is a file of one's own, or several, which is read as it is worked on."""
    return _is_files(spec)


def needs_no_labels(data: str | Path | Dataset) -> dict[str, Any]:
    """Return the settings by which texts without a label are read, where the data has such a setting."""
    has = not isinstance(data, Dataset) and (streamed(str(data)) or has_setting(str(data), "unlabelled"))
    return {"unlabelled": True} if has else {}


def _is_pattern(spec: str) -> bool:
    return any(one in spec for one in PATTERN) and not Path(spec).exists()


def _is_files(spec: str) -> bool:
    return ADDRESS in spec or _is_pattern(spec) or which_corpus(spec)[0] == "files"


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in given if name not in ("invalid", "vote", "ignore", "unlabelled")]
    if unknown:
        raise SettingError(f"a file of one's own has no setting '{unknown[0]}'; see `whylight datasets`.")
    return dict(given)


def _files(spec: str, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files that a path, a pattern or an address stands for, in the order of their names."""
    if ADDRESS in spec:
        yield from _fetched(spec)
        return
    path = Path(spec.removeprefix("files:")) if not Path(spec).exists() else Path(spec)
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from files_of_split(path, names)
    else:
        found = sorted(one for one in map(Path, glob.glob(spec)) if one.is_file())  # noqa: PTH207  any pattern
        yield from _of_one_kind(spec, [str(one) for one in found])


def _of_one_kind(spec: str, found: list[str]) -> list[Path]:
    kept = [one for one in found if ends_in(one, *ENDINGS, LINES)]
    if not kept:
        raise InputError(f"no data file is called '{spec}'; one ends in {', '.join((*ENDINGS, LINES))}.")
    if len({Path(one).name.partition(".")[2] for one in kept}) > 1:
        raise InputError(f"the files '{spec}' are of several kinds; they are parts of one table, and of one kind.")
    return [Path(one) for one in kept]


def _fetched(spec: str) -> Iterator[Path]:
    """Yield local copies of files behind an address, one at a time."""
    try:
        core = import_module("fsspec.core")
    except ImportError:
        raise InputError(f"'{spec}' is read with fsspec, which is not installed: pip install fsspec.") from None
    try:
        system, path = core.url_to_fs(spec)
        listed = system.glob(path) if any(one in path for one in PATTERN) else [path]
        if system.isdir(path):
            listed = [one for one in system.ls(path, detail=False) if ends_in(str(one), *ENDINGS, LINES)]
        names = _of_one_kind(spec, sorted(str(one) for one in listed))
        with tempfile.TemporaryDirectory(prefix="whylight-") as folder:
            for name in names:
                copy = Path(folder) / name.name
                system.get_file(name.as_posix(), str(copy))
                yield copy
                copy.unlink()
    except (OSError, ImportError, ValueError) as error:
        raise InputError(f"'{spec}' cannot be read: {str(error).partition(chr(10))[0].rstrip('.')}.") from None


def _rows(file: Path) -> int | None:
    """Return how many rows a file has at most, where that is quickly said."""
    if ends_in(file.name, ".parquet"):
        return int(import_module("pyarrow.parquet").read_metadata(file).num_rows)
    if ends_in(file.name, ".gz"):
        return None
    lines, last = 0, b"\n"
    with file.open("rb") as stream_of_bytes:
        while block := stream_of_bytes.read(_BLOCK):
            lines, last = lines + block.count(b"\n"), block[-1:]
    header = ends_in(file.name, ".csv", ".tsv")
    return lines + (last != b"\n") - header
