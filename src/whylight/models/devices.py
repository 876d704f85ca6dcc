"""Where models run: a device by its name, `auto` for an accelerator if there is one, and models that stay put."""

from typing import Any

import torch

from whylight.core.errors import SettingError
from whylight.models.folder import reason

AUTO, CPU = "auto", "cpu"


def chosen_device(name: object) -> torch.device:
    """Return the device that a name stands for; one that is not there, or cannot hold what is computed, is refused.

    Args:
        name: What torch calls it, e.g. `"cuda"`, `"cuda:1"` or `"cpu"`; or `"auto"`.
    """
    if name == AUTO:
        return torch.device(_accelerator() or CPU)
    try:
        device: torch.device = torch.device(name)  # type: ignore[call-overload]  # what is no name raises
    except (RuntimeError, TypeError, ValueError):
        raise SettingError(f"there is no device '{name}'; {_there_is()}.") from None
    wrong = _wrong_with(device)
    if wrong is not None:
        raise SettingError(f"cannot run on the device '{name}': {wrong}; {_there_is()}.")
    return device


def check_placed(model: Any, device: object) -> None:  # noqa: ANN401  transformers' own
    """Refuse a device that is not where a model of the user's is: such a model is never moved."""
    if device in (None, AUTO):
        return
    wanted = chosen_device(device)
    places = dict.fromkeys(parameter.device for parameter in model.parameters())
    if all(one.type == wanted.type and wanted.index in (None, one.index) for one in places):
        return
    there = " and ".join(f"'{one}'" for one in places)
    raise SettingError(
        f"the model is on {there}, and device='{device}' was asked for; a model of yours is not moved: move it "
        f"yourself, model.to('{device}'), or leave out device=."
    )


def move(model: Any, device: torch.device) -> None:  # noqa: ANN401
    """Put a model that was loaded here onto a device, or say that it has no room there."""
    try:
        model.to(device)
    except (RuntimeError, NotImplementedError) as error:
        raise SettingError(f"cannot put the model onto the device '{device}': {reason(error)}") from None


def _accelerator() -> str | None:
    """Return the accelerator of this machine, if it is one that everything here can be computed on."""
    if not torch.accelerator.is_available():
        return None
    device = torch.accelerator.current_accelerator()
    return None if device is None or _wrong_with(device) else device.type


def _wrong_with(device: torch.device) -> str | None:
    """Return why nothing can be computed on a device, or None."""
    if device.type == "meta":
        return "weights have no values there"
    try:
        torch.empty(1, device=device)
    except NotImplementedError:  # torch was built without it; its message is a page long
        return "this torch knows no such device here"
    except (RuntimeError, AssertionError) as error:
        return reason(error).rstrip(".")
    try:
        torch.empty(1, device=device, dtype=torch.float64)
    except (TypeError, RuntimeError):
        return "it does not know numbers of double precision, in which scores are added up"
    return None


def _there_is() -> str:
    found = _accelerator()
    return f"there is {CPU}" if found is None else f"there are {CPU} and {found}"
