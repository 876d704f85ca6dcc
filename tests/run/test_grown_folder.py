"""A folder that is asked for more: nothing is made again, whatever stopped it, and fewer can be asked for."""

import json
import shutil
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grown import LABELS, classifier, contents, decide, run, said, texts
from test_parts import Killed, killing

import whylight as wl
from whylight.core.errors import InputError, ModelError
from whylight.data.dataset import Dataset
from whylight.report.run_page import run_page
from whylight.run import book, measuring, one, shards as evaluating
from whylight.run.evaluate import Question
from whylight.store import parts, runs, tables
from whylight.store.success import SUCCESS
from whylight.study.several import evaluate_several

A, B, C = "aopc_comprehensiveness", "iou", "entropy"
FIRST: dict[str, Any] = {"metrics": [A]}
FEW: dict[str, Any] = {"data": texts(size=2), "methods": ["occlusion"], "metrics": [A]}
MORE: dict[str, Any] = {"methods": ["kernel_shap", "occlusion"], "metrics": [C, A, B]}


@pytest.fixture(scope="module")
def clf() -> Any:
    return classifier()


@pytest.fixture(scope="module")
def whole(clf: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("whole")
    run(clf, folder, **MORE)
    return said(wl.open_run(folder))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What is explained and measured from now on."""
    found: list[tuple[str, ...]] = []
    explain, score, curves = one._by_one_method, measuring._score_row, measuring.perturbation_curves

    def explaining(benches: Any, variant: Any, plan: Any) -> Any:
        found.extend((variant.name, "explained") for _ in benches)
        return explain(benches, variant, plan)

    def scoring(metric: str, settings: Any, value: float, method: str, **rest: Any) -> Any:
        found.append((method, metric))
        return score(metric, settings, value, method, **rest)

    def along(explanation: Any, game: Any) -> Any:
        found.append((explanation.provenance.method, "curve"))
        return curves(explanation, game)

    monkeypatch.setattr(one, "_by_one_method", explaining)
    monkeypatch.setattr(measuring, "_score_row", scoring)
    monkeypatch.setattr(measuring, "perturbation_curves", along)
    return found


def test_only_what_is_missing_is_made(clf: Any, made: list[tuple[str, ...]], tmp_path: Path) -> None:
    run(clf, tmp_path, **FIRST)
    old = {"occlusion", "random", "human"}
    made.clear()
    run(clf, tmp_path, **MORE)
    new = [("kernel_shap", what) for what in ("explained", A, B, C, "curve")]
    assert set(made) == {*new, *((method, metric) for method in old for metric in (B, C))}
    assert made.count(("kernel_shap", "explained")) == len(texts())
    made.clear()
    run(clf, tmp_path, **MORE)
    run(clf, tmp_path, **FIRST)
    run(clf, tmp_path, methods=["kernel_shap"], metrics=[B, "corpus_auprc"])
    assert made == []


def test_who_asks_for_fewer_gets_the_rows_of_what_was_asked(clf: Any, tmp_path: Path) -> None:
    run(clf, tmp_path / "run", **MORE, tune=texts("dev"))
    manifest = (tmp_path / "run" / runs.MANIFEST).read_bytes()
    for number, fewer in enumerate(({"metrics": [A]}, {"metrics": [C, B]}, {"methods": [], "metrics": []})):
        found = run(clf, tmp_path / "run", **fewer)
        assert said(found) == said(run(clf, tmp_path / str(number), **fewer))
        assert len(found.scores) == len(list(found.scores))
        assert not found.scores or found.scores[-1] == list(found.scores)[-1]
    assert (tmp_path / "run" / runs.MANIFEST).read_bytes() == manifest  # what it holds has not become less


def test_what_nobody_asked_for_together_stands_side_by_side(clf: Any, tmp_path: Path) -> None:
    run(clf, tmp_path, methods=["occlusion"], metrics=[A])
    other = run(clf, tmp_path, methods=["kernel_shap"], metrics=[B])
    assert {row["method"] for row in other.explanations} == {"kernel_shap", "random", "human"}
    both = wl.open_run(tmp_path)
    assert {(row["method"], row["metric"]) for row in both.scores} == {
        *(("occlusion", A), ("random", A), ("human", A)),
        *(("kernel_shap", B), ("random", B), ("human", B)),
    }
    assert [line.method for line in both.summary.lines] == ["occlusion", "kernel_shap", "random", "human"]
    assert both.asked["methods"].keys() == {"occlusion", "kernel_shap", "random"}  # type: ignore[attr-defined]
    assert "kernel_shap" in run_page(tmp_path)
    assert runs.read(tmp_path).left_out == ()
    assert wl.compare(tmp_path, "occlusion").comparisons[0].metric == A


def stopped(clf: Any, out: Path, after: int, monkeypatch: pytest.MonkeyPatch, **asked: Any) -> None:
    """Evaluate, and be interrupted after so many texts."""
    real, done = evaluating.work_together, list[None]()

    def stopping(*given: Any, **options: Any) -> Any:
        if len(done) == after:
            raise KeyboardInterrupt
        done.append(None)
        return real(*given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(evaluating, "work_together", stopping)
        with pytest.raises(KeyboardInterrupt, match="the same call resumes from there"):
            run(clf, out, **asked)


@pytest.mark.parametrize(("first", "then"), [(4, 2), (2, 1), (2, 3), (0, 1), (3, 3)])
def test_a_run_that_was_stopped_before_and_while_it_grew_is_the_same(
    first: int, then: int, clf: Any, whole: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if first < len(texts()):
        stopped(clf, tmp_path, first, monkeypatch, **FIRST)
    else:
        run(clf, tmp_path, **FIRST)
    stopped(clf, tmp_path, then, monkeypatch, **MORE)
    grown, order = wl.open_run(tmp_path), [record.id for record in texts()]
    done = max(first, then)
    assert list(dict.fromkeys(row["example_id"] for row in grown.explanations)) == order[:done]
    methods = {line.method for line in grown.summary.lines}
    assert ("kernel_shap" in methods) == (then >= first)  # figures are of the same texts, or left out
    assert said(run(clf, tmp_path, **MORE)) == whole


def test_a_folder_is_not_kept_from_going_on_by_a_method_that_was_given_up(
    clf: Any, made: list[tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(clf, tmp_path, **FIRST)
    stopped(clf, tmp_path, 1, monkeypatch, methods=["occlusion", "lime"], metrics=[A])
    made.clear()
    run(clf, tmp_path, methods=["occlusion", "kernel_shap"], metrics=[A])
    assert {method for method, _ in made} == {"kernel_shap"}
    shown = [line.method for line in wl.open_run(tmp_path).summary.lines]
    assert set(shown) == {"occlusion", "kernel_shap", "random", "human"}
    assert shown[-1] == "human"
    assert "lime" not in {row["method"] for row in runs.read(tmp_path).explanations}
    assert runs.read(tmp_path).left_out == ("lime",)


def test_a_page_names_what_was_asked_for_and_not_finished(
    clf: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(clf, tmp_path, **FIRST)
    assert runs.read(tmp_path).left_out == ()
    stopped(clf, tmp_path, 1, monkeypatch, methods=["occlusion", "lime"], metrics=[A, C])
    assert runs.read(tmp_path).left_out == ("lime", C)
    assert f"not finished on these texts: <bdi>lime, {C}</bdi>" in run_page(tmp_path)
    run(clf, tmp_path, methods=["occlusion", "lime"], metrics=[A, C])
    assert runs.read(tmp_path).left_out == ()
    assert "not finished" not in run_page(tmp_path)


def grown_until_killed(clf: Any, out: Path, place: int | None) -> int:
    """Ask for more, and die before the n-th change of a file; return how many changes there were."""
    seen: list[str] = []
    with ExitStack() as patched:
        for each in killing(place, seen):
            patched.enter_context(each)
        with suppress(Killed):
            run(clf, out, **FEW)
    return len(seen)


def test_a_kill_at_any_moment_of_growing_loses_and_doubles_nothing(
    clf: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "WRITE_EVERY", -1.0)
    real, known = evaluating.work_together, dict[Any, Any]()

    def remembered(classifier: Any, tasks: Any, plan: Any, *, run: str) -> Any:
        key = tasks[0].record.id, tasks[0].lacking, run
        known[key] = known.get(key) or list(real(classifier, tasks, plan, run=run))
        return known[key]

    monkeypatch.setattr(evaluating, "work_together", remembered)
    whole = said(run(clf, tmp_path / "whole", **FEW))
    run(clf, tmp_path / "first", **{**FEW, "methods": []})
    before = contents(tmp_path / "first")
    shutil.copytree(tmp_path / "first", tmp_path / "0")
    total = grown_until_killed(clf, tmp_path / "0", None)
    assert total > 30
    for place in (*range(1, total, 4), total):
        out = tmp_path / str(place)
        shutil.copytree(tmp_path / "first", out)
        grown_until_killed(clf, out, place)
        assert len({row["example_id"] for row in wl.open_run(out).scores}) == 2, place
        assert said(run(clf, out, **FEW)) == whole, place
        there = {path.relative_to(out): content for path, content in contents(out).items()}
        assert all(there[path.relative_to(tmp_path / "first")] == content for path, content in before.items()), place
        commits = runs.read(out).commits or ()
        rows = [parts.stored_rows(out, commits, name) for name in (*parts.SCHEMAS, parts.COMMITS)]
        own = {path for path in there if path.parts[0] != parts.TIMINGS}
        assert own == {part.path.relative_to(out) for one in rows for part in one.parts}, place
        assert {path.name for path in there} == {path.name for path in own}, place


def test_what_is_lost_of_a_run_that_grew_is_made_again(clf: Any, whole: dict[str, Any], tmp_path: Path) -> None:
    run(clf, tmp_path, **FIRST)
    run(clf, tmp_path, **MORE)
    for path in sorted(contents(tmp_path)):
        path.unlink(missing_ok=True)  # those of times go with their commit
        assert said(run(clf, tmp_path, **MORE)) == whole, path


def test_without_a_manifest_nobody_can_tell_the_settings_of_a_run_that_grew(clf: Any, tmp_path: Path) -> None:
    first = {**FEW, "methods": []}
    for asked in (first, FEW):
        run(clf, tmp_path, **asked)
    (tmp_path / runs.MANIFEST).unlink()
    for asked in (first, FEW):
        with pytest.raises(InputError, match="holds another run; name another folder"):
            run(clf, tmp_path, **asked)


def test_a_setting_of_what_is_there_is_refused_by_name_and_a_method_can_stand_beside_itself(
    clf: Any, tmp_path: Path
) -> None:
    few: dict[str, Any] = {"methods": ["lime"], "metrics": [A], "settings": {"lime.samples": 20}}
    run(clf, tmp_path, **few)
    beside = (
        r"settings \(lime\.samples\); name another folder, or ask for lime\[samples=30\], which gets rows of its own\.$"
    )
    with pytest.raises(InputError, match=beside):
        run(clf, tmp_path, **{**few, "settings": {"lime.samples": 30}})
    for says, asked in (
        (rf"settings \({A}\.steps\); name another folder\.$", {"settings": {"lime.samples": 20, f"{A}.steps": 3}}),
        (r"settings \(lime\.seed, random\.seed\); name another folder\.$", {"settings": {"samples": 20, "seed": 1}}),
        (
            r"settings \(unit, lime\.samples\); name another folder\.$",
            {"options": wl.Options(unit="sentence"), "settings": {}},
        ),
        (r"settings \(control\); name another folder\.$", {"control": "best-of=3"}),
    ):
        with pytest.raises(InputError, match=says):
            run(clf, tmp_path, **{**few, **asked})
    found = run(clf, tmp_path, **{**few, "methods": ["lime", "lime[samples=30]"]})
    assert {row["method"] for row in found.scores} == {"lime", "lime[samples=30]", "random", "human"}


def test_other_tuning_texts_are_refused_where_there_are_some(clf: Any, tmp_path: Path) -> None:
    run(clf, tmp_path, **FIRST)
    run(clf, tmp_path, metrics=["token_f1"], tune=texts("dev"))
    with pytest.raises(InputError, match="differing in tuning data; name another folder"):
        run(clf, tmp_path, metrics=["token_f1"], tune=texts("dev", 6))
    assert not run(clf, tmp_path, **FIRST).tuning


def test_nothing_is_added_to_what_the_model_no_longer_says(clf: Any, tmp_path: Path) -> None:
    run(clf, tmp_path, **FIRST)
    other = classifier(lambda given: decide(given)[:, ::-1])
    with pytest.raises(ModelError, match=r"does not predict the labels of 'test-\d' that it did when the folder"):
        run(other, tmp_path, **MORE)
    assert {line.method for line in wl.open_run(tmp_path).summary.lines} == {"occlusion", "random", "human"}


def in_an_earlier_form(folder: Path, form: int, data: Dataset) -> None:
    """Make a folder one of a version before shards: one hash of all data, times in tables; or before columns, too."""
    manifest = json.loads((folder / runs.MANIFEST).read_text())
    manifest["asked"]["contents"]["data"] = data.fingerprint()
    gone = {"shard", "grown", *({"columns"} if form == 2 else ())}
    kept = {name: own for name, own in manifest.items() if name not in gone}
    (folder / runs.MANIFEST).write_text(json.dumps(kept | {"form": form}))
    schema, lost = tables.TEXTS, ["record", "digest", "status", "reason", *(["holds"] if form == 2 else [])]
    for name in lost:
        schema = schema.remove(schema.get_field_index(name))
    commits = runs.read(folder).commits or ()
    for name in ("texts", "explanations", "tuning"):
        for part in parts.stored_rows(folder, commits, name).parts:
            one = replace(parts.stored_rows(folder, commits, name), parts=(part,))
            tables.write(part.path, list(one), schema if name == "texts" else tables.EXPLANATIONS)
    shutil.rmtree(folder / parts.TIMINGS)
    (folder / SUCCESS).unlink(missing_ok=True)


@pytest.mark.parametrize("form", [2, 3])
def test_a_folder_of_an_earlier_form_opens_goes_on_and_grows(
    form: int, clf: Any, tmp_path: Path, made: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    common = {"control": "best-of=2", "tune": texts("dev", 2), "data": texts(size=2)}
    first, more = ({**one, **common} for one in (FIRST, MORE))
    right = said(run(clf, tmp_path / "first", **first)), said(run(clf, tmp_path / "more", **more))
    run(clf, tmp_path / "old", **first)
    in_an_earlier_form(tmp_path / "old", form, texts(size=2))
    assert said(wl.open_run(tmp_path / "old")) == right[0]
    assert all(row["seconds"] >= 0 for row in wl.open_run(tmp_path / "old").explanations)
    with pytest.raises(InputError, match="differing in data"):
        run(clf, tmp_path / "old", **{**first, "data": texts(size=4)})
    assert said(run(clf, tmp_path / "old", **first)) == right[0]
    made.clear()
    assert said(run(clf, tmp_path / "old", **more)) == right[1]
    assert ("occlusion", "explained") not in made
    assert ("occlusion", A) not in made
    stopped(clf, tmp_path / "half", 3, monkeypatch, **first)
    in_an_earlier_form(tmp_path / "half", form, texts(size=2))
    assert said(run(clf, tmp_path / "half", **more)) == right[1]
    assert said(wl.open_run(tmp_path / "half")) == said(wl.open_run(tmp_path / "more"))


def test_several_models_grow_as_one_does(tmp_path: Path) -> None:
    data = texts(size=2)
    names = {
        "one": decide,
        "two": lambda given: np.square(decide(given)) / np.square(decide(given)).sum(1, keepdims=True),
    }
    models = {name: partial(wl.load, own, labels=LABELS, identity=name) for name, own in names.items()}
    asked = [
        Question(methods=own, metrics=[A], settings={"samples": 20} if "lime" in own else {})
        for own in (["occlusion"], ["lime", "occlusion"])
    ]
    for question in asked:
        grown = evaluate_several(models, data, question, out=tmp_path / "grown", progress=False)
    whole = evaluate_several(models, data, asked[-1], out=tmp_path / "whole", progress=False)
    assert grown.evaluations.keys() == whole.evaluations.keys() == {"one-seed0", "two-seed1"}
    for name, own in grown.evaluations.items():
        assert said(own) == said(whole.evaluations[name])
    assert (grown.spread, grown.stability) == (whole.spread, whole.stability)


def test_figures_are_those_of_the_run_at_once(clf: Any, tmp_path: Path, cli: Any) -> None:
    asked: dict[str, Any] = {"data": texts(size=10), "metrics": [A]}
    run(clf, tmp_path / "grown", **asked)
    grown, whole = (run(clf, tmp_path / name, **asked, methods=["kernel_shap"]) for name in ("grown", "whole"))
    assert [line.cells for line in grown.summary.lines] == [line.cells for line in whole.summary.lines]
    question = ("--method", "kernel_shap", "--against", "random")
    outputs = [cli("compare", str(tmp_path / name), *question) for name in ("grown", "whole")]
    assert outputs[0] == outputs[1]
    assert outputs[0][0] == 0
    assert repr(wl.compare(grown, "kernel_shap")) == repr(wl.compare(tmp_path / "whole", "kernel_shap"))
