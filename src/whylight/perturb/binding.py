"""Which removers work on a model, and a remover with its settings as one thing."""

from collections.abc import Collection, Mapping
from typing import get_args

from whylight.core.encoded import Window
from whylight.core.registry import REMOVERS, Spec
from whylight.views.batch import Removal

PREFERRED = ("neutral", "mask", "unk", "delete", "pad", "zero", "blur", "mean", "black", "white", "noise")
"""The first of these that works on a model is its default; removers of others come after them."""


def available(windows: type[Window], replacements: Collection[str]) -> tuple[str, ...]:
    """Return the removers that work on a model, the default first.

    Args:
        windows: What the model reads.
        replacements: Names of what the model has to stand for a removed piece.
    """
    fitting = [name for name in REMOVERS.names() if _fits(REMOVERS[name], windows, replacements)]
    return tuple(sorted(fitting, key=lambda name: PREFERRED.index(name) if name in PREFERRED else len(PREFERRED)))


def bound(name: str, given: Mapping[str, object] | None = None) -> Removal:
    """Return a remover with complete settings; what it needs besides is for models to add."""
    spec = REMOVERS[name]
    settings = spec.complete_settings(given or {})
    return Removal(name, spec.function, settings, draws=bool(spec.facts["draws"]), called=name)


def _fits(spec: Spec, windows: type[Window], replacements: Collection[str]) -> bool:
    takes = get_args(spec.consumes[0]) or (spec.consumes[0],)
    needed = spec.facts["replacement"]
    return issubclass(windows, takes) and (needed is None or needed in replacements)
