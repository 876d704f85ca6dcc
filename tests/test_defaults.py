"""What explains where no method is named."""

import pytest

import tiny
import whylight as wl
from whylight.explaining.defaults import REVIEWING, default_methods


def test_it_is_what_works_with_the_model() -> None:
    assert default_methods(tiny.classifier("bert")) == ["integrated_gradients"]
    assert default_methods(wl.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["no", "yes"])) == ["kernel_shap"]


def test_labels_with_attention_of_their_own_are_explained_by_it() -> None:
    assert default_methods(tiny.classifier("plm_ca")) == ["attingrad"]
    assert wl.explain(tiny.classifier("plm_ca"), "one two three", target="all").provenance.method == "attingrad"


@pytest.mark.parametrize(("architecture", "first"), [("bert", "decompx_linear"), ("plm_ca", "attingrad")])
def test_a_reviewer_gets_two_that_can_disagree(architecture: str, first: str) -> None:
    found = default_methods(tiny.classifier(architecture), REVIEWING, most=2)
    assert found[0] == first
    assert len(set(found)) == 2
