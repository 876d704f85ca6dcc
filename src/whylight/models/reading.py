"""Reading a classifier and its tokenizer from a folder or from the hub, or saying in one sentence why not.

Weights are read from safetensors only, because a pickle can run code; custom model code is never run. A head that the
weights do not fill would decide at random, so that is refused too.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModelForCausalLM,
    AutoModelForImageClassification,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)
from transformers.utils import cached_file

from whylight.core.errors import ModelError, WhylightError
from whylight.core.interruption import taken
from whylight.models import networks
from whylight.models.folder import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    CONFIG,
    WEIGHT_INDEX,
    cannot_load,
    check_config,
    check_folder,
    check_index,
    check_task,
    existing,
    is_failure,
    quoted,
    read_object,
)
from whylight.models.hub import without_waiting
from whylight.models.quiet import quiet

SLACK = 1_000_000
"""Numbers that a model may have beyond those that its weights hold: positions and other buffers."""
LOADING = threading.RLock()
"""Loaders change global settings of torch and transformers; two at once would meet each other's."""


Task = Literal["a text classifier", "a language model", "an image classifier"]
LOADERS: dict[Task, Any] = {
    "a text classifier": AutoModelForSequenceClassification,
    "a language model": AutoModelForCausalLM,
    "an image classifier": AutoModelForImageClassification,
}
IMAGES: Task = "an image classifier"
TRAINED: dict[Task, str] = {
    "a text classifier": "a trained classifier",
    "a language model": "a trained language model",
    IMAGES: "a trained image classifier",
}
"""What a model must be whose weights are all there."""


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """What was read.

    Attributes:
        model: The model.
        tokenizer: Its tokenizer; of a classifier of pictures, its processor.
        absent: Parameters that the weights do not fill.
    """

    model: Any
    tokenizer: Any
    absent: tuple[str, ...]


def find_folder(path: str) -> Path | None:
    """Return the folder that a name stands for, or that of an adapter on the hub; None for a whole model there."""
    folder = existing(path)
    if folder is not None:
        return folder
    with loading(path):
        if _on_hub(path, CONFIG) is None and (adapter := _on_hub(path, ADAPTER_CONFIG)) is not None:
            _on_hub(path, ADAPTER_WEIGHTS)
            return adapter.parent
    return None


def read_model(
    path: str,
    *,
    allow_pickle: bool,
    task: Task = "a text classifier",
    tokenizer: Path | None = None,
    local_files_only: bool = False,
    num_labels: int | None = None,
) -> Read:
    """Read model and tokenizer.

    Args:
        path: A folder or hub id.
        allow_pickle: Also load pickled weights.
        task: What the model is read as.
        tokenizer: Folder of the tokenizer, if it is another.
        local_files_only: Do not ask the hub for what is not on this machine.
        num_labels: Outputs of the head, if they are others than the configuration says.
    """
    folder = existing(path)
    options: dict[str, Any] = {"local_files_only": local_files_only, "trust_remote_code": False}
    any_task, needs_tokenizer = task != "a text classifier", tokenizer is None and task != IMAGES
    if folder is None:
        _check_hub(path, local_files_only=local_files_only)
    else:
        check_folder(folder, allow_pickle=allow_pickle, needs_tokenizer=needs_tokenizer, any_task=any_task)
    networks.register()
    with loading(path, task):
        config = AutoConfig.from_pretrained(path, **options)
        if num_labels is not None:
            config.num_labels = num_labels
        if folder is not None:
            _check_configured_size(folder, config, task)
        model, report = LOADERS[task].from_pretrained(
            path,
            config=config,
            use_safetensors=None if allow_pickle else True,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # reported below in our own words
            **options,
        )
        preparer = AutoImageProcessor if task == IMAGES else AutoTokenizer
        words = preparer.from_pretrained(str(tokenizer or path), **options)
    mismatched = (key if isinstance(key, str) else key[0] for key in report["mismatched_keys"])
    return Read(model, words, tuple(sorted({*report["missing_keys"], *mismatched})))


@contextmanager
def loading(path: object, kind: str = "a text classifier") -> Iterator[None]:
    """Load one model at a time, quietly; whatever the loaders raise is about what the user named."""
    try:
        # parameters that are made in inference mode could not be differentiated
        with taken(LOADING), quiet(), without_waiting(path), torch.inference_mode(mode=False):
            yield
    except WhylightError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise cannot_load(path, f"as {kind}", error) from error


def _check_hub(path: str, *, local_files_only: bool) -> None:
    """Look at the configuration and the index of a model on the hub, as at those of a folder."""
    with loading(path):
        config, index = (_on_hub(path, name, local_files_only=local_files_only) for name in (CONFIG, WEIGHT_INDEX))
    if config is not None:
        check_task(read_object(config), path)
        check_config(read_object(config), path)
    if index is not None:
        check_index(read_object(index), path)


def _on_hub(path: str, name: str, *, local_files_only: bool = False) -> Path | None:
    found = cached_file(
        path,
        name,
        local_files_only=local_files_only,
        _raise_exceptions_for_gated_repo=False,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    return None if found is None else Path(found)


def _check_configured_size(folder: Path, config: Any, task: Task) -> None:  # noqa: ANN401  transformers' own
    """Refuse a configuration of a far larger model than the weights are: what they lack would be drawn at random."""
    with torch.device("meta"):
        empty = LOADERS[task].from_config(config, trust_remote_code=False)
    wanted = sum(tensor.numel() for tensor in (*empty.parameters(), *empty.buffers()))
    weights = [*folder.glob("*.safetensors"), *folder.glob("*.bin")]
    held = sum(file.stat().st_size for file in weights) * 2  # a byte holds two numbers at most
    if wanted > held + SLACK:
        raise ModelError(
            f"cannot load {quoted(folder)} as {task}: its configuration asks for {wanted:,} numbers, "
            f"and its weights hold {held:,} at most."
        )
