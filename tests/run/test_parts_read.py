"""Reading parts: one at a time, by this package and others, and folders of earlier versions as well."""

import json
from pathlib import Path

import pandas as pd
import pytest
from test_folder import MEASURED, TABLES, evaluate
from test_parts import tuned

import run_rows
import whylight as wl
from whylight.core.errors import InputError
from whylight.report.run_page import run_page
from whylight.run import growing
from whylight.run.compare import compare_rows, select
from whylight.run.corpus import corpus_summary, measures_of
from whylight.run.summary import BLOCK, interval, summarise
from whylight.store import parts, runs, tables
from whylight.store.tables import Row


def test_rows_that_are_read_one_part_at_a_time_are_those_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing, "MOST_TEXTS", 2)
    stored, kept = tuned(tmp_path / "run"), tuned(None)
    for name in ("explanations", "scores", "curves", "tuning"):
        lazy, plain = getattr(stored, name), getattr(kept, name)
        untimed = [timeless(row) for row in plain]
        assert [timeless(row) for row in lazy] == untimed
        assert [timeless(row) for row in lazy] == untimed  # as often as one likes
        assert len(lazy) == len(plain) > 4
        for index in (0, 3, -1, -len(plain)):
            assert timeless(lazy[index]) == untimed[index]
        for cut in (slice(None), slice(1, 4), slice(-3, None), slice(None, None, -2), slice(5, 1)):
            assert [timeless(row) for row in lazy[cut]] == untimed[cut]
        assert lazy == list(lazy)
        assert lazy != list(lazy)[1:]
        for index in (len(plain), -len(plain) - 1):
            with pytest.raises(IndexError):
                lazy[index]
    one, other = ([{**r, **dict.fromkeys(MEASURED)} for r in found.records()] for found in (stored, kept))
    assert one == other
    assert stored.rows_run == kept.rows_run


def timeless(row: Row) -> Row:
    return {
        key: [*map(list, value)] if key == "places" else value
        for key, value in row.items()
        if key not in (*MEASURED, "run")
    }


def test_one_part_is_in_memory_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "MOST_TEXTS", 1)
    found, opened = evaluate(tmp_path), []
    real = tables.read_table
    monkeypatch.setattr(
        tables, "read_table", lambda path, *rest, **more: opened.append(path) or real(path, *rest, **more)
    )
    assert len(found.scores) == 66
    assert opened == []  # lengths are known
    walk = iter(found.scores)
    next(walk)
    assert len(opened) == 1
    assert found.scores[-1]["example_id"] == "test-5"
    assert len(opened) == 2
    assert len(list(walk)) == len(found.scores) - 1
    assert len(opened) == 7


def test_a_part_that_vanishes_or_changes_while_it_is_read_is_one_sentence(tmp_path: Path) -> None:
    found = evaluate(tmp_path)
    (path,) = (tmp_path / "scores").iterdir()
    tables.write(path, list(found.scores)[1:], tables.SCORES)
    with pytest.raises(InputError, match="has 65 rows, and had 66; something else writes in the folder"):
        list(found.scores)
    path.unlink()
    with pytest.raises(InputError, match=r"cannot read .*: No such file"):
        list(found.scores)


def test_tables_are_made_in_one_pass_over_rows() -> None:
    explanations, scores = run_rows.example_rows()
    assert summarise(iter(explanations), iter(scores)) == summarise(explanations, scores)
    one, other = (corpus_summary(kind(explanations), kind(explanations), measures_of({})) for kind in (iter, list))  # type: ignore[operator]
    assert one == other
    left, right = (select(iter(scores), name) for name in ("occlusion", "lime"))
    assert compare_rows(iter(left), iter(right)) == compare_rows(left, right)


def test_an_interval_does_not_depend_on_how_much_is_drawn_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    values = pd.Series(range(37)).to_numpy(dtype=float) ** 1.5
    whole = interval(values)
    assert len(values) * 2000 < BLOCK
    left = run_rows.example_rows()[1]
    verdict = compare_rows(select(left, "occlusion"), select(left, "lime"))
    monkeypatch.setattr("whylight.run.summary.BLOCK", 101)
    assert interval(values) == whole
    assert compare_rows(select(left, "occlusion"), select(left, "lime")) == verdict


def test_other_libraries_read_a_folder_of_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "MOST_TEXTS", 4)
    found = evaluate(tmp_path)
    frame = pd.read_parquet(tmp_path / "scores")
    assert frame.astype(object).where(frame.notna(), None).to_dict("records") == found.scores
    globbed = pd.concat(map(pd.read_parquet, sorted((tmp_path / "explanations").glob("*.parquet"))), ignore_index=True)
    assert [*globbed["example_id"]] == [row["example_id"] for row in found.explanations]
    assert [one.tolist() for one in globbed["scores"]] == [row["scores"] for row in found.explanations]
    texts = wl.dataset(tmp_path / "explanations")
    assert [record.example.text for record in texts] == [row["text"] for row in found.explanations]


def earlier(folder: Path, source: Path, *, done: bool, spans: bool) -> None:
    """Write a run in the form of an earlier version: one file per table, with a list of what is done or without."""
    stored = runs.read(source)
    assert stored.about is not None
    assert stored.commits is not None
    folder.mkdir()
    kinds = {"explanations": stored.explanations, "scores": stored.scores, "curves": stored.curves}
    for name, own in kinds.items():
        made, schema = list(own), TABLES[name]
        if spans and name == "explanations":
            made = [with_spans(row) for row in made]
            for column in ("kind", "input", "model", "remover_settings", "prediction", "probabilities", "places"):
                schema = schema.remove(schema.get_field_index(column))
            for column in ("parts", "starts", "ends"):
                schema = schema.append(tables.pa.field(column, tables.pa.list_(tables.pa.int64())))
            schema = schema.remove(schema.get_field_index("completeness_gap"))
        tables.write(folder / f"{name}.parquet", made, schema)
    about = {"run": stored.about.run, "asked": json.dumps(stored.about.asked), "rows_run": 1, "seconds": 1.0}
    listed = list(parts.stored_rows(source, stored.commits, "texts")) if done else None
    schema = tables.RUNS if done else tables.RUNS.remove(tables.RUNS.get_field_index("done"))
    tables.write(folder / "runs.parquet", [about | {"peak_megabytes": None, "done": listed}], schema)


def with_spans(row: Row) -> Row:
    part, start, end = (list(column) for column in zip(*row["places"], strict=True))
    return {**row, "parts": part, "starts": start, "ends": end}


@pytest.mark.parametrize(("done", "spans"), [(True, False), (False, False), (False, True)])
def test_folders_of_earlier_versions_open_and_are_not_written_in(*, done: bool, spans: bool, tmp_path: Path) -> None:
    now = evaluate(tmp_path / "now")
    earlier(tmp_path / "old", tmp_path / "now", done=done, spans=spans)
    before = {path: path.read_bytes() for path in (tmp_path / "old").iterdir()}
    stored = runs.read(tmp_path / "old")
    assert [row["value"] for row in stored.scores] == [row["value"] for row in now.scores]
    assert [row["places"] for row in stored.explanations] == [row["places"] for row in now.explanations]
    assert "occlusion" in run_page(tmp_path / "old")
    with pytest.raises(
        InputError, match=r"of an earlier version, which is read .* but not continued; name another folder"
    ):
        evaluate(tmp_path / "old")
    assert {path: path.read_bytes() for path in (tmp_path / "old").iterdir()} == before


def test_a_text_that_an_earlier_version_left_half_done_is_left_out(tmp_path: Path) -> None:
    now = evaluate(tmp_path / "now")
    earlier(tmp_path / "old", tmp_path / "now", done=True, spans=False)
    tables.write(tmp_path / "old" / "scores.parquet", list(now.scores)[:-1], tables.SCORES)
    assert {row["example_id"] for row in runs.read(tmp_path / "old").explanations} == {f"test-{i}" for i in range(5)}


def test_the_folder_knows_what_each_text_took(tmp_path: Path) -> None:
    found = evaluate(tmp_path)
    frame = pd.read_parquet(tmp_path / "texts")
    took = pd.read_parquet(tmp_path / "timings")
    assert list(took["number"]) == list(frame["number"])
    assert list(frame["number"]) == list(range(6))
    assert not frame["tuning"].any()
    assert found.seconds == took["seconds"].sum() > 0
    assert found.peak_megabytes == took["peak_megabytes"].max() > 0
    assert found.rows_run == took["rows_run"].sum()
    assert [one for own in took["explained"] for one in own] == [row["seconds"] for row in found.explanations]
    assert frame["scores"].sum() == len(found.scores)
