"""What every method promises, on pictures: whatever works with a classifier of them."""

from typing import Any

import numpy as np
import pytest
import torch

import whylight as wl
from images.pictures import picture
from images.test_image_peers import classifier
from whylight.core.errors import IncompatibleError
from whylight.core.image import Image
from whylight.core.registry import METHODS
from whylight.explaining.compatible import obstacle
from whylight.models.contents import weights_contents
from whylight.testing import method_checks
from whylight.testing.running import failure

FEW = {"samples": 12, "permutations": 2, "steps": 3, "beam": 1, "max_evaluations": 400}
SEEDED = {"marc": {"noise": 0.06}, "meaningful_perturbation": {"jitter": 28.0}}
"""Settings by which something is drawn: presets of pictures have no noise, and few pixels are not moved by default."""
SLOW = {
    "hierarchical_occlusion",
    "kernel_shap",
    "marc",
    "meaningful_perturbation",
    "sequential_integrated_gradients",
    "shapley_sampling",
    "solvex",
    "transition_attention_maps",
}
TIES = {("solvex", "batches_do_not_matter")}
"""Ranks of two patches that do the same, but for rounding, may be swapped."""
ARCHITECTURES = ("resnet", "vit")
WORKING = [
    (architecture, name)
    for architecture in ARCHITECTURES
    for name in METHODS.names()
    if obstacle(METHODS[name], classifier(architecture)) is None
]
NEVER = {"alti", "globenc", "attingrad", "aml", "self_explanation"}
"""What needs words, or layers that end in a norm."""
OF_RECTIFIERS = {"guided_backprop", "excitation_backprop"}
OF_ATTENTION = {
    "attention",
    "attention_attribution",
    "attention_rollout",
    "attgrad",
    "decompx",
    "transition_attention_maps",
}


def few(name: str) -> dict[str, Any]:
    """Return settings by which a method is quick; KernelSHAP refuses too few samples."""
    own = {key: value for key, value in FEW.items() if key in METHODS[name].settings}
    return {**own, "samples": 800} if name == "kernel_shap" else own


def explained(architecture: str, name: str, shown: Image, **options: object) -> wl.Explanation:
    found = wl.explain(classifier(architecture), shown, method=name, progress=False, **few(name), **options)
    assert isinstance(found, wl.Explanation)
    return found


def test_methods_that_do_not_fit_are_refused_in_a_sentence() -> None:
    every = set(METHODS.names())
    assert {name for one, name in WORKING if one == "vit"} == every - NEVER - OF_RECTIFIERS
    assert {name for one, name in WORKING if one == "resnet"} == every - NEVER - OF_ATTENTION
    for name in sorted(NEVER):
        with pytest.raises(IncompatibleError, match=f"'{name}' .*Methods that work with this model: "):
            explained("vit", name, picture())


def check(architecture: str, name: str) -> None:
    """Run the contract of methods in front of a classifier of pictures."""
    large = architecture == "vit"  # of usual weights its answers hardly differ; those of the other would overflow
    checks = method_checks(
        name, classifier=classifier(architecture, large=large), settings=few(name) | SEEDED.get(name, {})
    )
    broken = {title: said for title, one in checks if (said := failure(one)) and (name, title) not in TIES}
    assert not broken


@pytest.mark.parametrize(("architecture", "name"), [one for one in WORKING if one[1] not in SLOW])
def test_it_keeps_the_contract_of_methods(architecture: str, name: str) -> None:
    check(architecture, name)


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "name"), [one for one in WORKING if one[1] in SLOW])
def test_it_keeps_the_contract_of_methods_slowly(architecture: str, name: str) -> None:
    check(architecture, name)


@pytest.mark.parametrize(("architecture", "name"), [one for one in WORKING if one[1] in SLOW])
def test_it_keeps_its_promises(architecture: str, name: str) -> None:
    clf, shown = classifier(architecture), picture(40, 30, seed=2)
    before = weights_contents(clf.model), clf.model.training, torch.random.get_rng_state()
    for unit in ("pixel", "patch"):
        one = explained(architecture, name, shown, unit=unit, target=1, evidence_sign="none")
        again = explained(architecture, name, shown, unit=unit, target=1, evidence_sign="none")
        assert one.scores.shape == (1, len(one.places)) == (1, 28 * 28 if unit == "pixel" else 196)
        assert np.isfinite(one.scores).all()
        np.testing.assert_array_equal(one.scores, again.scores)
        assert one.provenance.unit == unit
    assert (weights_contents(clf.model), clf.model.training) == before[:2]
    assert torch.equal(torch.random.get_rng_state(), before[2])
    assert not any(module._forward_hooks for module in clf.model.modules())
