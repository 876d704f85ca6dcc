"""Models in training, as a step runs them: Hugging Face classifiers and PLM-CA.

Ids are always passed, and the word embeddings are taken or changed by a hook, for the reasons that `encoder` gives.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from whylight.core.errors import IncompatibleError
from whylight.models.lookups import word_embeddings
from whylight.models.networks.plm_ca import PlmCaForSequenceClassification, cut_chunks
from whylight.views.step import Network, Pass, TrainingBatch

Reads = Literal["first", "last", "all"]
"""Which positions of the last hidden state a head reads."""


def network(model: Any, *, mask_id: int) -> Network:  # noqa: ANN401  any transformers model
    """Look at a model as a step does.

    Args:
        model: A Hugging Face sequence classifier or a PLM-CA network.
        mask_id: Token that stands for "nothing".
    """
    if isinstance(model, PlmCaForSequenceClassification):
        return ChunkedNetwork(model, mask_id=mask_id)
    return EncoderNetwork(model, mask_id=mask_id)


class EncoderNetwork:
    """A sequence classifier: one row of tokens an example."""

    _attention_option = "output_attentions"

    def __init__(self, model: Any, *, mask_id: int) -> None:  # noqa: ANN401
        self.model = model
        self.mask_id = mask_id
        self._takes_types = "token_type_ids" in inspect.signature(model.forward).parameters
        self._reads: Reads | None = None

    @property
    def embedding_table(self) -> Tensor:
        """The word embeddings that are learnt."""
        table: Tensor = self.model.get_input_embeddings().weight
        return table

    def run(
        self,
        batch: TrainingBatch,
        *,
        train: bool,
        ids: Tensor | None = None,
        change: Callable[[Tensor], Tensor] | None = None,
        attention: bool = False,
    ) -> Pass:
        """Run a batch."""
        options = {self._attention_option: attention}
        output, embeddings = self._forward(batch, train=train, ids=ids, change=change, **options)
        return self._pass(batch, output, embeddings, attention=attention)

    def to_rows(self, batch: TrainingBatch, tokens: Tensor) -> Tensor:  # noqa: ARG002  chunked networks need it
        """Return what is given: embeddings are laid out as tokens are."""
        return tokens

    def _pass(self, batch: TrainingBatch, output: Any, embeddings: Tensor, *, attention: bool) -> Pass:  # noqa: ANN401
        examples = torch.arange(len(batch.ids), device=batch.ids.device)
        if not attention:
            return Pass(output.logits, embeddings, examples)
        if not output.attentions:
            raise IncompatibleError(f"'{type(self.model).__name__}' does not give out its attention weights.")
        return Pass(output.logits, embeddings, examples, tuple(output.attentions), pooled=self._pooled(batch))

    def _forward(
        self,
        batch: TrainingBatch,
        *,
        train: bool,
        ids: Tensor | None,
        change: Callable[[Tensor], Tensor] | None,
        **options: bool,
    ) -> tuple[Any, Tensor]:
        """Run the model and return its output and the word embeddings that it read."""
        read: list[Tensor] = []

        def hook(output: Tensor) -> Tensor:
            used = output if change is None else change(output)
            read.append(used if used.requires_grad else used.requires_grad_(True))  # noqa: FBT003  torch's own
            return read[-1]

        inputs: dict[str, Any] = {"input_ids": batch.ids if ids is None else ids, "attention_mask": batch.mask.long()}
        if self._takes_types and batch.types is not None:
            inputs["token_type_ids"] = batch.types
        with mode(self.model, train=train), word_embeddings(self.model, hook):
            output = self.model(**inputs, **options)
        return output, read[0]

    def _find_reads(self, batch: TrainingBatch) -> Reads:
        """Find the positions that the head reads: where the gradient by the last hidden state is not zero."""
        with torch.enable_grad():
            output, _ = self._forward(batch, train=False, ids=None, change=None, output_hidden_states=True)
            weights = torch.arange(1, output.logits.shape[-1] + 1, device=batch.ids.device, dtype=output.logits.dtype)
            found = torch.autograd.grad((output.logits * weights).sum(), output.hidden_states[-1], allow_unused=True)[0]
        places = torch.zeros_like(batch.mask) if found is None else found.abs().sum(-1) > 0
        for reads in ("first", "last", "all"):
            if torch.equal(places, _read_positions(batch, reads)):
                return reads
        raise IncompatibleError(
            f"the head of '{type(self.model).__name__}' reads its last hidden state in a way that has no attention row."
        )

    def _pooled(self, batch: TrainingBatch) -> Tensor:
        if self._reads is None:
            self._reads = self._find_reads(batch)
        places = _read_positions(batch, self._reads).float()
        return places / places.sum(-1, keepdim=True)


class ChunkedNetwork(EncoderNetwork):
    """A PLM-CA network: a document is read in several rows, and each label has its own attention."""

    _attention_option = "output_label_attention"

    def to_rows(self, batch: TrainingBatch, tokens: Tensor) -> Tensor:
        """Cut into chunks, without those of padding alone."""
        return cut_chunks(tokens, size=self.model.config.chunk_size)[self._real(batch)]

    def _pass(self, batch: TrainingBatch, output: Any, embeddings: Tensor, *, attention: bool) -> Pass:  # noqa: ANN401, ARG002
        real = self._real(batch)
        examples = torch.arange(len(batch.ids), device=batch.ids.device)[:, None].expand_as(real)
        return Pass(output.logits, embeddings, examples[real], label_attention=output.label_attention)

    def _real(self, batch: TrainingBatch) -> Tensor:
        return cut_chunks(batch.mask.long(), size=self.model.config.chunk_size).any(dim=-1)


@contextmanager
def mode(model: nn.Module, *, train: bool) -> Iterator[None]:
    """Hold a model in training or evaluation mode inside the block."""
    before = [(module, module.training) for module in model.modules()]
    model.train(train)
    try:
        yield
    finally:
        for module, was in before:
            module.training = was


def _read_positions(batch: TrainingBatch, reads: Reads) -> Tensor:
    """Mark the positions that a head reads, `[examples, tokens]`."""
    if reads == "all":
        return batch.mask
    chosen = torch.zeros_like(batch.mask)
    last = batch.mask.long().sum(-1) - 1 if reads == "last" else torch.zeros_like(batch.ids[:, 0])
    chosen[torch.arange(len(chosen), device=chosen.device), last] = True
    return chosen
