"""Standing between a network and torch: what a network calls inside a block may be answered in another way.

Calls of torch functions and the outputs of modules are seen in the thread of the block alone; nothing of the network
is touched.
"""

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from whylight.core.interruption import postponed


class Calls(TorchFunctionMode):
    """Answers the calls of torch functions inside a block."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401  torch's own signature
        return self.answer(func, args, dict(kwargs or {}))

    @abstractmethod
    def answer(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
        """Return what a call gives: `function(*args, **options)`, or something in its place."""


@contextmanager
def outputs_changed(
    kinds: tuple[type[nn.Module], ...], change: Callable[[nn.Module, Tensor, Tensor], Tensor | None]
) -> Iterator[None]:
    """Change what modules of some kinds give out inside the block.

    Args:
        kinds: Classes of modules that take one tensor.
        change: From a module, its input and its output to another output, or None to leave it.
    """
    here = threading.get_ident()

    def hook(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        # A global hook also sees modules that are made inside forward(), and fires in every thread.
        ours = threading.get_ident() == here and isinstance(module, kinds)
        return change(module, args[0], output) if ours else None

    with postponed():
        handle = nn.modules.module.register_module_forward_hook(hook)  # type: ignore[arg-type]  # its stub forbids a result
        try:
            yield
        finally:
            handle.remove()
