"""DecompX by one backward pass: every token's own part of the logit, biases apart.

With attention weights, norm denominators and activation slopes f(x) / x held at their forward values, a transformer is
an affine map of its sources s_k, so that the part of a token that DecompX carries forward through every layer is

    a_k = sum over d of  s_kd (d f / d s_kd),        f = sum over all tokens k of a_k + sum over biases of b (d f / d b)

and one vector-Jacobian product gives it for all tokens at once, whatever the length. Special tokens and biases are
sources like words; the receipt's gap counts them, features do not get them.

`source="embedding_output"`: s_k is what the embedding module gives for token k, as in DecompX. `source="word"`: goes on
through the embedding's own norm to the word embeddings; position and type embeddings are then a source of their own.
Gated MLPs (ModernBERT, Llama): the activated gate is held too, and all is given to the other branch.

Reference: Modarressi et al. 2023. Cost: one forward pass, one backward pass per target.
The published code carries `[tokens, tokens, dims]` forward through edited copies of BERT and RoBERTa and shares biases
out among the tokens; where an activation's input is 0 it takes the slope 0 instead of the limit, which is taken here.
"""

import numpy as np
import torch

from whylight.core.errors import IncompatibleError
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.gradient import GradientView, Level, Linearisation

TOLERANCE = 1e-3
"""Share of the sources' size by which they may miss the score; in half precision some rounding errors more."""
ROUNDING = 32


@method(
    cite="modarressi2023",
    signed=True,
    cost="1 forward, 1 backward",
    good_for="splitting a logit exactly, also of long inputs, in one pass",
    complete=True,
    scores=("logit",),
    tried=True,
)
def decompx_linear(view: GradientView, *, source: Level = "embedding_output") -> Scores:
    """Split the logit exactly among the tokens, with attention, norms and slopes held."""
    linear = view.linearise(level=source, rule="frozen")
    _check_held(linear)
    return Scores(view.to_features(linear.shares), gap=linear.gap)


def _check_held(linear: Linearisation) -> None:
    """Refuse a network that has something in it that was not held."""
    size = linear.shares.abs().sum(-1) + linear.rest.abs() + linear.scores.abs()
    coarsest = max(torch.finfo(one.dtype).eps for one in (linear.shares, linear.scores))
    allowed = max(TOLERANCE, ROUNDING * coarsest) * size.double().cpu().numpy()
    worst = int(np.argmax(np.abs(linear.gap) - allowed))
    if abs(linear.gap[worst]) > allowed[worst]:
        raise IncompatibleError(
            f"'decompx_linear' splits a logit of {float(linear.scores[worst]):.3g} with an error of "
            f"{abs(linear.gap[worst]):.2g}: this model computes something that it cannot hold constant; "
            "integrated_gradients asks less of a model."
        )
