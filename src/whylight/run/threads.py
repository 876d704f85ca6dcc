"""Computing as the workers of a run do: in one thread, since the number of threads shows in the last digits."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Let torch compute in one thread inside the block."""
    import torch  # noqa: PLC0415  which takes long to load

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
