"""Two runs are compared where they measured the same inputs in the same way, whatever models see of these."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import masked
import prompting
import tiny
import whylight as wl
from images.pictures import classifier as picture_classifier, picture
from whylight.core.errors import InputError
from whylight.core.text import Span
from whylight.data.dataset import Dataset, Record
from whylight.run.evaluation import Evaluation

LABELS = ["negative", "positive"]
AOPC = "aopc_sufficiency"
DATA = wl.dataset("planted:", split="dev", size=6, length=7)


def run(
    seed: int = 0, *, data: Dataset = DATA, metrics: Sequence[str] = (AOPC,), labels: Sequence[str] = (), **asked: Any
) -> Evaluation:
    clf = tiny.classifier("bert", labels=list(labels) or LABELS, seed=seed)
    return wl.evaluate(clf, data, methods=["occlusion"], metrics=metrics, progress=False, **asked)


def means(found: Evaluation, metric: str) -> np.ndarray:
    own = [row for row in found.scores if (row["method"], row["metric"]) == ("occlusion", metric)]
    texts = dict.fromkeys(row["example_id"] for row in own)
    return np.asarray([np.mean([row["value"] for row in own if row["example_id"] == text]) for text in texts])


@pytest.fixture(scope="module")
def usual() -> Evaluation:
    return run(metrics=[AOPC, "iou"])


def test_two_models_are_compared_on_a_metric_whose_boundary_each_has_tuned(tmp_path: Path) -> None:
    data, tune = (wl.dataset("planted:", split=name, size=10, length=7) for name in ("test", "train"))
    asked: dict[str, Any] = {"data": data, "tune": tune, "metrics": [AOPC, "token_f1"]}
    one, other = run(0, **asked, out=tmp_path / "one"), run(1, **asked)
    boundaries = [{row["settings"] for row in own.scores if row["metric"] == "token_f1"} for own in (one, other)]
    assert len(set.union(*boundaries)) > 2, "boundaries differ between models, and between methods"
    found = wl.compare(tmp_path / "one", "occlusion", other=other)
    assert ([each.metric for each in found.comparisons], found.left_out) == ([AOPC, "token_f1"], ())
    for each in found.comparisons:
        difference = (means(one, each.metric) - means(other, each.metric)).mean()
        assert each.difference.mean == pytest.approx(difference)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"options": wl.Options(unit="sentence")}, r"unit \(word and sentence\) for aopc_sufficiency, iou"),
        ({"options": wl.Options(long="truncate")}, r"long \(window and truncate\) for aopc_sufficiency, iou"),
        ({"zero_non_alphanumeric": True}, r"zero_non_alphanumeric \(false and true\) for aopc_sufficiency, iou"),
    ],
)
def test_what_every_value_depends_on_has_to_be_the_same(usual: Evaluation, asked: Any, said: str) -> None:
    with pytest.raises(InputError, match=f"no metric in the same way: they differ in {said}; compare runs that"):
        wl.compare(usual, "occlusion", other=run(1, metrics=[AOPC, "iou"], **asked))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"settings": {f"{AOPC}.rounding": "floor"}}, f"{AOPC}.rounding (round and floor)"),
        ({"metric_model": tiny.classifier("bert", labels=LABELS, seed=4)}, "metric model.model (none and "),
        ({"options": wl.Options(target="gold")}, "target (predicted and gold)"),
    ],
)
def test_a_metric_that_was_measured_otherwise_is_left_out_and_said(usual: Evaluation, asked: Any, said: str) -> None:
    found = wl.compare(usual, "occlusion", other=run(1, metrics=[AOPC, "iou"], **asked))
    assert [one.metric for one in found.comparisons] == ["iou"]
    (sentence,) = found.left_out
    assert sentence.startswith(f"Left out, since the runs differ: in {said}")
    assert sentence.endswith(f"for {AOPC}.")
    assert "Left out" in repr(found)


def test_a_removers_settings_are_the_same_and_its_model_is_known_by_its_contents(tmp_path: Path) -> None:
    copy = shutil.copytree(masked.folder(), tmp_path / "copy")

    def filled(name: str, mode: str, model: Path | str) -> Path:
        settings = {"infill.model": str(model), "infill.mode": mode}
        run(metric_removers=["infill"], settings=settings, out=tmp_path / name)
        return tmp_path / name

    first = filled("first", "top1", masked.folder())
    with pytest.raises(InputError, match=r"infill.mode \(top1 and sample\)"):
        wl.compare(first, "occlusion", other=filled("second", "sample", masked.folder()))
    (same,) = wl.compare(first, "occlusion", other=filled("third", "top1", copy)).comparisons
    assert same.difference.mean == 0
    masked.network("bert", seed=9).save_pretrained(copy)
    with pytest.raises(InputError, match="differ in infill"):
        wl.compare(first, "occlusion", other=filled("fourth", "top1", copy))


def test_controls_of_one_name_pick_from_maps_that_are_equally_alike() -> None:
    one, other = (run(control=f"best-of=3,tau={tau}") for tau in (0.9, 0.5))
    with pytest.raises(InputError, match=r"control.tau \(0.9 and 0.5\)"):
        wl.compare(one, "occlusion best-of-3", other=other)
    assert not wl.compare(one, "occlusion", other=other).left_out


def test_seeds_may_differ() -> None:
    one, other = (run(metrics=["f_fidelity_plus"], settings={"f_fidelity_plus.seed": seed}) for seed in (0, 1))
    assert wl.compare(one, "occlusion", other=other).comparisons


def sized(side: int) -> Evaluation:
    """A run of a model that sees pictures in this size."""
    torch.manual_seed(0)

    def prepare(pillow: Any) -> Tensor:
        array = np.asarray(pillow.convert("RGB").resize((side, side)), dtype=np.float32) / 255
        return torch.as_tensor(array).permute(2, 0, 1)

    network = nn.Sequential(nn.Flatten(), nn.Linear(3 * side * side, 2))
    records = tuple(Record(str(i), picture(40, 40, seed=i), ("dog",)) for i in range(3))
    return wl.evaluate(
        picture_classifier(network, preparation=prepare),
        Dataset("pictures", "test", ("cat", "dog"), records),
        methods=["occlusion"],
        metrics=[AOPC],
        options=wl.Options(unit="patch"),
        progress=False,
    )


def test_models_that_see_a_picture_in_two_sizes_are_compared() -> None:
    found = wl.compare(sized(28), "occlusion", other=sized(32))
    assert [one.difference.texts for one in found.comparisons] == [3]
    assert not found.alike, "they score other features"


def test_what_a_prompt_shows_around_a_text_makes_no_other_text() -> None:
    asked: dict[str, Any] = {"methods": ["occlusion"], "metrics": [AOPC], "metric_removers": ["delete"]}
    models = tiny.classifier("bert", labels=list(prompting.ONE)), prompting.prompted(features=["text", "shots"])
    data = DATA.sample(2, seed=0)
    plain, blocks = (wl.evaluate(clf, data, progress=False, **asked) for clf in models)
    assert "blocks" in blocks.explanations[0]["input"]
    found = wl.compare(plain, "occlusion", other=blocks)
    assert [one.difference.texts for one in found.comparisons] == [2]


@pytest.mark.parametrize("forgetful", [False, True])
def test_two_files_that_share_ids_are_refused(usual: Evaluation, *, forgetful: bool) -> None:
    """Runs of the first versions have no hashes of records; then what was explained is looked at."""
    records = tuple(replace(own, example=DATA[0].example) for own in DATA)
    other = run(data=replace(DATA, records=records))
    other = replace(other, texts=()) if forgetful else other
    with pytest.raises(InputError, match=f"hold other texts: '{DATA[1].id}' is not the same in both"):
        wl.compare(usual, "occlusion", other=other)


def test_the_same_texts_under_other_labels_and_marks_are_compared_as_far_as_they_are_the_same(
    usual: Evaluation,
) -> None:
    names = {"negative": "bad", "positive": "good"}
    renamed = run(data=DATA.relabelled(names), labels=list(names.values()), metrics=[AOPC, "iou"])
    assert [one.metric for one in wl.compare(usual, "occlusion", other=renamed).comparisons] == [AOPC, "iou"]
    first, *others = DATA
    ((label, rationale),) = first.rationales.items()
    word = Span(0, 0, len(first.example.key.split()[0]))
    assert rationale.places != (word,)
    marked = replace(first, rationales={label: replace(rationale, places=(word,))})
    other = run(data=replace(DATA, records=(marked, *others)), metrics=[AOPC, "iou"])
    found = wl.compare(usual, "occlusion", other=other)
    assert [one.metric for one in found.comparisons] == [AOPC]
    assert found.left_out == (f"Left out, since the runs differ: in marks (of '{first.id}') for iou.",)


def test_a_run_of_the_first_versions_is_compared(usual: Evaluation) -> None:
    """It named its removers without settings, and had fewer options."""
    asked = {**usual.asked, "removers": ["mask"]}
    for name in ("pieces", "zero_non_alphanumeric", "contents", "method_remover_settings"):
        asked.pop(name, None)
    old = replace(usual, asked=asked, texts=())
    assert not wl.compare(usual, "occlusion", other=old).left_out
    assert not wl.compare(replace(old, asked={}), "occlusion", other=usual).left_out
