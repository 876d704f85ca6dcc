"""whylight: which words made a text classifier decide, and how far that answer can be trusted.

    import whylight as wl

    clf = wl.load("path-or-hub-id")
    wl.explain(clf, "A gripping, moving film.", method="attingrad")

Public names are imported on first use, so that `import whylight` needs no deep-learning library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whylight.core.errors import WhylightError
from whylight.core.explanation import Explanation, Explanations, Provenance
from whylight.core.showing import show
from whylight.core.text import Span, Text
from whylight.core.version import VERSION

if TYPE_CHECKING:
    from whylight import plot
    from whylight.core.endpoint import Endpoint
    from whylight.core.image import Box, Image
    from whylight.core.prompt import Prompt
    from whylight.data.load import dataset
    from whylight.data.pictures import image
    from whylight.explaining.compatible import compatible
    from whylight.explaining.evaluate import measure
    from whylight.explaining.explain import explain
    from whylight.explaining.options import Options
    from whylight.models.load import load
    from whylight.run.evaluate import evaluate
    from whylight.run.evaluation import open_run
    from whylight.run.running import run_corpus
    from whylight.study.audit import audit
    from whylight.study.comparing import compare
    from whylight.study.recommend import recommend
    from whylight.study.roar import roar
    from whylight.study.sanity import sanity_check
    from whylight.training.fit import fit
    from whylight.training.fit_mlm import fit_mlm
    from whylight.training.recipe import recipe
    from whylight.training.seeds import train_seeds
    from whylight.training.train import train
    from whylight.training.tune import tune

__version__ = VERSION
__all__ = [
    "Box",
    "Endpoint",
    "Example",
    "Explanation",
    "Explanations",
    "Image",
    "Options",
    "Prompt",
    "Provenance",
    "Span",
    "Text",
    "WhylightError",
    "audit",
    "compare",
    "compatible",
    "dataset",
    "evaluate",
    "explain",
    "fit",
    "fit_mlm",
    "image",
    "load",
    "measure",
    "open_run",
    "plot",
    "recipe",
    "recommend",
    "roar",
    "run_corpus",
    "sanity_check",
    "show",
    "train",
    "train_seeds",
    "tune",
]

_LAZY = {
    "Box": "whylight.core.image",
    "Image": "whylight.core.image",
    "Endpoint": "whylight.core.endpoint",
    "Options": "whylight.explaining.options",
    "Prompt": "whylight.core.prompt",
    "audit": "whylight.study.audit",
    "compare": "whylight.study.comparing",
    "compatible": "whylight.explaining.compatible",
    "dataset": "whylight.data.load",
    "evaluate": "whylight.run.evaluate",
    "explain": "whylight.explaining.explain",
    "fit": "whylight.training.fit",
    "fit_mlm": "whylight.training.fit_mlm",
    "image": "whylight.data.pictures",
    "load": "whylight.models.load",
    "measure": "whylight.explaining.evaluate",
    "open_run": "whylight.run.evaluation",
    "plot": "whylight.plot",
    "recipe": "whylight.training.recipe",
    "recommend": "whylight.study.recommend",
    "roar": "whylight.study.roar",
    "run_corpus": "whylight.run.running",
    "sanity_check": "whylight.study.sanity",
    "train": "whylight.training.train",
    "train_seeds": "whylight.training.seeds",
    "tune": "whylight.training.tune",
}

Example = Text
"""What `Text` was called in version 0.1."""


def __getattr__(name: str) -> Any:  # noqa: ANN401  whatever the name stands for
    if name not in _LAZY:
        raise AttributeError(f"module 'whylight' has no attribute '{name}'")
    module = import_module(_LAZY[name])
    value = module if name == "plot" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
