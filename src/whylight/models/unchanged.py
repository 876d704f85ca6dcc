"""Working on a user's model without leaving a trace: whatever a block changes is put back, also after an error.

Each block holds the model, so that threads take turns and Ctrl-C cannot stop a clean-up midway.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from whylight.models.holding import held
from whylight.models.quiet import quiet_step

_CAPTURE_FLAG = "_output_capturing_hooks_installed"
_HOOK_TABLES = ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")


@contextmanager
def unchanged(model: nn.Module) -> Iterator[None]:
    """Hold a model in evaluation mode with frozen parameters; mode, flags and attention type come back afterwards."""
    with held(model):
        modules = list(model.modules())  # once: a walk through a model takes as long as some of its layers
        modes = [(module, module.training) for module in modules]
        own = (parameter for module in modules for parameter in module._parameters.values())  # noqa: SLF001
        flags = [(parameter, parameter.requires_grad) for parameter in own if parameter is not None]
        try:
            _set([(module, False) for module in modules], [(parameter, False) for parameter, _ in flags])
            with _same_attention_type(model, modules):
                yield
        finally:
            _set(modes, flags)


def _set(modes: Iterable[tuple[nn.Module, bool]], flags: Iterable[tuple[nn.Parameter, bool]]) -> None:
    """Give modules their mode and parameters their flag, where they have another."""
    for module, mode in modes:
        if module.training != mode:
            module.training = mode
    for parameter, flag in flags:
        if parameter.requires_grad != flag:
            parameter.requires_grad_(flag)


def is_block_sparse(modules: Iterable[nn.Module]) -> bool:
    """Say whether a model attends in blocks (BigBird), so that its answer depends on how far a row is padded."""
    return any(getattr(module, "attention_type", None) == "block_sparse" for module in modules)


@contextmanager
def _same_attention_type(model: nn.Module, modules: list[nn.Module]) -> Iterator[None]:
    """Undo the switch to full attention that BigBird makes on a short input and then keeps.

    It puts new modules in the place of the old ones, and draws their first weights from the global generator.
    """
    if not is_block_sparse(modules):
        yield
        return
    parts = [(module, dict(module._modules), getattr(module, "attention_type", None)) for module in model.modules()]  # noqa: SLF001
    try:
        with torch.random.fork_rng():
            yield
    finally:
        for module, children, kind in parts:
            module._modules.update(children)  # noqa: SLF001
            if kind is not None:
                module.attention_type = kind


@contextmanager
def eager_attention(model: Any) -> Iterator[None]:  # noqa: ANN401  any transformers model
    """Compute attention step by step inside the block, because fused kernels return no weights."""
    with held(model), ExitStack() as stack:
        before = model.config._attn_implementation  # noqa: SLF001  transformers offers no public reader
        if before != "eager":
            _set_attention(model, "eager")
            stack.callback(_set_attention, model, before)
        stack.enter_context(_same_hooks(model))
        yield


def _set_attention(model: Any, kind: str) -> None:  # noqa: ANN401
    """Choose how attention is computed; of a part that a model was made without, transformers warns each time."""
    with quiet_step():
        model.set_attn_implementation(kind)


@contextmanager
def padding_token(model: Any, ids: Tensor, pad: int | None) -> Iterator[int]:  # noqa: ANN401
    """Give a decoder without a padding token one for the time of a batch: an id that does not occur in it.

    Such a model refuses batches, and with one it finds the last token of a row by it.
    """
    with held(model):
        config = model.config.get_text_config()
        if config.pad_token_id is not None:
            yield int(config.pad_token_id)
            return
        used = set(torch.unique(ids).tolist())
        free = next(i for i in (pad, *range(len(used) + 1)) if i is not None and i not in used)
        config.pad_token_id = free
        try:
            yield free
        finally:
            config.pad_token_id = None


@contextmanager
def _same_hooks(model: nn.Module) -> Iterator[None]:
    """Remove the hooks that transformers installs for good when attention is first asked for."""
    modules = list(model.modules())
    before = [{table: set(getattr(m, table)) for table in _HOOK_TABLES} for m in modules]
    unmarked = [m for m in modules if _CAPTURE_FLAG not in m.__dict__]
    try:
        yield
    finally:
        for module, tables in zip(modules, before, strict=True):
            for table, keys in tables.items():
                for key in set(getattr(module, table)) - keys:
                    del getattr(module, table)[key]
        for module in unmarked:
            module.__dict__.pop(_CAPTURE_FLAG, None)
