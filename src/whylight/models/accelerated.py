"""A network whose plain passes run on an exported copy, while gradients, traces and zeroed embeddings stay on torch.

    |copy(rows) - model(rows)|  <=  1e-4 x the largest logit

This is tried whenever a copy is opened, on texts of 3 and 30 words and on random coalitions of them; and on a text of
the user's, with random coalitions, if it is longer than what was tried before or if the model may have changed. What
does not hold is refused: a copy is the same function, or none.

Torch does not count every change of a weight (fused optimisers, `.data`), so that the model is looked at before each
text: all of its small weights and buffers, every 251st number of large ones, and the hooks on its modules.

Cost: a few passes of the model for each of these trials, and a few milliseconds per text.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whylight.core.arrays import Floats
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.errors import ModelError, SettingError
from whylight.core.labels import Head, Labels
from whylight.core.text import Text
from whylight.models import heads, trial
from whylight.models.copies import open_copy
from whylight.models.holding import held
from whylight.models.runtimes import Engine
from whylight.models.token_network import TokenNetwork
from whylight.models.unchanged import is_block_sparse, unchanged
from whylight.views.tokens import NO_FEATURE, TokenBatch, TokenWindow, stacked

TOLERANCE = 1e-4
"""How far a copy may be from its model, as a share of the largest logit."""
HALF = 0.5
SMALL, STEP = 4096, 251
"""Numbers of a weight that are all looked at; of more, one in so many: a prime, so that no column is passed over."""
COALITIONS = 2
"""Random ones that a window is tried on, once with words replaced and once with words left out."""


class AcceleratedNetwork(TokenNetwork):
    """A network and its exported copy.

    Args:
        model: A Hugging Face model on the CPU.
        tokenizer: Its fast tokenizer.
        limit: Tokens that it reads at once.
        engine: Which package runs the copy.
    """

    def __init__(self, model: Any, tokenizer: Any, *, limit: int, engine: Engine) -> None:  # noqa: ANN401
        super().__init__(model, tokenizer, limit=limit)
        if self.device.type != "cpu":
            raise SettingError(f"accelerate= is for models on the CPU; this one is on '{self.device}'.")
        if is_block_sparse(model.modules()):
            raise ModelError(f"'{self.architecture}' attends in blocks, which no copy can do; leave out accelerate=.")
        read = [super(AcceleratedNetwork, self).encode(Text(one), unit="word", long="truncate") for one in trial.TEXTS]
        rows = stacked([_coalitions(one, self.replacements) for text in read for one in self._windows(text)])
        self._pad = self._padding()
        options = {"use_cache": False} if "use_cache" in self._accepted else {}
        example = self.inputs(rows.take([0, len(rows) - 1]), pad=self._pad)
        self._copy = open_copy(model, tokenizer, example, engine=engine, options=options)
        self.token_budget = self._copy.token_budget
        self._engine, self._stamp, self._longest = engine, self._weights(), 0
        self._hold_against(rows)

    def encode(self, example: Text, *, unit: Unit, long: Long) -> Encoded:
        """Cut an example into features and windows; a longer one than before is tried first."""
        encoded = super().encode(example, unit=unit, long=long)
        windows = self._windows(encoded)
        longest, stamp = max(windows, key=lambda one: len(one.ids)), self._weights()
        if len(longest.ids) > self._longest or stamp != self._stamp:
            self._hold_against(_coalitions(longest, self.replacements))
            self._stamp = stamp
        # the bound, not what was found: that depends on which texts came before
        note = (
            f"answers come from a copy of the model in {self._copy.name}, which differed from it by less than "
            f"{TOLERANCE:g} of the largest logit where both were asked; gradients, traces and zeroed embeddings come "
            "from the model"
        )
        return replace(encoded, notes=(*encoded.notes, note))

    def contents(self, labels: Labels) -> dict[str, str]:
        """Return hashes as of the model itself, and who answers: the last digits are another's."""
        return {**super().contents(labels), "accelerate": self._engine}

    def label_logits(self, rows: TokenBatch, *, head: Head, identity: str) -> Floats:
        """Run one batch without gradient, on the copy unless embeddings are zeroed; one column per label."""
        if rows.zeroed is not None:
            return super().label_logits(rows, head=head, identity=identity)
        values: Floats = heads.columns(torch.from_numpy(self._copied(rows)), head).double().numpy()
        if not np.isfinite(values).all():
            raise ModelError(f"the model '{identity}' returned a logit that is not a finite number.")
        return values

    def _hold_against(self, rows: TokenBatch) -> None:
        """Ask copy and model about the same rows, and refuse a copy that answers differently."""
        with unchanged(self.model), torch.inference_mode():
            expected = self.forward(rows).logits.double().numpy()
            found = self._copied(rows)
        apart = float(np.abs(found - expected).max() / max(np.abs(expected).max(), np.finfo(np.float32).tiny))
        if not apart <= TOLERANCE:
            how = f"{apart:.1g} of the largest logit, and {TOLERANCE:g} is allowed"
            raise ModelError(
                f"the copy of '{self.architecture}' in {self._copy.name} is not the model: they differ by "
                f"{how if np.isfinite(apart) else 'numbers that are not finite'}; load the model anew if its weights "
                "have changed since, or leave out accelerate=."
            )
        self._longest = max(self._longest, int(rows.lengths.max()))

    def _copied(self, rows: TokenBatch) -> Floats:
        """Return what the copy says of a batch, as it is."""
        given = self.inputs(rows, pad=self._pad)
        return self._copy({name: value.numpy() for name, value in given.items()}).astype(np.float64)

    def _padding(self) -> int:
        known = (self.config.pad_token_id, self.tokenizer.pad_token_id)
        return int(next((token for token in known if token is not None), 0))

    def _weights(self) -> tuple[tuple[int, ...], ...]:
        """Return what changes when a weight does, or what a user has hooked onto the model."""
        with held(self.model):
            hooks = [(*one._forward_pre_hooks, *one._forward_hooks) for one in self.model.modules()]  # noqa: SLF001
            states = [*self.model.parameters(), *self.model.buffers()]
            return (*(one for one in hooks if one), *((id(one), one._version, _sampled(one)) for one in states))  # noqa: SLF001

    @staticmethod
    def _windows(encoded: Encoded) -> list[TokenWindow]:
        return [one for one in encoded.windows if isinstance(one, TokenWindow)]


def _sampled(tensor: Tensor) -> int:
    """Return a hash of numbers of a tensor: of all, or of every 251st if there are many."""
    flat = tensor.detach().reshape(-1)
    some = flat if len(flat) <= SMALL else flat[::STEP]
    return hash(some.contiguous().view(torch.uint8).cpu().numpy().tobytes())


def _coalitions(window: TokenWindow, replacements: Mapping[str, int]) -> TokenBatch:
    """Return a window untouched, and with random halves of it replaced or left out."""
    draw = np.random.default_rng(len(window.ids))
    rows = [window.ids]
    for _ in range(COALITIONS):
        chosen = (window.feature != NO_FEATURE) & (draw.random(len(window.ids)) < HALF)
        other = next(iter(replacements.values()), window.ids[0])
        rows += [np.where(chosen, other, window.ids), window.ids[~chosen]]
    types = [window.types[: len(row)] for row in rows]
    each = zip(rows, types, strict=True)
    return stacked([TokenBatch(ids[None], own[None], np.asarray([len(ids)])) for ids, own in each])
