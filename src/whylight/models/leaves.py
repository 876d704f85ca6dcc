"""Where a graph starts: the sources of a score, made leaves that it can be differentiated by.

    level                tokens                              beside them
    embedding_output     what the embedding module gives     all biases
    word                 word embeddings                     position and type embeddings, all biases

All biases are one source, and with them whatever else a network adds by itself: tokens and positions that a vision
transformer has learnt, and the means that a batch norm takes off. Each is multiplied by one and the same number t = 1
where the network uses it, so that d score / d t is the sum over biases of bias x gradient. That happens in the thread
of the block alone: the parameters themselves stay as they are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  the name torch's own documentation uses
from torch import Tensor, nn
from transformers import PreTrainedModel

from whylight.models.calls import Calls
from whylight.models.unchanged import unchanged
from whylight.views.gradient import Level


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """The sources of one pass, filled while it runs.

    Attributes:
        tokens: One tensor a pass, `[rows, positions, dims]`.
        others: Sources that belong to no token.
    """

    tokens: list[Tensor] = field(default_factory=list)
    others: list[Tensor] = field(default_factory=list)


@contextmanager
def leaves(model: Any, level: Level) -> Iterator[Leaves]:  # noqa: ANN401  any transformers model
    """Run a model, otherwise unchanged, such that its sources are leaves."""
    found, tables = Leaves(), [model.get_input_embeddings()]
    embedding = embedding_module(model)
    beside = [one for one in embedding.modules() if isinstance(one, nn.Embedding) and one is not tables[0]]
    with unchanged(model), torch.enable_grad(), ExitStack() as stack:
        if level == "word":
            stack.enter_context(_leaf_outputs(tables, found.tokens))
            stack.enter_context(_leaf_outputs(beside, found.others))
        else:
            stack.enter_context(_leaf_outputs([embedding], found.tokens))
        found.others.append(stack.enter_context(leaf_biases(model)))
        yield found


def embedding_module(model: Any) -> nn.Module:  # noqa: ANN401  any transformers model
    """Return the module that turns ids into what the first layer reads; in decoders it is the word table alone."""
    table: nn.Module = model.get_input_embeddings()
    parent = next(module for module in model.modules() if any(child is table for child in module.children()))
    return table if isinstance(parent, PreTrainedModel) else parent


ADDED = ("bias", "cls_token", "distillation_token", "register_tokens", "position_embeddings")
"""How parameters are called that a network adds, and multiplies nothing with."""


@contextmanager
def leaf_biases(model: nn.Module) -> Iterator[Tensor]:
    """Multiply every bias, where it is used in the block, by the number 1 that is yielded."""
    biases = [parameter for name, parameter in model.named_parameters() if name.endswith(ADDED)]
    first = next(model.parameters())
    one = torch.ones(1, dtype=first.dtype, device=first.device, requires_grad=True)
    with _BiasCalls({id(bias): bias for bias in biases}, one):
        yield one


class _BiasCalls(Calls):
    """Puts bias x t in the place of each bias, where torch is handed one."""

    def __init__(self, biases: Mapping[int, Tensor], one: Tensor) -> None:
        super().__init__()
        self._biases = biases
        self._one = one

    def answer(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
        """Call the function with counted biases."""
        if function is F.batch_norm:
            return self._batch_norm(*args, **options)
        return function(*map(self._counted, args), **{name: self._counted(value) for name, value in options.items()})

    def _batch_norm(  # noqa: PLR0913, PLR0917  parameters are those of the function that it stands for
        self,
        input: Tensor,  # noqa: A002
        running_mean: Tensor | None,
        running_var: Tensor | None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        training: bool = False,  # noqa: FBT001, FBT002
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Tensor:
        """Return F.batch_norm, whose constant part is counted whole; parameters are named as there."""
        if training or running_mean is None or running_var is None:
            counted = None if bias is None else self._counted(bias)
            return F.batch_norm(input, running_mean, running_var, weight, counted, training, momentum, eps)
        slope = torch.rsqrt(running_var + eps) * (1 if weight is None else weight)
        constant = (0 if bias is None else bias) - running_mean * slope
        shape = (1, -1, *[1] * (input.dim() - 2))
        return input * slope.reshape(shape) + (constant * self._one).reshape(shape)

    def _counted(self, value: Any) -> Any:  # noqa: ANN401  whatever a torch function takes
        bias = self._biases.get(id(value))
        return value if bias is None else bias * self._one


@contextmanager
def _leaf_outputs(modules: Sequence[nn.Module], outputs: list[Tensor]) -> Iterator[None]:
    """Let the graph start at what some modules give out, and collect it."""

    def hook(_module: nn.Module, _args: object, output: Tensor) -> Tensor:
        outputs.append(output.detach().requires_grad_(True))  # noqa: FBT003  torch's own signature
        return outputs[-1]

    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_hook(hook).remove)
        yield
