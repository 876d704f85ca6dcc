"""Networks that run outside torch: a file, opened by onnxruntime or OpenVINO, as a function of named arrays.

Both packages are extras, and are imported when a file of theirs is opened. Both compute in single precision here, on as
many threads of the CPU as torch has. Importing OpenVINO reports to its makers unless its module for that cannot be
imported: here it cannot.

Cost: OpenVINO gets the rows of a batch in parts, one per thread, which run side by side; onnxruntime gets them whole.
"""

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, Literal, Protocol, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from whylight.core.arrays import Ints
from whylight.core.errors import ModelError
from whylight.core.interruption import taken
from whylight.models.batching import CPU_TOKEN_BUDGET
from whylight.models.folder import quoted, reason

Engine = Literal["openvino", "onnx"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
LOGITS = "logits"
TELEMETRY = "openvino_telemetry"
ONLY_DEATHS = 4
"""What onnxruntime may write to the terminal; what goes wrong is raised as well."""
NO_MEMORY = ("alloc", "out of memory", "not enough memory")
TWICE = 2
"""OpenVINO needs batches of twice the size that torch does to be at its best."""
_importing = Lock()

Output = NDArray[np.float32]
Shapes = Mapping[str, tuple[int | None, ...]]


class Runtime(Protocol):
    """A network in a file, opened.

    Attributes:
        name: The package that runs it, with its version.
        inputs: Names of its inputs, with the shape of each; None where a size is free.
        token_budget: Tokens that a batch should hold.
    """

    name: str
    inputs: Shapes
    token_budget: int

    def __call__(self, given: Mapping[str, Ints]) -> Output:
        """Return the logits `[rows, outputs]` of a batch; inputs that the file does not have are left out."""
        ...


class OnnxRuntime:
    """A file that onnxruntime runs.

    Args:
        file: The file.
    """

    token_budget = CPU_TOKEN_BUDGET

    def __init__(self, file: Path) -> None:
        package = needed("onnxruntime", extra="onnx", wish="an ONNX file")
        options = package.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = ONLY_DEATHS
        try:
            self._session = package.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # it raises classes of its own, which have no base in common
            raise ModelError(f"cannot read {quoted(file)} as an ONNX file: {reason(error)}") from error
        self.name = f"onnxruntime {package.__version__}"
        self._types = {one.name: np.int32 if "int32" in one.type else np.int64 for one in self._session.get_inputs()}
        self.inputs: Shapes = {one.name: _sizes(one.shape) for one in self._session.get_inputs()}
        self.kinds = {one.name: str(one.type) for one in self._session.get_inputs()}
        self.outputs: Shapes = {one.name: _sizes(one.shape) for one in self._session.get_outputs()}

    @property
    def output(self) -> str:
        """The output that is read: the one that is called `logits`, or the only one."""
        return LOGITS if LOGITS in self.outputs or len(self.outputs) != 1 else next(iter(self.outputs))

    def __call__(self, given: Mapping[str, Ints]) -> Output:
        """Return the logits `[rows, outputs]` of a batch."""
        fed = {name: np.ascontiguousarray(given[name], dtype=kind) for name, kind in self._types.items()}
        with _said_in_one_sentence():
            (found,) = self._session.run([self.output], fed)
        return np.asarray(found, dtype=np.float32)


class OpenVinoRuntime:
    """A file that OpenVINO runs.

    Args:
        file: The file, `.xml`, with its weights beside it.
    """

    def __init__(self, file: Path) -> None:
        package = openvino()
        self.streams = torch.get_num_threads()
        # told nothing, it computes in half precision where the processor can
        options = {
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": self.streams,
            "NUM_STREAMS": self.streams,
        }
        try:
            core = package.Core()
            self._compiled = core.compile_model(core.read_model(str(file)), "CPU", options)
        except Exception as error:
            raise ModelError(f"cannot read {quoted(file)} as a file of OpenVINO: {reason(error)}") from error
        self.name = f"OpenVINO {str(package.__version__).split('-')[0]}"
        self._order = [one.get_any_name() for one in self._compiled.inputs]
        self.inputs: Shapes = dict.fromkeys(self._order, (None, None))
        self._requests = [self._compiled.create_infer_request() for _ in range(self.streams)]
        self._turn = Lock()
        self.token_budget = TWICE * CPU_TOKEN_BUDGET * self.streams

    def __call__(self, given: Mapping[str, Ints]) -> Output:
        """Return the logits `[rows, outputs]` of a batch."""
        arrays = [np.ascontiguousarray(given[name], dtype=np.int64) for name in self._order]
        parts = np.array_split(np.arange(len(arrays[0])), min(self.streams, len(arrays[0])))
        with taken(self._turn), _said_in_one_sentence():
            running = list(zip(self._requests, parts, strict=False))  # fewer parts than requests, if rows are few
            for request, part in running:
                request.start_async([one[part[0] : part[-1] + 1] for one in arrays])
            for request, _ in running:
                request.wait()
            found = [request.get_output_tensor(0).data.copy() for request, _ in running]
        return np.concatenate(found).astype(np.float32)


def openvino() -> ModuleType:
    """Import OpenVINO such that it reports to nobody."""
    loaded: dict[str, Any] = sys.modules
    with taken(_importing):
        hidden = [] if "openvino" in loaded else [(TELEMETRY, loaded.get(TELEMETRY))]
        loaded.update({name: None for name, _ in hidden})  # as if it were not installed
        try:
            return needed("openvino", extra="openvino", wish="accelerate='openvino'")
        finally:
            for name, module in hidden:
                del loaded[name]
                loaded.update({} if module is None else {name: module})


def needed(package: str, *, extra: str, wish: str) -> ModuleType:
    """Import a package that is not always there, or say how it is installed.

    Args:
        package: The package.
        extra: What of whylight asks for it.
        wish: What it is needed for, in words.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ModelError(f"{wish} needs {package}: pip install 'whylight[{extra}]'.") from None


def cache_folder() -> Path:
    """Return where files are kept that can be made anew at any time."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "whylight"


def _sizes(shape: Sequence[Any]) -> tuple[int | None, ...]:
    return tuple(size if isinstance(size, int) else None for size in shape)


@contextmanager
def _said_in_one_sentence() -> Iterator[None]:
    """Turn what a package raises about a batch into one sentence; a lack of memory is for the engine to hear."""
    try:
        yield
    except Exception as error:
        if any(word in str(error).lower() for word in NO_MEMORY):
            raise RuntimeError(f"not enough memory: {error}") from error
        raise ModelError(f"the file cannot be run on a text: {reason(error)}") from error
