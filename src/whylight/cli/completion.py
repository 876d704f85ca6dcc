"""What the shell may complete: names of plug-ins. It is asked at every press of a key, so that torch stays asleep."""

from whylight.core.declared import declared_names
from whylight.core.prompt_files import ready_prompts


def complete_methods(incomplete: str) -> list[str]:
    """Return the methods whose names begin so."""
    return _beginning(declared_names("whylight.methods"), incomplete)


def complete_metrics(incomplete: str) -> list[str]:
    """Return the metrics whose names begin so."""
    return _beginning(declared_names("whylight.metrics"), incomplete)


def complete_objectives(incomplete: str) -> list[str]:
    """Return the objectives whose names begin so."""
    return _beginning(declared_names("whylight.objectives"), incomplete)


def complete_removers(incomplete: str) -> list[str]:
    """Return the removers whose names begin so."""
    return _beginning(declared_names("whylight.perturb"), incomplete)


def complete_data(incomplete: str) -> list[str]:
    """Return the corpora whose names begin so, as they stand before a path; files are left to the shell."""
    return _beginning([f"{name}:" for name in declared_names("whylight.data")], incomplete)


def complete_devices(incomplete: str) -> list[str]:
    """Return usual devices; which of them there are, only torch knows."""
    return _beginning(["auto", "cpu", "cuda", "mps"], incomplete)


def complete_engines(incomplete: str) -> list[str]:
    """Return the packages that may run a copy of a model."""
    return _beginning(["openvino", "onnx"], incomplete)


def complete_prompts(incomplete: str) -> list[str]:
    """Return the ready prompts whose names begin so; files are left to the shell."""
    return _beginning(list(ready_prompts()), incomplete)


def _beginning(names: list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
