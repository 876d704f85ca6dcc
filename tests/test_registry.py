"""Plug-ins are typed functions; settings are parsed by their annotations."""

import pkgutil
import re
from importlib import import_module
from typing import Any, Literal

import pytest

from whylight.core import registry
from whylight.core.errors import SettingError
from whylight.core.registry import METHODS, Registry
from whylight.core.setting import Setting
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
        *("cite", "signed", "cost", "good_for", "complete", "class_specific"),
        *("scores", "layers", "tried", "alone", "given"),
    }  # fmt: skip
    assert set(spec.facts["given"]) <= set(spec.settings)
    assert spec.consumes
    assert spec.summary
    if spec.function.__module__.startswith("whylight."):  # others need not say so
        assert 0 < len(spec.facts["cost"]) < 60
        assert 10 < len(spec.facts["good_for"]) < 100


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


def test_an_alias_is_a_name_of_one_method_and_shadows_none() -> None:
    aliases = [alias for name in METHODS.names() for alias in METHODS[name].aliases]
    assert len(set(aliases)) == len(aliases) >= 4
    assert not set(aliases) & set(METHODS.names())
    assert {alias: METHODS[alias].name for alias in ("ig", "shap", "ixg", "sig")} == {
        "ig": "integrated_gradients",
        "shap": "kernel_shap",
        "ixg": "input_x_gradient",
        "sig": "sequential_integrated_gradients",
    }


@pytest.mark.parametrize("first", ["one", "two"])
def test_an_alias_that_is_taken_is_refused_whoever_comes_first(first: str) -> None:
    own = Registry("method", "whylight.methods")

    def one(game: Game) -> None:
        """One."""

    def two(game: Game) -> None:
        """Two."""

    def register(name: str) -> None:
        own.register(*{"one": (one,), "two": (two,)}[name], aliases=() if name == "one" else ("one",))

    register(first)
    register(first)  # a module that is imported again
    with pytest.raises(SettingError, match=r"alias .*'one'|'one' is called as an alias of 'two' is"):
        register("two" if first == "one" else "one")


def test_two_methods_do_not_share_an_alias_and_none_is_its_own() -> None:
    own = Registry("method", "whylight.methods")

    def one(game: Game) -> None:
        """One."""

    def two(game: Game) -> None:
        """Two."""

    own.register(one, aliases=("o",))
    with pytest.raises(SettingError, match="the alias 'o' of the method 'two' is taken by 'one'"):
        own.register(two, aliases=("o",))
    with pytest.raises(SettingError, match="the alias 'two' of the method 'two' is taken by 'two'"):
        own.register(two, aliases=("two",))


def test_compatible_says_what_works_and_why_the_rest_does_not() -> None:
    clf = load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])
    found = compatible(clf)
    assert set(found) == set(METHODS.names())
    working = {name for name, reason in found.items() if reason is None}
    assert working == {name for name in METHODS.names() if METHODS[name].consumes == (Game,)}
    assert found["saliency"] == "'saliency' needs gradients, and a callable gives none"
    assert "attention" in str(found["attention"])
    assert not [reason for reason in found.values() if re.search(r"View|Game", str(reason))]


def test_the_registry_of_removers_is_that_of_every_plug_in() -> None:
    assert {"mask", "unk", "pad", "zero", "delete"} <= set(registry.REMOVERS.names())
