"""Label attention: every label reads a document through its own attention over the tokens.

Idea: a long document has one sentence on each of its labels, so that a label must be free to look where it wants. Both
decoders are one computation, with keys k_n and values v_n of the tokens and a query c_j of each label:

    A_jn = softmax over real tokens n of c_j . k_n        r_j = sum over n of A_jn v_n

    cross (PLM-CA)    k = W_k h          v = W_v h + b_v    y_j = w . LayerNorm(r_j) + b, w and b of all labels alike
    laat  (PLM-ICD)   k = tanh(W_1 h)    v = h              y_j = w_j . r_j + b_j, the queries c_j are the rows of W_2

There is no division by sqrt(D), as published. Stretches of a document can be read one by one, see `summaries`.

Reference: Edin et al. 2024, appendix A (cross); Huang et al. 2022 and Vu et al. 2020 (laat).

Cost: S D^2 for keys (and as much for values under `cross`) and 2 J S D for J labels. Labels are read in blocks, so that
without a gradient only `[batch, block, S]` stands in memory at once. A gradient keeps the attention of all blocks,
unless gradient checkpointing is on, which reads each block again on the way back.

The published code differs: until March 2026 padding took part in the softmax (all published numbers are of that state);
it hands out scores before the softmax; biases start at torch's default there and at zero here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from whylight.models.networks import summaries


class LabelAttention(nn.Module, ABC):
    """What the decoders share.

    Args:
        size: Width of hidden states.
        n_labels: Number of labels.
    """

    width: int
    """Numbers that a logit needs of a reading."""
    _gradient_checkpointing_func: Callable[..., Tensor]
    """Set by transformers, together with the flag below, when gradient checkpointing is switched on."""

    def __init__(self, size: int, n_labels: int) -> None:
        super().__init__()
        self.queries = nn.Linear(size, n_labels, bias=False)
        self.gradient_checkpointing = False

    @abstractmethod
    def keys_and_values(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return what queries are compared with and what is then read, each `[batch, tokens, size]`."""

    @abstractmethod
    def project(self, readings: Tensor, labels: Tensor) -> Tensor:
        """Reduce readings `[..., labels, size]` to what is needed of them, linearly: `[..., labels, width]`."""

    @abstractmethod
    def answer(self, projected: Tensor, labels: Tensor) -> Tensor:
        """Turn the projected readings `[..., labels, width]` of some labels into their logits `[..., labels]`."""

    def read(self, readings: Tensor, labels: Tensor) -> Tensor:
        """Turn the readings `[..., labels, size]` of some labels into their logits `[..., labels]`."""
        return self.answer(self.project(readings, labels), labels)

    def summarise(self, hidden: Tensor, mask: Tensor, *, labels: Tensor, block: int) -> Tensor:
        """Return what stretches of documents contribute to some labels, a summary each.

        Args:
            hidden: Encoded tokens `[batch, tokens, size]`.
            mask: `[batch, tokens]`, true or 1 at real tokens, of which each row has one.
            labels: Indices of the labels that read.
            block: Labels that read at once.

        Returns:
            `[batch, labels, 2 + width]`, in single precision at least.
        """
        keys, values = self.keys_and_values(hidden)
        real = mask.bool()[:, None]
        precise = torch.promote_types(values.dtype, torch.float32)  # sums of exponentials over a long document
        blocks = []
        for some in torch.split(labels, block):
            summary = summaries.of_scores(self._scores(keys, real, some).to(precise), values.to(precise))
            top, mass, sums = torch.split(summary, [1, 1, values.shape[-1]], dim=-1)
            blocks.append(torch.cat([top, mass, self.project(sums, some)], dim=-1))
        return torch.cat(blocks, dim=1)

    def answer_summary(self, summary: Tensor, labels: Tensor) -> Tensor:
        """Return the logits `[..., labels]` of documents that were read into summaries `[..., labels, 2 + width]`."""
        return self.answer(summaries.reading(summary).to(self.queries.weight.dtype), labels)

    def forward(
        self, hidden: Tensor, mask: Tensor, *, labels: Tensor, block: int, output_attention: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Read a document for some labels.

        Args:
            hidden: Encoded tokens `[batch, tokens, size]`.
            mask: `[batch, tokens]`, true or 1 at real tokens. Padding gets no attention; in a row of padding alone,
                which has no answer, attention is even and the logits are finite.
            labels: Indices of the labels that are read.
            block: Labels that are read at once.
            output_attention: Also return the attention. All labels are then read at once, so that the logits depend on
                the very tensor that is returned and can be differentiated by it.

        Returns:
            Logits `[batch, labels]` and attention `[batch, labels, tokens]` or None.
        """
        keys, values = self.keys_and_values(hidden)
        real = mask.bool()[:, None]
        if output_attention:
            attention = self._attend(keys, real, labels)
            return self.read(attention @ values, labels), attention
        blocks = [self._read_block(keys, values, real, some) for some in torch.split(labels, block)]
        return torch.cat(blocks, dim=1), None

    def _read_block(self, keys: Tensor, values: Tensor, real: Tensor, labels: Tensor) -> Tensor:
        def run(keys: Tensor, values: Tensor) -> Tensor:
            return self.read(self._attend(keys, real, labels) @ values, labels)

        if self.gradient_checkpointing and self.training:
            return self._gradient_checkpointing_func(run, keys, values)
        return run(keys, values)

    def _attend(self, keys: Tensor, real: Tensor, labels: Tensor) -> Tensor:
        return self._scores(keys, real, labels).softmax(dim=-1)

    def _scores(self, keys: Tensor, real: Tensor, labels: Tensor) -> Tensor:
        scores = self.queries.weight[labels] @ keys.transpose(1, 2)  # [batch, labels, tokens]
        # not -inf: a row of padding alone would become NaN, and its gradient would spoil the whole batch
        return scores.masked_fill(~real, torch.finfo(scores.dtype).min)


class CrossAttention(LabelAttention):
    """PLM-CA's decoder: one cross-attention layer with a single head, and one output that all labels share."""

    def __init__(self, size: int, n_labels: int) -> None:
        super().__init__(size, n_labels)
        self.width = size
        self.key = nn.Linear(size, size, bias=False)
        self.value = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)
        self.output = nn.Linear(size, 1)

    def keys_and_values(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return W_k h and W_v h + b_v."""
        return self.key(hidden), self.value(hidden)

    def project(self, readings: Tensor, labels: Tensor) -> Tensor:  # noqa: ARG002  all labels are read alike
        """Return r_j: the norm needs all of it."""
        return readings

    def answer(self, projected: Tensor, labels: Tensor) -> Tensor:  # noqa: ARG002  all labels are read alike
        """Return w . LayerNorm(r_j) + b."""
        logits: Tensor = self.output(self.norm(projected))
        return logits.squeeze(-1)


class LaatAttention(LabelAttention):
    """PLM-ICD's decoder: attention from a small network, and an output for each label."""

    def __init__(self, size: int, n_labels: int) -> None:
        super().__init__(size, n_labels)
        self.width = 1
        self.key = nn.Linear(size, size, bias=False)
        self.output = nn.Linear(size, n_labels)

    def keys_and_values(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return tanh(W_1 h) and h."""
        return torch.tanh(self.key(hidden)), hidden

    def project(self, readings: Tensor, labels: Tensor) -> Tensor:
        """Return w_j . r_j, all that the logit needs, so that a summary is three numbers."""
        return (readings * self.output.weight[labels]).sum(dim=-1, keepdim=True)

    def answer(self, projected: Tensor, labels: Tensor) -> Tensor:
        """Return w_j . r_j + b_j."""
        return projected.squeeze(-1) + self.output.bias[labels]


DECODERS: dict[str, type[CrossAttention | LaatAttention]] = {"cross": CrossAttention, "laat": LaatAttention}
