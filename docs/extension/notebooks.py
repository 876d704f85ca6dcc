"""Notebooks run without a network: kernels are spoken to over sockets of the file system, and no port is opened."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jupyter_client
from traitlets import default

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class LocalKernelManager(jupyter_client.AsyncKernelManager):
    """Starts kernels that listen on files in a folder of their own."""

    @default("transport")
    def _transport_of_files(self) -> str:
        return "ipc"

    @default("ip")
    def _folder_of_files(self) -> str:
        return str(Path(tempfile.mkdtemp(prefix="kernel-")) / "socket")


def setup(_: "Sphinx") -> dict[str, Any]:
    """Have notebooks run by such kernels, where the system has such sockets."""
    if os.name == "posix":
        jupyter_client.AsyncKernelManager = LocalKernelManager  # type: ignore[misc]  what notebooks are started by
    return {"parallel_read_safe": True, "parallel_write_safe": True}
