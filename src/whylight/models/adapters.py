"""Adapters of peft (LoRA and its kin): a few weights that change those of a base model.

What is explained is a copy of the base model with the adapter's weights merged in, which every method can take apart
like any other model; it must answer as the adapter does. The user's own object is left as it is.
"""

import copy
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from whylight.core.errors import ModelError
from whylight.models.folder import ADAPTER_CONFIG, ADAPTER_WEIGHTS, check_inside, has_tokenizer, quoted, read_object
from whylight.models.holding import held
from whylight.models.reading import TRAINED, Read, Task, loading, read_model
from whylight.models.unchanged import unchanged

PREFIX = "base_model.model."
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-6}
"""How far merged and unmerged logits may lie apart, beside a logit of 1."""
HALF_TOLERANCE = 0.1
WHOLE_MODEL = ("model.safetensors", "model.safetensors.index.json")


def is_adapter(folder: Path) -> bool:
    """Say whether a folder holds an adapter."""
    if not (folder / ADAPTER_CONFIG).is_file():
        return False
    if any((folder / name).is_file() for name in WHOLE_MODEL):
        raise ModelError(f"{quoted(folder)} holds both a whole model and an adapter; move one of them elsewhere.")
    return True


def is_adapted(model: object) -> bool:
    """Say whether an object is a model of peft; whoever has one has imported it."""
    peft = sys.modules.get("peft")
    return peft is not None and isinstance(model, peft.PeftModel | peft.PeftMixedModel)


def merged_copy(model: Any, tokenizer: Any) -> Any:  # noqa: ANN401  a model of peft, a tokenizer
    """Return a plain model that answers as an adapted one does, which stays as it is."""
    with loading(Path(type(model).__name__)):  # no id of the hub
        return _merge(model, tokenizer)


def read_adapter(folder: Path, task: Task = "a text classifier") -> tuple[Any, Any]:
    """Read an adapter and its base model; return the merged model and its tokenizer.

    Args:
        folder: The folder of the adapter.
        task: What the base is read as.
    """
    try:
        from peft import PeftModel  # noqa: PLC0415  an optional dependency, needed here alone
    except ImportError:
        raise ModelError(f"{quoted(folder)} is an adapter; to load it: pip install 'whylight[peft]'.") from None
    check_inside(folder)
    name = _base_name(folder)
    if not (folder / ADAPTER_WEIGHTS).is_file():
        raise ModelError(f"{quoted(folder)} has no {ADAPTER_WEIGHTS}; adapters are read from safetensors only.")
    with loading(folder), safe_open(folder / ADAPTER_WEIGHTS, framework="pt") as file:
        shapes = {key.removeprefix(PREFIX): tuple(file.get_slice(key).get_shape()) for key in file.keys()}  # noqa: SIM118
    base = _read_base(name, shapes, folder, task)
    with loading(folder), torch.random.fork_rng(devices=[]):  # peft draws weights before it reads them
        adapted = PeftModel.from_pretrained(base.model, str(folder), use_safetensors=True, local_files_only=True)
        return _merge(adapted, base.tokenizer), base.tokenizer


def _base_name(folder: Path) -> str:
    config = read_object(folder / ADAPTER_CONFIG)
    if config.get("megatron_config") is not None:  # peft would import whatever module the adapter names
        raise ModelError(f"{quoted(folder)} asks for code of its own (megatron_config), and custom code is never run.")
    name = config.get("base_model_name_or_path")
    if not isinstance(name, str) or not name.strip():
        raise ModelError(
            f"{quoted(folder)} does not name its base model; put the two together with peft, and pass the result: "
            "wl.load(PeftModel.from_pretrained(base, folder), tokenizer)."
        )
    return name


def _read_base(name: str, shapes: dict[str, tuple[int, ...]], folder: Path, task: Task) -> Read:
    """Read a base model, with a head of the size that the adapter has; what both lack is refused."""
    tokenizer = folder if has_tokenizer(folder) else None
    try:
        read = partial(read_model, name, allow_pickle=False, task=task, tokenizer=tokenizer, local_files_only=True)
        base = read()
        outputs = _outputs(base.model, shapes) if task == "a text classifier" else None
        if outputs not in (None, base.model.config.num_labels):
            base = read(num_labels=outputs)
    except ModelError as error:
        raise ModelError(f"the base model of the adapter {quoted(folder)} is missing or broken: {error}") from error
    absent = [key for key in base.absent if key not in shapes]
    if absent:
        raise ModelError(f"{quoted(folder)} is not {TRAINED[task]}: it and its base lack {', '.join(absent[:3])}.")
    return base


def _outputs(model: Any, shapes: dict[str, tuple[int, ...]]) -> int | None:  # noqa: ANN401
    """Return how many labels an adapter has, if it brings a head of another size than the model's."""
    for key, tensor in model.state_dict().items():
        stored = shapes.get(key)
        if stored and stored[1:] == tuple(tensor.shape[1:]) and tensor.shape[:1] == (model.config.num_labels,):
            return stored[0]
    return None


def _merge(adapted: Any, tokenizer: Any) -> Any:  # noqa: ANN401
    """Return a merged copy, after checking on a short text that it answers alike."""
    kinds = [config for config in adapted.peft_config.values() if getattr(config, "is_prompt_learning", False)]
    if kinds:
        raise ModelError(f"the adapter '{kinds[0].peft_type.value}' adds tokens to the input; merge one that does not.")
    with held(adapted):  # hooks of another thread would be copied too
        merged = copy.deepcopy(adapted).merge_and_unload()
    inputs = tokenizer("a b c", return_tensors="pt").to(adapted.device)
    answers = []
    for model in (adapted, merged):
        with unchanged(model), torch.inference_mode():
            answers.append(model(**inputs).logits.double())
    apart = float((answers[0] - answers[1]).abs().max())
    tolerance = TOLERANCE.get(merged.dtype, HALF_TOLERANCE) * max(1.0, float(answers[0].abs().max()))
    if not apart <= tolerance:
        raise ModelError(f"merging the adapter changes the model's logits by {apart:.2g}; is it switched off?")
    return merged
