"""SQL over the folder of a run, by DuckDB: the tables of texts that are done, as views.

`explanations`, `scores`, `curves`, `texts` and `timings` are read from the parts that count, and from no others. A
statement may do nothing but read, and nothing but the folder: SQL that came from elsewhere can neither write a file nor
look into one.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError, SettingError
from whylight.store import parts, runs, tables

VIEWS = {**parts.SCHEMAS, parts.COMMITS: tables.TEXTS, parts.TIMINGS: tables.TIMINGS}
SHOWN = 300
"""Characters of DuckDB's complaint that are repeated."""


def query(folder: Path | str, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Ask a run something in SQL; names of the columns, and rows.

    Args:
        folder: The folder of a run.
        sql: One statement that reads, e.g. `select method, count(*) from explanations group by method`.

    Raises:
        InputError: DuckDB is not there, or the folder holds no run.
        SettingError: The statement is wrong, or does more than read the run.
    """
    try:
        duckdb = import_module("duckdb")
    except ImportError:
        raise InputError(
            "`whylight query` needs DuckDB, which is not installed: pip install 'whylight[query]'."
        ) from None
    place = Path(folder).resolve()
    manifest = runs.manifest_in(place)
    if manifest is None:
        raise InputError(f"'{folder}' holds no run; `whylight run --out` makes one.")
    if not _is_whole(sql) or not _is_whole(str(place)):
        raise SettingError("DuckDB reads whole characters, and the folder or the statement holds half of one.")
    with duckdb.connect() as connection:
        try:
            for name, own in _files(place, manifest).items():
                connection.execute(_view(name, own))
            connection.execute("set allowed_directories = [?]", [f"{place}/"])
            connection.execute("set enable_external_access = false")
            connection.execute("set lock_configuration = true")
            if [one.type for one in connection.extract_statements(sql)] != [duckdb.StatementType.SELECT]:
                raise SettingError("a query is one statement that reads: select ... from explanations.")
            found = connection.execute(sql)
            names = [one[0] for one in found.description or ()]
            return names, found.fetchall()
        except duckdb.Error as error:
            reason = " ".join(str(error).split())[:SHOWN].rstrip(".")
            raise SettingError(f"DuckDB says: {reason}.") from None


def _is_whole(text: str) -> bool:
    """Say whether a text holds no half of a character, which DuckDB would fail on."""
    return not any("\ud800" <= one <= "\udfff" for one in text)


def _files(folder: Path, manifest: runs.Manifest) -> dict[str, list[str]]:
    """Return the files of each table that count."""
    found: dict[str, list[str]] = {name: [] for name in VIEWS}
    for one in parts.each_that_counts(folder, manifest.earlier):
        for name in VIEWS:
            path = parts.path_of(folder / name, one.stem)
            if name in (parts.COMMITS, parts.TIMINGS) or one.rows[name]:
                found[name] += [str(path)] if path.exists() else []
    return found


def _view(name: str, own: list[str]) -> str:
    if not own:
        columns = ", ".join(f"null as {field.name}" for field in VIEWS[name])
        return f"create view {name} as select {columns} where false"
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in own)
    return f"create view {name} as select * from read_parquet([{listed}])"  # noqa: S608  paths are quoted
