"""What may be asked from outside, by people at a browser and by agents: methods, with settings of their own alone.

A remover may name a model, and some settings name a folder. Neither is taken from outside, so that no request reaches a
file or another machine; and numbers are bounded, so that none takes all memory.
"""

from collections.abc import Mapping

from whylight.core.errors import IncompatibleError, SettingError, unknown
from whylight.core.registry import METHODS
from whylight.explaining.compatible import lack, require
from whylight.explaining.variants import asked_plugin, asks_for_layers
from whylight.views.classifier import Classifier

MOST = 100_000
"""The largest number that a setting may have, seeds aside."""
SEED = "seed"


def check_asked(classifier: Classifier, method: str, settings: Mapping[str, str]) -> None:
    """Refuse a method or setting that may not be asked for from outside.

    Args:
        classifier: The model.
        method: A method, perhaps with settings in brackets.
        settings: More settings.

    Raises:
        SettingError: There is no such method or setting, or it is not for those outside.
        IncompatibleError: The method does not work with the model.
    """
    asked = asked_plugin(method, METHODS)
    require(asked.spec, classifier)
    lacking = lack(asked.spec)
    if lacking is not None:
        raise IncompatibleError(f"{lacking}, which cannot be given here.")
    if asks_for_layers([method], settings):
        raise SettingError("ask for one layer at a time.")
    if asked.remover is not None:
        raise SettingError("what removes words cannot be chosen here.")
    for name, value in (*settings.items(), *asked.own.items()):
        if name not in asked.spec.settings:
            raise unknown(f"setting of '{asked.spec.name}'", name, asked.spec.settings)
        if name != SEED and _number(value) > MOST:
            raise SettingError(f"the setting '{name}' is at most {MOST:,} here.")


def _number(value: str) -> float:
    """Return how large a number is; 0 of what is none."""
    try:
        return abs(float(value))
    except ValueError:
        return 0.0
