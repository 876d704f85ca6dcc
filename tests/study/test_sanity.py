"""The sanity check: the same question to both models, the model unharmed, and lines that say what changed."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quick
import tiny
import whylight as wl
from whylight.core.errors import IncompatibleError, InputError, SettingError, WhylightError
from whylight.core.registry import METRICS
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.explaining.options import Options
from whylight.models.randomise import levels_of, randomise
from whylight.study import sanity as module
from whylight.study.sanity import sanity_check
from whylight.study.sanity_lines import MEASURES, SanityLine, SanitySummary

TEXTS = (
    "the acting was good , but the plot drags !",
    "a gripping film with a dull ending .",
    "never a dull script",
    "it is awful",
    "this movie was not that great , was it ?",
)
LIME = {"samples": 40}


def texts(*several: str) -> Dataset:
    records = tuple(Record(str(i), Text(text), ()) for i, text in enumerate(several))
    return Dataset("few", "test", ("0", "1"), records)


@pytest.fixture
def data() -> Dataset:
    return texts(*TEXTS)


def line_of(summary: SanitySummary, method: str, level: str) -> SanityLine:
    (found,) = (line for line in summary.lines if (line.method, line.level) == (method, level))
    return found


def means(line: SanityLine) -> dict[str, float]:
    return {name: cell.mean for name, cell in line.cells.items()}


def test_there_is_a_line_for_each_method_and_level(data: Dataset) -> None:
    summary = sanity_check(quick.classifier("bert"), data, methods=["random", "occlusion", "attention"])
    levels = ["head", "layer 2", "layer 1", "embeddings"]
    assert [level.name for level in summary.levels] == levels
    expected = [(level, method) for level in levels for method in ("occlusion", "attention", "random")]
    assert [(line.level, line.method) for line in summary.lines] == expected
    for line in summary.lines:
        for cell in line.cells.values():
            assert cell.low <= cell.mean <= cell.high
            assert cell.texts == len(data)


def test_what_does_not_look_at_the_new_weights_does_not_change(data: Dataset) -> None:
    summary = sanity_check(quick.classifier("bert"), data, methods=["attention", "occlusion", "lime"], settings=LIME)
    for level in summary.levels:
        assert means(line_of(summary, "random", level.name)) == {"sign_change": 0, "mean_change": 0, "spearman": 1}
        for method in ("occlusion", "lime"):
            assert line_of(summary, method, level.name).cells["mean_change"].low > 0
    assert means(line_of(summary, "attention", "head")) == pytest.approx({"mean_change": 0, "spearman": 1})
    assert line_of(summary, "attention", "layer 1").cells["spearman"].mean < 0.9


def test_changes_are_means_over_draws() -> None:
    clf, data = quick.classifier("bert"), texts(*TEXTS[:2])
    asked: dict[str, Any] = {"methods": ["input_x_gradient"], "levels": "head"}
    each = [sanity_check(clf, data, **asked, draws=1, seed=seed).lines[0].cells for seed in (4, 5, 6)]
    both = sanity_check(clf, data, **asked, draws=3, seed=4).lines[0].cells
    for name, cell in both.items():
        assert cell.mean == pytest.approx(np.mean([one[name].mean for one in each]))
    with pytest.raises(SettingError, match="'draws'"):
        sanity_check(clf, data, **asked, draws=0)


def test_the_numbers_are_those_of_the_two_explanations(data: Dataset) -> None:
    clf = quick.classifier("bert")
    summary = sanity_check(clf, data, methods=["input_x_gradient"], levels=2, draws=1, seed=5)
    twin = randomise(clf, depth=2, seed=5)
    changes: dict[str, list[float]] = {name: [] for name in MEASURES}
    flips = []
    for text in TEXTS:
        before = wl.explain(clf, text, method="input_x_gradient")
        after = wl.explain(twin, text, method="input_x_gradient", target=before.prediction.index)
        flips.append(before.prediction.index != after.prediction.index)
        for name in MEASURES:
            changes[name] += METRICS[name].function(before, after).tolist()
    expected = {name: float(np.mean(own)) for name, own in changes.items()}
    assert means(line_of(summary, "input_x_gradient", "layer 2")) == pytest.approx(expected, abs=1e-6)
    assert summary.levels[1].flips.mean == pytest.approx(np.mean(flips))


def test_targets_are_fixed_on_the_untouched_model_which_is_explained_once(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf, seen = quick.classifier("bert"), []
    real = module.explain_case

    def watched(case: Any, *arguments: Any) -> Any:
        explanation = real(case, *arguments)
        targets = [target.index for target in explanation.targets]
        seen.append((case.classifier, explanation.example.text, targets, case.prediction.index))
        return explanation

    monkeypatch.setattr(module, "explain_case", watched)
    flips = [sanity_check(clf, data, methods=["occlusion"], draws=1, seed=seed).levels for seed in (0, 1)]
    assert any(level.flips.mean > 0 for levels in flips for level in levels)  # else nothing is shown here
    untouched = {text: predicted for model, text, _, predicted in seen if model is clf}
    assert all(targets == [untouched[text]] for _, text, targets, _ in seen)
    assert any(predicted != untouched[text] for _, text, _, predicted in seen)
    assert sum(model is clf for model, *_ in seen) == 2 * len(data) * 2  # checks, texts, methods with `random`


def test_the_model_and_the_process_stay_as_they_were(data: Dataset) -> None:
    model = tiny.model("roberta").train()
    clf = wl.load(model, tiny.tokenizer("roberta"))
    before = quick.snapshot(model)
    sanity_check(clf, data, methods=["lime", "attingrad"], settings=LIME)
    after = quick.snapshot(model)
    assert {name for name in before if before[name] != after[name]} == set()


def test_the_seed_alone_decides(data: Dataset) -> None:
    def check(seed: int) -> SanitySummary:
        return sanity_check(
            quick.classifier("bert"), data, methods=["lime"], levels=2, draws=1, seed=seed, settings=LIME
        )

    assert check(3) == check(3)
    assert check(3).lines != check(4).lines


@pytest.mark.parametrize(
    "architecture",
    [pytest.param(name, marks=[] if name in ("bert", "deberta", "llama") else [pytest.mark.slow])
     for name in tiny.ARCHITECTURES],
)  # fmt: skip  # levels of the others are looked at in `test_randomise`
def test_every_architecture_can_be_checked(architecture: str) -> None:
    clf = quick.classifier(architecture)
    summary = sanity_check(clf, texts(*TEXTS[:2]), methods=["occlusion", "attention", "input_x_gradient"])
    assert [level.name for level in summary.levels] == [level.name for level in levels_of(clf)]
    for level in summary.levels:
        assert line_of(summary, "occlusion", level.name).cells["mean_change"].mean > 0
        assert line_of(summary, "input_x_gradient", level.name).cells["mean_change"].mean > 0
    assert line_of(summary, "attention", summary.levels[-1].name).cells["mean_change"].mean > 0


def test_methods_without_signs_have_no_sign_changes(data: Dataset) -> None:
    summary = sanity_check(
        quick.classifier("bert"),
        data,
        methods=["saliency", "input_x_gradient"],
        levels="head",
        settings={"pooling": "l2"},
    )
    for method in ("saliency", "input_x_gradient"):  # of which the second has signs only where embeddings are summed
        assert set(line_of(summary, method, "head").cells) == {"mean_change", "spearman"}
    (record,) = (r for r in summary.records() if (r["method"], r["metric"]) == ("saliency", "sign_change"))
    assert (record["mean"], record["low"], record["high"], record["texts"]) == (None, None, None, 0)


def test_one_word_has_no_ranks_to_correlate() -> None:
    summary = sanity_check(quick.classifier("bert"), texts("good", *TEXTS[:2]), methods=["occlusion"], levels="head")
    cells = line_of(summary, "occlusion", "head").cells
    assert (cells["mean_change"].texts, cells["spearman"].texts) == (3, 2)


ALL = Options(target="all")


def test_several_labels_of_a_text_count_as_one_text() -> None:
    clf = quick.classifier("bert", num_labels=3, problem_type="multi_label_classification")
    summary = sanity_check(clf, texts(*TEXTS[:2]), methods=["occlusion"], levels=1, draws=1, options=ALL)
    twin = randomise(clf, depth=1)
    changes = []
    for text in TEXTS[:2]:
        one, other = (wl.explain(model, text, method="occlusion", target="all") for model in (clf, twin))
        changes.append(METRICS["sign_change"].function(one, other).mean())
    cell = line_of(summary, "occlusion", "head").cells["sign_change"]
    assert (cell.mean, cell.texts) == (pytest.approx(np.mean(changes)), 2)


def test_settings_reach_methods_and_measures(data: Dataset) -> None:
    def change(**settings: object) -> float:
        clf = quick.classifier("bert")
        summary = sanity_check(clf, data, methods=["occlusion"], levels="head", settings=settings)
        return line_of(summary, "occlusion", "head").cells["mean_change"].mean

    assert len({change(), change(scale="none"), change(scale="sum")}) == 3
    with pytest.raises(SettingError, match="'scale'"):
        change(scal="none")


@pytest.mark.parametrize(("levels", "count"), [("all", 4), ("head", 1), (1, 1), (3, 3), (4, 4)])
def test_levels_are_counted_from_the_head(levels: str | int, count: int) -> None:
    summary = sanity_check(quick.classifier("bert"), texts("a good film"), methods=[], levels=levels)
    assert [level.name for level in summary.levels] == ["head", "layer 2", "layer 1", "embeddings"][:count]


@pytest.mark.parametrize("levels", [0, 5, -1, "tail", "", "2"])
def test_a_level_must_exist(levels: str | int, data: Dataset) -> None:
    with pytest.raises(SettingError, match=r"1 to 4 \(head, layer 2, layer 1, embeddings\)"):
        sanity_check(quick.classifier("bert"), data, methods=["occlusion"], levels=levels)


def test_what_cannot_be_done_is_refused_before_the_work(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "open_case", lambda *_arguments, **_options: pytest.fail("work has begun"))
    clf = quick.classifier("bert")
    function = wl.load(lambda some: np.full((len(some), 2), 0.5), labels=["no", "yes"])
    refusals: list[tuple[type[WhylightError], str, Any]] = [
        (IncompatibleError, "a callable has no weights", lambda: sanity_check(function, data, methods=["occlusion"])),
        (SettingError, "'lime'", lambda: sanity_check(clf, data, methods=["lim"])),
        (SettingError, "'seed'", lambda: sanity_check(clf, data, methods=["lime"], seed=-1)),
        (SettingError, "delete", lambda: sanity_check(clf, data, methods=["lime"], options=Options(remover="x"))),
        (InputError, "nothing to explain", lambda: sanity_check(clf, texts(), methods=["lime"])),
    ]
    for kind, says, call in refusals:
        with pytest.raises(kind, match=says):
            call()


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "few.jsonl"
    lines = [{"text": text, "label": "positive"} for text in ("a gripping film", "a dull film", "it drags on and on")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_the_command_line_prints_every_format(cli: Any, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # wide enough for one table
    arguments = ("sanity", "--data", file, "--method", "attention", "--method", "input_x_gradient", "--levels", "2",
                 "--sample", "2", "--draws", "1")  # fmt: skip
    code, out, _ = cli(*arguments, "--format", "json")
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert len(records) == 2 * 3 * len(MEASURES)
    assert {record["level"] for record in records} == {"head", "layer 4"}
    assert [record["mean"] for record in records if is_unsigned(record)] == [None, None]
    assert all(record["low"] <= record["mean"] <= record["high"] for record in records if not is_unsigned(record))
    code, out, _ = cli(*arguments, "--format", "csv")
    rows = list(csv.DictReader(StringIO(out)))
    assert code == 0
    assert [(row["level"], row["method"], row["metric"]) for row in rows] == [
        (record["level"], record["method"], record["metric"]) for record in records
    ]
    code, out, _ = cli(*arguments)
    assert code == 0
    assert "2 texts" in out
    for word in ("flips", "head", "layer 4", "input_x_gradient", "random"):
        assert word in out
    line = next(one for one in out.splitlines() if one.split()[:1] == ["head"])  # a wide table is cut into several
    assert line.split()[2:4] == ["attention", "-"]


def is_unsigned(record: dict[str, Any]) -> bool:
    return bool((record["method"], record["metric"]) == ("attention", "sign_change"))


def test_every_mistake_gets_one_sentence_and_exit_code_2(cli: Any, file: str) -> None:
    mistakes = {
        "1 to 6": ("--levels", "7"),
        "'all', 'head'": ("--levels", "tail"),
        "'lime'": ("--method", "lim"),
        "at least one": ("--sample", "0"),
        "sentence": ("--unit", "phrase"),
        "config.json": ("--model", str(Path(file).parent)),
        "NAME=VALUE": ("--set", "samples"),
    }
    for expected, arguments in mistakes.items():
        code, out, err = cli("sanity", "--data", file, *arguments)
        assert (code, out) == (2, ""), arguments
        assert expected in err, (arguments, err)
        assert err.startswith("whylight: "), arguments
        assert err.count("\n") == 1, (arguments, err)
    assert cli("sanity", "--data", file, "--seed", "-1")[0] == 2
    assert "Examples" in cli("sanity", "--help")[1]
