"""Random masking: classify texts of which a random part is gone, so that removing words is nothing new.

    L = mean over examples of the classification loss of x with each token of a word masked with probability r,
        r ~ Uniform(0, beta), one draw per example

Whoever measures an explanation by removing words asks a model about texts that it has never seen the like of. A copy of
the model that is fine-tuned in this way knows such texts, whatever words an explanation names: no retraining per method
is needed. Metrics are then measured on the copy (`--metric-model`), above all `f_fidelity_plus` and
`f_fidelity_minus` with the same beta.
Reference: Zheng et al. 2025 (F-Fidelity), step 1; their code, of images, takes exactly beta. Cost: one more pass.
"""

from zlib import crc32

import torch
from torch import Tensor

from whylight.core.errors import SettingError
from whylight.core.registry import objective
from whylight.views.step import Step, example_losses


@objective(cite="zheng2025", classifies=True)
def random_masking(step: Step, *, beta: float = 0.1) -> Tensor:
    """Learn the labels of texts with a random share of the tokens, up to beta, masked."""
    if not 0 < beta <= 1:
        raise SettingError(f"the setting 'beta' must lie above 0 and be at most 1, not {beta:g}.")
    ids, content = step.batch.ids, step.batch.content
    masked = torch.zeros_like(content)
    for row, own in enumerate(content):
        masked[row, own] = _masked_tokens(ids[row, own], beta, alike=not step.training)
    step.figures["masked_share"] = float(masked.sum() / content.sum().clamp(min=1))
    part = step.network.run(step.batch, train=step.training, ids=ids.masked_fill(masked, step.network.mask_id))
    return example_losses(part.logits, step.batch.labels).mean()


def _masked_tokens(ids: Tensor, beta: float, *, alike: bool) -> Tensor:
    """Draw which tokens of a text are masked.

    Args:
        ids: The tokens.
        beta: The largest share.
        alike: Whether a text is masked alike each time, so that checkpoints are compared on the same texts.
    """
    chance = torch.Generator().manual_seed(crc32(ids.cpu().numpy().tobytes())) if alike else None
    share, *each = torch.rand(1 + len(ids), generator=chance)
    return torch.stack([one < beta * share for one in each]).to(ids.device) if each else ids.bool()
