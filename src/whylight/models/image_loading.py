"""Loading classifiers of pictures: a folder or hub id of Hugging Face, or any network with what prepares its input."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from whylight.core.errors import ModelError, SettingError
from whylight.core.labels import Head, Labels
from whylight.models import promises
from whylight.models.asked import Asked
from whylight.models.devices import CPU, check_placed, chosen_device, move
from whylight.models.folder import CONFIG, is_failure, quoted, reason
from whylight.models.images import ImageClassifier
from whylight.models.preparation import Preparation, Prepare
from whylight.models.reading import IMAGES, read_model

TASK = "ForImageClassification"
"""How Hugging Face calls classes of such models."""


def reads_images(model: object, preparer: object, _asked: Asked) -> bool:
    """Say whether a user's model is one of pictures: a folder that says so, or a network with a preparation of them."""
    if isinstance(model, str | Path):
        return any(TASK in name for name in _architectures(Path(model)))
    if isinstance(model, PreTrainedModel):
        return type(model).__name__.endswith(TASK)
    return isinstance(model, nn.Module) and callable(preparer) and not hasattr(preparer, "is_fast")


def load_image_classifier(model: Any, preparer: Any, asked: Asked) -> ImageClassifier:  # noqa: ANN401  as `wl.load`
    """Load a classifier of pictures.

    Args:
        model: A folder or hub id, a model of transformers, or any network.
        preparer: A processor of transformers, or a function.
        asked: What else is said of it.
    """
    asked.refuse_name()
    asked.refuse_pace("an image classifier")
    for name in ("max_tokens", "mask_string"):
        if getattr(asked, name) is not None:
            raise SettingError(f"{name}= is for classifiers of texts; leave it out with one of pictures.")
    if isinstance(model, str | Path):
        found = read_model(str(model), allow_pickle=asked.allow_pickle, task=IMAGES)
        if found.absent:
            raise ModelError(f"{quoted(model)} is not a trained classifier: its weights lack {found.absent[0]}.")
        move(found.model, chosen_device(CPU if asked.device is None else asked.device))
        network, preparer, name = found.model, preparer or found.tokenizer, str(model)
    else:
        network, name = model, getattr(getattr(model, "config", None), "_name_or_path", "") or type(model).__name__
        if isinstance(model, PreTrainedModel):
            check_placed(model, asked.device)
    if preparer is None:
        raise ModelError("a model of pictures needs what prepares its input: wl.load(model, processor).")
    own = _labels(network, asked.labels, asked.head)
    classifier = ImageClassifier(network, Preparation(_function(preparer)), labels=own, identity=name)
    _try_out(classifier)
    return classifier


def _labels(network: nn.Module, names: Sequence[str] | None, head: Head | None) -> Labels:
    if isinstance(network, PreTrainedModel):
        return promises.labels(network.config, names=names, head=head)
    if not names:
        raise ModelError(
            "a network of your own needs the names of its labels: wl.load(network, prepare, labels=[...])."
        )
    return Labels(tuple(names), head or "softmax")


def _function(preparer: Any) -> Prepare:  # noqa: ANN401
    """Return a processor of Hugging Face as a function of one picture; any other function is taken as it is."""
    if not hasattr(preparer, "image_processor_type") and not hasattr(preparer, "preprocess"):
        function: Callable[[Any], Tensor] = preparer
        return function

    def processed(picture: Any) -> Tensor:  # noqa: ANN401  a picture of Pillow
        values: Tensor = preparer(images=picture, return_tensors="pt")["pixel_values"][0]
        return values

    return processed


def _try_out(classifier: ImageClassifier) -> None:
    """Run a picture, and refuse a model that does not answer it with one number per label."""
    try:
        with torch.inference_mode(mode=False):
            classifier.encode(classifier.example(""), unit="patch", long="window")
    except ModelError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise ModelError(
            f"the model '{classifier.architecture}' cannot be run on a picture: {reason(error)}"
        ) from error


def _architectures(folder: Path) -> list[str]:
    """Return what a folder calls its model; whatever is wrong with it is for whoever reads it to say."""
    try:
        found = json.loads((folder / CONFIG).read_text(encoding="utf-8")).get("architectures")
    except (OSError, ValueError, AttributeError):
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
