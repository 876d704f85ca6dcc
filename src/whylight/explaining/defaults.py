"""What explains where no method is named: the first methods of a list that work with the classifier.

Where each label has an attention of its own, that is AttInGrad, whose evidence agrees best with what was marked;
`decompx_linear`, which lends it a sign, stands beside it (docs/findings.md, evidence lists).
"""

from collections.abc import Sequence

from whylight.core.registry import METHODS
from whylight.explaining.compatible import obstacle
from whylight.views.classifier import Classifier
from whylight.views.trace import LabelTraceView

OF_LABELS = ("attingrad", "decompx_linear")
"""For models in which each label has an attention of its own."""
EXPLAINING = ("integrated_gradients", "kernel_shap")
REVIEWING = ("decompx_linear", "integrated_gradients", "occlusion", "kernel_shap")
"""For lists of evidence: signed and cheap ones first."""


def default_methods(classifier: Classifier, known: Sequence[str] = EXPLAINING, *, most: int = 1) -> list[str]:
    """Return the first methods that work with a classifier.

    Args:
        classifier: The classifier.
        known: The methods, best first; those for attention of labels come before them.
        most: How many.
    """
    own = OF_LABELS if LabelTraceView in classifier.offers else ()
    working = (name for name in dict.fromkeys((*own, *known)) if obstacle(METHODS[name], classifier) is None)
    return [name for name, _ in zip(working, range(most), strict=False)] or [known[0]]
