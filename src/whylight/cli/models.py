"""How the model of a command is asked, and where it runs: the options of every command that loads one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from whylight.cli.completion import complete_devices, complete_engines, complete_prompts
from whylight.cli.settings import parse_settings
from whylight.core.endpoint import Endpoint, parse_endpoint
from whylight.core.errors import SettingError

AskedBy = Annotated[
    str | None,
    typer.Option(
        "--prompt",
        help="How a causal language model is asked for a label: a ready prompt (see whylight prompts) or a TOML file; "
        "settings may stand behind its name (whylight prompts --help).",
        metavar="NAME|FILE",
        autocompletion=complete_prompts,
    ),
]
EndpointUrl = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        help="Instead of --model, with --prompt: a language model that answers over HTTP as OpenAI's do, with "
        "log-probabilities. Texts are sent there.",
        metavar="URL",
    ),
]
EndpointModel = Annotated[
    str | None, typer.Option("--endpoint-model", help="Which model of the endpoint is asked.", metavar="NAME")
]
EndpointSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--endpoint-set",
        help="Setting of the endpoint, may be repeated: key_variable (the environment variable that holds the key), "
        "top_logprobs, retries, per_minute, timeout, in_flight, wait, allow_http.",
        metavar="NAME=VALUE",
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


def named_model(
    model: str | None, endpoint: str | None, name: str | None, settings: list[str] | None
) -> str | Endpoint | None:
    """Return the model that a command names: a folder or hub id, an endpoint, or nothing for the bundled one.

    Args:
        model: Folder or hub id.
        endpoint: The URL of an endpoint.
        name: Its model.
        settings: Its settings, each NAME=VALUE; no message repeats one, which may hold a key by a slip.
    """
    if endpoint is None:
        if name is not None or settings:
            raise SettingError("--endpoint-model and --endpoint-set are for an endpoint; name it by --endpoint URL.")
        return model
    if model is not None:
        raise SettingError("--model is on this machine and --endpoint behind a URL; name one of them.")
    if not all(one.partition("=")[1] and one[0] != "=" for one in settings or []):
        raise SettingError("--endpoint-set takes NAME=VALUE, e.g. --endpoint-set retries=10.")
    return parse_endpoint(endpoint, name, parse_settings(settings or []))


@contextmanager
def training_on(device: str | None) -> Iterator[None]:
    """Let trainings inside the block run on a device; where none is named, on an accelerator if there is one."""
    from whylight.training.placing import placed  # noqa: PLC0415  torch loads only when it is needed

    with placed(device):
        yield
