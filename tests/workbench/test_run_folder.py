"""A run in front of reviewers: its explanations are used where they are what would be made, and not otherwise."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whylight as wl
import workbench_app
from whylight.core.errors import WhylightError
from whylight.core.text import text_of
from whylight.data.dataset import Dataset, Record
from whylight.explaining.options import Options
from whylight.workbench.bench import make_bench
from whylight.workbench.database import open_database
from whylight.workbench.run_folder import open_run
from workbench_app import TEXTS

METHODS = ("occlusion", "random", "lime[samples=20]")


def model(**options: Any) -> Any:
    given = {"labels": ["bad", "fever"], "identity": "rule-1", "head": "sigmoid", **options}
    return wl.load(workbench_app.rule, **given)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    wl.evaluate(model(), workbench_app.documents(), methods=["occlusion", "lime[samples=20]"], metrics=[], out=run)
    return run


def bench(tmp_path: Path, classifier: Any, folder: Path, *, methods: Any = None, data: Any = None) -> Any:
    known = open_run(folder)
    records = data or known.documents()
    url = workbench_app.sqlite(tmp_path)
    own = make_bench(open_database(url), classifier, records, methods=methods or known.methods, password=None)
    return known, own


def test_the_texts_and_methods_are_those_of_the_run(tmp_path: Path, folder: Path) -> None:
    known, own = bench(tmp_path, model(), folder)
    assert [text_of(one.example).text for one in known.documents()] == list(TEXTS)
    with pytest.raises(WhylightError, match="'rule-1', which is no folder here"):
        _ = known.model
    assert own.desk.methods == ("occlusion", "lime[samples=20]")


def test_its_explanations_are_used_and_the_model_is_not_asked_again(tmp_path: Path, folder: Path) -> None:
    asked: list[str] = []

    def counting(texts: Any) -> Any:
        asked.extend(texts)
        return workbench_app.rule(texts)

    classifier = wl.load(counting, labels=["bad", "fever"], identity="rule-1", head="sigmoid")
    known, own = bench(tmp_path, classifier, folder)
    taken = known.lend(own.desk)
    assert taken.explanations == 2 * 2  # two texts have a predicted label
    assert taken.reasons == {}
    third = own.journal.document(3)
    predicted = list(own.desk.prediction(third.text).predicted)
    asked.clear()
    found = own.desk.explanation(third.text, "lime[samples=20]", predicted)
    assert asked == []
    fresh = wl.explain(model(), TEXTS[2], method="lime[samples=20]", target=predicted)
    np.testing.assert_allclose(found.scores, fresh.scores)
    assert found.provenance.settings == fresh.provenance.settings
    assert [one.label for one in found.targets] == [one.label for one in fresh.targets]
    assert known.lend(own.desk).explanations == taken.explanations  # the same again is no error


def test_another_model_or_other_settings_take_nothing_over(tmp_path: Path, folder: Path) -> None:
    other = wl.load(workbench_app.rule, labels=["bad", "fever"], identity="rule-2", head="sigmoid")
    known, own = bench(tmp_path, other, folder)
    assert (known.lend(own.desk).explanations, own.desk.findings.explanation("x")) == (0, None)
    assert "another model" in known.lend(own.desk).reasons[""]
    liar = wl.load(lambda texts: [[0.6, 0.9]] * len(texts), labels=["bad", "fever"], identity="rule-1", head="sigmoid")
    (tmp_path / "other").mkdir()
    known, own = bench(tmp_path / "other", liar, folder)
    assert set(known.lend(own.desk).reasons) == {"occlusion", "lime[samples=20]"}  # the same name, other scores


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"options": Options(unit="sentence")}, "scores"),
        ({"remover": "pad"}, "settings"),
        ({"options": Options(long="truncate")}, "long"),
        ({"settings": {"window": 2}}, "scores"),
    ],
)
def test_what_was_asked_otherwise_is_made_anew(tmp_path: Path, options: dict[str, Any], reason: str) -> None:
    run, classifier = tmp_path / "run", wl.load()
    data = Dataset("x", "test", (), (Record("a", wl.Text("a gripping, moving film"), ()),))
    wl.evaluate(classifier, data, methods=["occlusion"], metrics=[], out=run, **options)
    known, own = bench(tmp_path, classifier, run)
    taken = known.lend(own.desk)
    assert taken.explanations == 0
    assert reason in str(taken.reasons)


def test_signs_are_lent_to_rows_of_methods_without_one(tmp_path: Path) -> None:
    run, classifier = tmp_path / "run", wl.load()
    data = Dataset("x", "test", (), (Record("a", wl.Text("a gripping film, though it drags"), ()),))
    wl.evaluate(classifier, data, methods=["attingrad"], metrics=[], out=run)
    known, own = bench(tmp_path, classifier, run)
    assert known.lend(own.desk).explanations == 1
    text = own.journal.document(1).text
    found = own.desk.explanation(text, "attingrad", list(own.desk.prediction(text).predicted))
    fresh = wl.explain(classifier, text, method="attingrad")
    assert found.signs is not None
    assert found.signs.method == fresh.signs.method
    np.testing.assert_array_equal(found.signs.supports, fresh.signs.supports)


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"form": 4, "run": "x", "asked": null}', b"\xff", b"[]"])
def test_a_folder_that_is_no_run_is_refused_in_a_sentence(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(WhylightError):
        open_run(tmp_path)


def test_hostile_parts_are_refused_in_a_sentence(folder: Path) -> None:
    (part,) = (folder / "explanations").iterdir()
    part.write_bytes(part.read_bytes()[:50])
    with pytest.raises(WhylightError):
        open_run(folder).documents()
    part.unlink()
    part.symlink_to("/etc/passwd")
    with pytest.raises(WhylightError):
        open_run(folder).documents()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("prediction", "{"),
        ("prediction", "[" * 100_000),
        ("prediction", '{"predicted": ["x"], "index": 0, "label": "", "probability": 1}'),
        ("settings", "[" * 100_000),
        ("settings", '"x"'),
        ("places", [[0, -5, 10**12]]),
        ("places", [[7, 0, 1]]),
        ("scores", []),
        ("scores", [float("nan")] * 99),
        ("target", 10**9),
        ("kind", "../../etc/passwd"),
        ("kind", "image"),
        ("input", "{}["),
        ("input", '{"words": [[0, 0, "x"]]}'),
    ],
)
def test_rows_that_lie_are_refused_or_left_aside(folder: Path, tmp_path: Path, column: str, value: Any) -> None:
    (part,) = (folder / "explanations").iterdir()
    table = pq.read_table(part)
    rows = [{**row, column: value} for row in table.to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), part)
    taken: Any = None
    said = "refused"
    with suppress(WhylightError):
        known, own = bench(tmp_path, model(), folder)
        taken = known.lend(own.desk)
        said = "left aside"
    assert said == "refused" or taken.explanations == 0
