"""Plug-ins are typed functions; settings are parsed by their annotations."""

import pkgutil
from importlib import import_module
from typing import Any, Literal

import pytest

from whylight.core import registry
from whylight.core.errors import SettingError
from whylight.core.registry import METHODS, Registry, Setting
from whylight.explaining.compatible import compatible
from whylight.models.load import load
from whylight.views.game import Game

DESIGNED = """random occlusion lime kernel_shap shapley_sampling saliency input_x_gradient integrated_gradients
sequential_integrated_gradients gradient_shap deeplift attention attention_rollout attgrad attingrad""".split()  # noqa: SIM905  as the design lists them


def modules(package: str) -> list[str]:
    path = import_module(package).__path__
    return [f"{package}.{one.name}" for one in pkgutil.iter_modules(path) if not one.name.startswith("_")]


@pytest.mark.parametrize("module", [*modules("whylight.methods"), *modules("whylight.metrics")])
def test_every_file_registers_a_plug_in(module: str) -> None:
    registries = [one for one in vars(registry).values() if isinstance(one, Registry)]
    assert module in {one[name].function.__module__ for one in registries for name in one.names()}


def test_what_the_design_names_is_registered() -> None:
    assert set(DESIGNED) <= set(METHODS.names())
    assert METHODS.names() == sorted(METHODS.names())


@pytest.mark.parametrize("name", METHODS.names())
def test_every_method_declares_its_facts(name: str) -> None:
    spec = METHODS[name]
    assert spec.name == name
    assert set(spec.facts) == {
        *("cite", "signed", "complete", "class_specific", "scores", "layers", "tried", "alone", "given"),
    }  # fmt: skip
    assert set(spec.facts["given"]) <= set(spec.settings)
    assert spec.consumes
    assert spec.summary


@pytest.mark.parametrize(
    ("annotation", "given", "expected"),
    [
        (int, 7, 7),
        (int, "7", 7),
        (int, 7.0, 7),
        (int, "1e3", 1000),
        (int | Literal["rationale"], "rationale", "rationale"),
        (int | Literal["rationale"], "5", 5),
        (int, 2**53 + 1, 2**53 + 1),
        (float, "0.5", 0.5),
        (float, 2, 2.0),
        (bool, "yes", True),
        (bool, "False", False),
        (bool, True, True),
        (str, "x", "x"),
        (int | None, None, None),
        (int | None, "3", 3),
        (Literal["a", "b"], "b", "b"),
        (Literal[1, 2], "2", 2),
    ],
)
def test_settings_are_parsed_by_their_type(annotation: Any, given: object, expected: object) -> None:
    found = Setting("s", annotation, None).parse(given)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "given", "says"),
    [
        (int, "many", "whole number"),
        (int, 1.5, "whole number"),
        (int, "nan", "whole number"),
        (int, "inf", "whole number"),
        (int, None, "whole number"),
        (int, [1], "whole number"),
        (float, "half", "a number"),
        (float, "nan", "a number"),
        (float, float("inf"), "a number"),
        (bool, "maybe", "true or false"),
        (bool, 2, "true or false"),
        (Literal["sum", "l1"], "l3", "sum, l1"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_the_right_one(annotation: Any, given: object, says: str) -> None:
    with pytest.raises(SettingError, match=says) as caught:
        Setting("steps", annotation, None).parse(given)
    assert "steps" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_names_come_with_the_likely_slip() -> None:
    with pytest.raises(SettingError, match="Did you mean 'occlusion'"):
        METHODS["oclusion"]
    with pytest.raises(SettingError, match=r"setting of 'lime' 'sample'.*Did you mean 'samples'"):
        METHODS["lime"].complete_settings({"sample": 3})


def test_settings_are_completed_with_their_defaults() -> None:
    assert METHODS["lime"].complete_settings({"samples": "9"}) == {
        "samples": 9,
        "alpha": 1.0,
        "sampler": "uniform",
        "pool": None,
        "seed": 0,
    }


def test_two_plugins_of_one_name_are_refused() -> None:
    own = Registry("method", "whylight.methods")

    def same(game: Game) -> None:
        """One."""

    own.register(same)
    own.register(same)  # a module that is imported again

    def other(game: Game) -> None:
        """Two."""

    other.__name__, other.__module__ = "same", "elsewhere"
    with pytest.raises(SettingError, match="two plug-ins are called 'same'"):
        own.register(other)


def test_compatible_says_what_works_and_why_the_rest_does_not() -> None:
    clf = load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])
    found = compatible(clf)
    assert set(found) == set(METHODS.names())
    working = {name for name, reason in found.items() if reason is None}
    assert working == {name for name in METHODS.names() if METHODS[name].consumes == (Game,)}
    assert found["saliency"] == "'saliency' consumes a GradientView, which a callable cannot provide"
    assert "TraceView" in str(found["attention"])


def test_the_registry_of_removers_is_that_of_every_plug_in() -> None:
    assert {"mask", "unk", "pad", "zero", "delete"} <= set(registry.REMOVERS.names())
