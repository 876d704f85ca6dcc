"""Where a model looks its ids up: the one lookup that is its input, told from all others that the same table answers.

Ids are always passed, and what the table gives for them is exchanged by a hook, because `inputs_embeds` changes
positions (RoBERTa) or the pooled token (decoders) in several architectures. The same table may answer more than that
in one pass: types (GPT-2, XLM), a second time for a decoder (T5, BART), through modules that share its weights. A
lookup is the input's if it is one of

    ids              most models
    ids, filled up   BigBird, Longformer: positions that a model adds by itself stay
    ids, transposed  XLNet, which puts positions first
    ids, shifted     decoders of sequence-to-sequence models: the first position stays

All of them see the same exchanged embeddings, as they would see the same exchanged ids; any other is left alone. A pass
without a lookup of its ids is refused, because nothing would have been exchanged.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from whylight.core.arrays import Bools
from whylight.core.errors import IncompatibleError
from whylight.models.holding import held
from whylight.models.networks.plm_ca import PlmCaForSequenceClassification

Replace = Callable[[Tensor], Tensor]
"""Word embeddings `[rows, tokens, dims]` -> what stands in their place."""


@contextmanager
def word_embeddings(model: Any, replace: Replace) -> Iterator[None]:  # noqa: ANN401  any transformers model
    """Put something else in the place of the word embeddings of a model that gets its ids as a keyword.

    Args:
        model: The model.
        replace: Called once a pass.
    """
    passes = _Passes(replace)
    entry = model.encoder if isinstance(model, PlmCaForSequenceClassification) else model
    with held(model), ExitStack() as stack:
        stack.callback(entry.register_forward_pre_hook(passes.enter, with_kwargs=True).remove)
        for table in tables(model):
            stack.callback(table.register_forward_hook(passes.answer).remove)
        yield
    if passes.entered != passes.answered:
        raise IncompatibleError(
            f"'{type(model).__name__}' does not look its ids up in its word embeddings, so that they cannot be changed."
        )


@contextmanager
def zeroed_embeddings(model: Any, zeroed: Bools | None) -> Iterator[None]:  # noqa: ANN401  any transformers model
    """Set word embeddings `[rows, tokens]` to 0 inside the block, where a remover asks for it."""
    if zeroed is None:
        yield
        return
    mask = torch.as_tensor(zeroed, device=model.device)[..., None]
    with word_embeddings(model, lambda embeddings: embeddings.masked_fill(mask, 0)):
        yield


def tables(model: Any) -> list[nn.Module]:  # noqa: ANN401  any transformers model
    """Return the module of the word embeddings, and those that share its weights."""
    try:
        table = model.get_input_embeddings()
    except NotImplementedError:
        table = None
    if not isinstance(table, nn.Module):
        raise IncompatibleError(f"'{type(model).__name__}' has no table of word embeddings.")
    weight = getattr(table, "weight", None)
    shared = [module for module in model.modules() if weight is not None and _embedding_table(module) is weight]
    return list(dict.fromkeys([table, *shared]))


def _embedding_table(module: nn.Module) -> Tensor | None:
    return module.weight if isinstance(module, nn.Embedding) else None


class _Passes:
    """What is noted of the passes through a model, and what their lookups are answered with.

    Attributes:
        entered: Passes that began.
        answered: Passes in which ids were looked up.
    """

    def __init__(self, replace: Replace) -> None:
        self.entered = self.answered = 0
        self._replace = replace
        self._ids: Tensor | None = None
        self._others: list[Tensor] = []
        self._new: Tensor | None = None

    def enter(self, _module: nn.Module, _args: object, options: dict[str, Any]) -> None:
        """Note what a pass was given; one that goes on from another (answers behind a prompt) reads no input."""
        before = options.get("past_key_values")
        if before is not None and before.get_seq_length():
            self._ids = None
            return
        self.entered += 1
        self._ids, self._new = options["input_ids"], None
        self._others = [value for value in options.values() if isinstance(value, Tensor) and value is not self._ids]

    def answer(self, _module: nn.Module, args: tuple[Any, ...], output: Any) -> Tensor | None:  # noqa: ANN401
        """Answer a lookup; None leaves it as it is."""
        asked = args[0] if args else None
        if not isinstance(asked, Tensor) or not isinstance(output, Tensor) or not self._may_be_ids(asked):
            return None
        return self._answer(asked, output)

    def _may_be_ids(self, asked: Tensor) -> bool:
        """Say whether what is looked up is not another of the inputs."""
        if self._ids is None or asked.dim() != self._ids.dim():
            return False
        return _shares_memory(asked, self._ids) or not _shares_memory(asked, *self._others)

    def _answer(self, asked: Tensor, output: Tensor) -> Tensor | None:
        ids = self.ids
        length = ids.shape[1]
        if self._is_whole(asked):
            return self._exchanged(output)
        if len(asked) == len(ids) and asked.shape[1] > length and torch.equal(asked[:, :length], ids):
            return torch.cat([self._exchanged(output[:, :length]), output[:, length:]], dim=1)
        if torch.equal(asked, ids.T):
            return self._exchanged(output.transpose(0, 1)).transpose(0, 1)
        if self._new is not None and asked.shape == ids.shape and torch.equal(asked[:, 1:], ids[:, :-1]):
            return torch.cat([output[:, :1], self._exchanged(output)[:, :-1]], dim=1)
        return None

    def _is_whole(self, asked: Tensor) -> bool:
        """Say whether ids were looked up as they are; of ids that equal their transpose, a copy was transposed."""
        ids = self.ids
        return torch.equal(asked, ids) and (_shares_memory(asked, ids) or not torch.equal(ids, ids.T))

    @property
    def ids(self) -> Tensor:
        """What the pass was given, `[rows, tokens]`."""
        if self._ids is None:
            raise RuntimeError("no pass has begun")
        return self._ids

    def _exchanged(self, embeddings: Tensor) -> Tensor:
        """Return what stands in the place of the ids' embeddings, as a copy, because models change theirs in place."""
        if self._new is None:
            self._new = self._replace(embeddings)
            self.answered += 1
        return self._new.clone()


def _shares_memory(tensor: Tensor, *others: Tensor) -> bool:
    """Say whether a tensor is a view of the memory of any of the others."""
    own = tensor.untyped_storage().data_ptr()
    return any(own == other.untyped_storage().data_ptr() for other in others)
