"""How the model of a command is asked, and where it runs: the options of every command that loads one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from whylight.cli.completion import complete_devices, complete_engines, complete_prompts

AskedBy = Annotated[
    str | None,
    typer.Option(
        "--prompt",
        help="How a causal language model is asked for a label: a ready prompt (see whylight prompts) or a TOML file.",
        metavar="NAME|FILE",
        autocompletion=complete_prompts,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="Where the model runs: cpu, cuda, cuda:1, ...; auto is an accelerator if there is one, else the CPU. "
        "[dim]\\[default: cpu][/]",
        autocompletion=complete_devices,
    ),
]
Accelerate = Annotated[
    str | None,
    typer.Option(
        "--accelerate",
        help="openvino or onnx: let a copy of the model answer, faster than torch on a CPU; gradients stay with torch.",
        metavar="openvino|onnx",
        autocompletion=complete_engines,
    ),
]
TrainingDevice = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="Where it is trained: cpu, cuda, ...; auto is an accelerator if there is one. [dim]\\[default: auto][/]",
        autocompletion=complete_devices,
    ),
]


@contextmanager
def training_on(device: str | None) -> Iterator[None]:
    """Let trainings inside the block run on a device; where none is named, on an accelerator if there is one."""
    from whylight.training.placing import placed  # noqa: PLC0415  torch loads only when it is needed

    with placed(device):
        yield
