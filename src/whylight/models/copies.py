"""Exported copies of a network: written once, kept by what is in them, and opened by a faster package than torch.

A copy is what one call of the model computes, from its inputs to its logits, for any number of rows and tokens. It lies
in the user's cache under a hash of weights, configuration and versions, so that other weights are another copy. It is
written beside its place and renamed, so that what lies there is whole; one that cannot be opened is written anew.
Nothing is believed of it: whoever opens one holds it against the model (see `accelerated`).

Cost: seconds, once for each model; reading it later takes less than a second.
"""

import logging
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from whylight.core.errors import ModelError, WhylightError
from whylight.core.identity import digest
from whylight.core.interruption import taken
from whylight.models.contents import model_contents
from whylight.models.folder import is_failure, quoted, reason
from whylight.models.quiet import quiet
from whylight.models.reading import LOADING
from whylight.models.runtimes import (
    LOGITS,
    Engine,
    OnnxRuntime,
    OpenVinoRuntime,
    Runtime,
    cache_folder,
    needed,
    openvino,
)
from whylight.models.unchanged import unchanged

FORM = 1
"""Of the files; another one is another copy."""
FILES: Mapping[Engine, str] = {"openvino": "model.xml", "onnx": "model.onnx"}
OPENERS: Mapping[Engine, Callable[[Path], Runtime]] = {"openvino": OpenVinoRuntime, "onnx": OnnxRuntime}
NOISY = ("torch.onnx", "onnxscript", "onnx_ir")
"""Loggers that tell of every step."""


class Logits(nn.Module):
    """A model as a function of tensors in a fixed order, to its logits alone.

    Args:
        model: The model.
        names: What the tensors are called.
        options: What it is told besides.
    """

    def __init__(self, model: Any, names: tuple[str, ...], options: Mapping[str, object]) -> None:  # noqa: ANN401
        super().__init__()
        self.model, self.names, self.options = model, names, dict(options)

    def forward(self, *tensors: Tensor) -> Tensor:
        """Return the logits of a batch."""
        logits: Tensor = self.model(**dict(zip(self.names, tensors, strict=True)), **self.options).logits
        return logits


def open_copy(
    model: Any,  # noqa: ANN401  transformers' own types
    tokenizer: Any,  # noqa: ANN401
    example: Mapping[str, Tensor],
    *,
    engine: Engine,
    options: Mapping[str, object],
) -> Runtime:
    """Open the copy of a model, which is written first if there is none.

    Args:
        model: The model.
        tokenizer: Its tokenizer, without which the contents of a model are not known.
        example: A batch of two rows, by the names of the model's inputs.
        engine: Which package runs it.
        options: What the model is told besides its inputs.
    """
    package = openvino() if engine == "openvino" else needed("onnxruntime", extra="onnx", wish="accelerate='onnx'")
    versions = [str(package.__version__), str(torch.__version__), str(FORM)]
    contents = model_contents(model, tokenizer)
    name = digest([contents["weights"], contents["configuration"], engine, *example, *options, *versions])[:32]
    folder = cache_folder() / "copies" / name
    if (folder / FILES[engine]).is_file():
        try:
            return OPENERS[engine](folder / FILES[engine])
        except ModelError:  # damaged since it was written
            shutil.rmtree(folder, ignore_errors=True)
    _write(folder, lambda place: _export(model, example, place / FILES[engine], engine=engine, options=options))
    return OPENERS[engine](folder / FILES[engine])


def _write(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder, which at every moment is either whole or not there."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=folder.parent, ignore_cleanup_errors=True) as beside:
            place = Path(beside) / "copy"
            place.mkdir()
            fill(place)
            try:
                place.rename(folder)
            except OSError:
                if not folder.is_dir():  # where it is one, another process was quicker
                    raise
    except OSError as error:
        raise ModelError(
            f"cannot write a copy of the model to {quoted(folder)}: {reason(OSError(error.strerror))}"
        ) from None


def _export(
    model: Any,  # noqa: ANN401
    example: Mapping[str, Tensor],
    file: Path,
    *,
    engine: Engine,
    options: Mapping[str, object],
) -> None:
    whole, tensors = Logits(model, tuple(example), options), tuple(example.values())
    whole.training = False  # its own flag: `eval()` would reach the model, which `unchanged` sees to
    export = _to_openvino if engine == "openvino" else _to_onnx
    try:
        with unchanged(model), _silent(), torch.inference_mode(mode=False), torch.no_grad():
            export(whole, tensors, file)
    except WhylightError:
        raise
    except BaseException as error:
        if isinstance(error, OSError) or not is_failure(error):
            raise
        why = reason(error.__cause__ or error)  # exporters wrap what the model raised into a page of advice
        name = type(model).__name__
        raise ModelError(f"'{name}' cannot be copied to {engine}, load it without accelerate=: {why}") from error


def _to_openvino(whole: Logits, tensors: tuple[Tensor, ...], file: Path) -> None:
    package = openvino()
    copied = package.convert_model(whole, example_input=tensors)
    for port, name in zip(copied.inputs, whole.names, strict=True):
        port.get_tensor().set_names({name})
    package.save_model(copied, str(file), compress_to_fp16=False)


def _to_onnx(whole: Logits, tensors: tuple[Tensor, ...], file: Path) -> None:
    for package in ("onnx", "onnxscript"):
        needed(package, extra="onnx", wish="accelerate='onnx'")
    free = torch.export.Dim.DYNAMIC
    torch.onnx.export(
        whole,
        tensors,
        str(file),
        input_names=list(whole.names),
        output_names=[LOGITS],
        dynamic_shapes=(tuple({0: free, 1: free} for _ in tensors),),
        dynamo=True,
        verbose=False,
    )


@contextmanager
def _silent() -> Iterator[None]:
    """Keep what exporters say of their own steps off the terminal; what goes wrong is raised as well."""
    loggers = [logging.getLogger(name) for name in NOISY]
    before = [one.level for one in loggers]
    with taken(LOADING), quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in loggers:
            one.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for one, level in zip(loggers, before, strict=True):
                one.setLevel(level)
