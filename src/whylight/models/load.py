"""Loading classifiers: a folder or hub id, a file, a model, a pipeline, a function, a URL, or the bundled model.

Which of these a user's model is, `CARRIERS` says: the first that recognises it loads it.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from whylight.core.endpoint import Endpoint
from whylight.core.errors import ModelError, SettingError, unknown
from whylight.core.labels import HEADS, Head
from whylight.core.prompt import Prompt
from whylight.models import carriers
from whylight.models.asked import Asked
from whylight.models.bundled_start import BUNDLED  # noqa: F401  known by this name
from whylight.models.callable import TextFunction
from whylight.models.image_loading import load_image_classifier, reads_images
from whylight.models.runtimes import ENGINES, Engine
from whylight.views.classifier import Classifier

Recognises = Callable[[Any, Any, Asked], bool]
Loads = Callable[[Any, Any, Asked], Classifier]
"""A user's model, its tokenizer and what is asked of it -> whether it is of this kind, or the classifier."""


def load(  # noqa: PLR0913  every argument is optional and named
    model: str | Path | PreTrainedModel | TextFunction | Endpoint | None = None,
    tokenizer: Any = None,  # noqa: ANN401  transformers' own type
    *,
    labels: Sequence[str] | None = None,
    head: Head | None = None,
    mask_string: str | None = None,
    max_tokens: int | None = None,
    prompt: str | Path | Prompt | None = None,
    device: str | None = None,
    allow_pickle: bool = False,
    identity: str | None = None,
    accelerate: str | None = None,
) -> Classifier:
    """Load a classifier.

    Args:
        model: Folder or hub id of a sequence classifier, a loaded model (with `tokenizer`), a function
            `list[str] -> probabilities [texts, labels]` (with `labels`), or nothing for the bundled sentiment model.
            A folder with an ONNX file and its tokenizer, or the file, is a classifier without gradients.
            A folder or model may be an adapter of peft (LoRA), which is merged into a copy of its base. A
            text-classification pipeline of Hugging Face is read as its model and tokenizer. A `wl.Endpoint` (with
            `prompt`) is a language model that answers over HTTP.
        tokenizer: The tokenizer of a loaded model. Of a model of pictures, its image processor, or any function from a
            picture of Pillow to its input `[3, height, width]`; `model` is then any network with logits, and needs
            `labels`.
        labels: Names of the labels; needed for a callable, else they replace the model's own.
        head: `softmax`, `sigmoid` (multi-label), `binary` (one logit) or `regression` (values), where the model
            does not say.
        mask_string: For a callable: what replaces a removed word under the remover `mask`.
        max_tokens: Read at most this many tokens at once, if the model could read more.
        prompt: How a causal language model is asked for a label: the name of a ready prompt (`sentiment`, `emotion`,
            `nli`), a TOML file, or a `wl.Prompt`. One without answers (`question`) lets it write: what it writes, or a
            text that `target=` names, is then explained.
        device: Where a model that is loaded here runs, e.g. `"cuda"`; `"auto"` is an accelerator if there is one, else
            the CPU, which is also the default. A model that you have placed yourself is never moved: another device
            than its own is refused.
        allow_pickle: Also load pickled weights (they can run code: only from a source that you trust).
        identity: For a callable: a name by which folders of results know it; give another when the function changes.
        accelerate: `"openvino"` or `"onnx"`: answers come from a copy of the model that this package runs, faster than
            torch on a CPU; gradients stay with torch. The copy is made once and held against the model.

    Returns:
        The classifier.

    Example:
        >>> import whylight as wl
        >>> clf = wl.load()
        >>> clf.labels.names
        ('negative', 'positive')
    """
    asked = Asked(
        labels=_listed_names(labels),
        head=_known_head(head),
        mask_string=mask_string,
        max_tokens=max_tokens,
        prompt=prompt,
        device=device,
        allow_pickle=allow_pickle,
        identity=identity,
        accelerate=_known_engine(accelerate),
    )
    plain = _unwrapped(model)
    for recognises, loads in CARRIERS:
        if recognises(plain, tokenizer, asked):
            return loads(plain, tokenizer, asked)
    raise ModelError(f"cannot explain a {type(plain).__name__}; give a folder, a hub id, a model or a callable.")


CARRIERS: tuple[tuple[Recognises, Loads], ...] = (
    (carriers.is_endpoint, carriers.load_endpoint),
    (carriers.is_asked_by_a_prompt, carriers.load_prompted),
    (reads_images, load_image_classifier),
    (carriers.is_pipeline, carriers.load_pipeline),
    (carriers.is_model, carriers.load_model),
    (carriers.is_function, carriers.load_function),
    (carriers.is_onnx, carriers.load_onnx),
    (carriers.is_path, carriers.load_path),
)
"""Kinds of models, the more particular first."""


def _known_head(head: Head | None) -> Head | None:
    if head is not None and head not in HEADS:
        raise unknown("head", head, HEADS)
    return head


def _known_engine(name: str | None) -> Engine | None:
    """Return the package that a name stands for, or raise the error that lists them."""
    found = next((engine for engine in ENGINES if engine == name), None)
    if name is not None and found is None:
        raise unknown("package to accelerate with", name, ENGINES)
    return found


def _listed_names(labels: Iterable[object] | None) -> tuple[str, ...] | None:
    """Return the names of labels, however a user lists them (a scikit-learn model has an array of them)."""
    if isinstance(labels, str):
        raise SettingError(f"labels is a list of names, e.g. ['negative', 'positive'], not the text '{labels}'.")
    return None if labels is None else tuple(str(label) for label in labels)


def _unwrapped(model: object) -> object:
    """Return the model inside what torch wraps around one: compiled, or spread over devices."""
    parallel = (nn.DataParallel, nn.parallel.DistributedDataParallel)
    while isinstance(model, nn.Module) and (isinstance(model, parallel) or hasattr(model, "_orig_mod")):
        model = model.module if isinstance(model, parallel) else model._orig_mod  # noqa: SLF001  its only name
    return model
