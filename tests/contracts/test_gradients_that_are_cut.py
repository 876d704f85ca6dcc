"""A gradient that is cut, wrong or missing is refused by name, and a gap that is not small is said in words."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import quick
import tiny
from whylight.core.errors import IncompatibleError
from whylight.core.registry import METHODS
from whylight.explaining.compatible import compatible
from whylight.explaining.explain import explain
from whylight.models.load import load
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.positions import Positions

GAMES = {name for name in quick.METHOD_NAMES if METHODS[name].consumes == (Game,)}
TEXT = "The acting was good, but the plot drags!"


class Cut(nn.Module):
    """A part that answers as it did and lets no gradient, or too small a one, through."""

    def __init__(self, part: nn.Module, share: float) -> None:
        super().__init__()
        self.part, self.share = part, share

    def forward(self, x: Tensor) -> Tensor:
        whole: Tensor = self.part(x)
        return whole.detach() + self.share * (whole - whole.detach())


def int8(part: Any = nn.Linear) -> Any:
    return torch.ao.quantization.quantize_dynamic(tiny.model("bert"), {part}, dtype=torch.qint8)


@pytest.mark.parametrize("part", [nn.Linear, "bert.encoder.layer.0.intermediate.dense"], ids=["all", "one"])
def test_integer_weights_have_games_and_nothing_else(part: Any) -> None:
    clf = load(int8(part), tiny.tokenizer())
    claims = compatible(clf)
    assert {name for name, reason in claims.items() if reason is None} == GAMES
    for name in set(quick.METHOD_NAMES) - GAMES:
        with pytest.raises(IncompatibleError, match="no gradient flows through its integer weights") as caught:
            quick.run(clf, TEXT, name)
        assert f"Methods that work with this model: {', '.join(sorted(GAMES))}." in str(caught.value)
    assert explain(clf, TEXT).provenance.method == "kernel_shap"


def test_integer_weights_answer_a_row_the_same_in_any_batch() -> None:
    clf = load(int8(), tiny.tokenizer())
    assert clf.company == "none"
    found = []
    for budget in (1, 100_000):
        clf.engine.budget = budget
        found.append(quick.run(clf, TEXT, "occlusion").scores)
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize(
    ("share", "said"), [(0.0, "its gradient is 0|no gradient of the score"), (0.5, "2 times what")]
)
@pytest.mark.parametrize("method", ["input_x_gradient", "integrated_gradients", "attingrad"])
def test_a_gradient_that_is_cut_or_wrong_is_refused(method: str, share: float, said: str) -> None:
    model = tiny.model("distilbert")
    model.classifier = Cut(model.classifier, share)
    with pytest.raises(IncompatibleError, match=said) as caught:
        quick.run(load(model, tiny.tokenizer()), TEXT, method)
    assert f"'{method}'" in str(caught.value)
    assert "occlusion" in str(caught.value)


def test_a_view_without_a_way_from_its_input_to_its_score_is_refused() -> None:
    inputs = torch.ones(3, 2)
    positions = Positions(torch.arange(3), 3)
    for score in (lambda points: torch.ones(len(points), 2), lambda _points: torch.ones(1, 2, requires_grad=True) * 2):
        view = GradientView(score, inputs, baselines={"zero": torch.zeros_like(inputs)}, positions=positions)
        with pytest.raises(IncompatibleError, match="no gradient of the score reaches the input"):
            view.gradient()


@pytest.mark.parametrize("architecture", ["bert", "plm_ca"])
def test_a_gap_that_is_not_small_is_a_note_in_words(architecture: str) -> None:
    clf = quick.classifier(architecture, num_labels=3)
    few = explain(clf, TEXT, method="integrated_gradients", target="all", steps=1)
    assert few.provenance.completeness_gap is not None
    size = np.abs(few.scores).sum(axis=1)
    large = [i for i, gap in enumerate(few.provenance.completeness_gap) if abs(gap) > 0.05 * size[i]]
    notes = [note for note in few.provenance.notes if "miss what they should sum to" in note]
    assert large
    assert [few.targets[i].label in note for i, note in zip(large, notes, strict=True)] == [True] * len(large)
    assert all("take more steps" in note for note in notes)
    many = explain(clf, TEXT, method="integrated_gradients", target="all", steps=200)
    assert not any("miss" in note for note in many.provenance.notes)


def test_ordinary_integrated_gradients_of_the_bundled_model_are_not_noted_and_those_of_few_steps_are() -> None:
    clf = load()
    for text in ("It's fine.", "Not a bad movie at all, though it drags in the middle."):
        assert explain(clf, text).provenance.notes == ()
        (note,) = explain(clf, text, steps=2).provenance.notes
        assert note.startswith("the scores for '")


@pytest.mark.parametrize("architecture", ["bert", "plm_ca"])
def test_a_copy_of_a_classifier_finds_out_for_itself(architecture: str) -> None:
    clf = tiny.classifier(architecture)
    assert clf.company == "any"
    twin = copy.deepcopy(clf)
    assert twin.engine._company.__self__ is twin
    assert twin._findings._classifier is twin
    assert twin.network.model is twin.model is not clf.model
