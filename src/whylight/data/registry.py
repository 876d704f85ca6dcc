"""Corpora are plug-ins: functions of `(path, split)` whose keyword-only parameters are their settings.

@corpus(cite="socher2013", splits=("train", "dev", "test"))
def sst(path: Path, split: str, *, rationale: Literal["carton", "phrases"] = "carton") -> Dataset: ...
"""

from collections.abc import Callable

from whylight.core.registry import F, Registry

CORPORA = Registry("corpus", "whylight.data")


def corpus(*, cite: str, splits: tuple[str, ...] = (), needs_path: bool = True) -> Callable[[F], F]:
    """Register a corpus.

    Args:
        cite: Key of the paper that describes it; empty for formats.
        splits: The splits that it has; none given means that its files say which.
        needs_path: False if it is generated.
    """

    def register(function: F) -> F:
        CORPORA.register(function, cite=cite, splits=splits, needs_path=needs_path)
        return function

    return register
