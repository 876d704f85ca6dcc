"""Loading classifiers: a folder or hub id, an ONNX file, a model with its tokenizer, a pipeline, a callable, ours."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypedDict

from torch import nn
from transformers import PreTrainedModel

from whylight.core.errors import ModelError, SettingError, unknown
from whylight.core.labels import HEADS, Head, Labels
from whylight.core.prompt import Prompt, read_prompt
from whylight.models import promises
from whylight.models.accelerated import AcceleratedNetwork
from whylight.models.adapters import is_adapted, is_adapter, merged_copy, read_adapter
from whylight.models.bundled_start import BUNDLED, BUNDLED_NAME
from whylight.models.callable import CallableClassifier, TextFunction
from whylight.models.chunked import ChunkedClassifier
from whylight.models.devices import AUTO, CPU, check_placed, chosen_device, move
from whylight.models.encoder import TransformerClassifier
from whylight.models.folder import quoted
from whylight.models.onnx_reading import find_file, load_file
from whylight.models.pipelines import is_pipeline, unpack
from whylight.models.prompted import PromptedNetwork
from whylight.models.reading import find_folder, read_model
from whylight.models.runtimes import ENGINES, Engine
from whylight.views.classifier import Classifier


def load(  # noqa: PLR0913  every argument is optional and named
    model: str | Path | PreTrainedModel | TextFunction | None = None,
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
            text-classification pipeline of Hugging Face is read as its model and tokenizer.
        tokenizer: The tokenizer of a loaded model.
        labels: Names of the labels; needed for a callable, else they replace the model's own.
        head: `softmax`, `sigmoid` (multi-label), `binary` (one logit) or `regression` (values), where the model
            does not say.
        mask_string: For a callable: what replaces a removed word under the remover `mask`.
        max_tokens: Read at most this many tokens at once, if the model could read more.
        prompt: How a causal language model is asked for a label: the name of a ready prompt (`sentiment`, `emotion`,
            `nli`), a TOML file, or a `wl.Prompt`.
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
    if head is not None and head not in HEADS:
        raise unknown("head", head, HEADS)
    engine = _engine(accelerate)
    names = _listed_names(labels)
    model = _unwrapped(model)
    if prompt is not None:
        _check_own_pace(engine, "a prompted language model")
        return _load_prompted(model, tokenizer, prompt, max_tokens=max_tokens, device=device, allow_pickle=allow_pickle)
    if identity is not None and not _is_callable(model):
        raise SettingError("identity= is the name of a callable; a model is known by its weights.")
    if is_pipeline(model):
        own = unpack(model, tokenizer)
        model, tokenizer, head, max_tokens = own.model, own.tokenizer, head or own.head, max_tokens or own.max_tokens
    asked: _Asked = {"labels": names, "head": head, "max_tokens": max_tokens, "accelerate": engine}
    if isinstance(model, PreTrainedModel) or is_adapted(model):
        check_placed(model, device)
        plain, name = _given(model, tokenizer)
        return _transformer(plain, tokenizer, identity=name, asked=asked)
    if callable(model):
        _check_no_device(device)
        _check_own_pace(engine, "a callable")
        return _callable(model, labels=names, head=head, mask_string=mask_string, identity=identity)
    if not isinstance(model, str | Path | None):
        raise ModelError(f"cannot explain a {type(model).__name__}; give a folder, a hub id, a model or a callable.")
    return _from_path(model, tokenizer, device=device, allow_pickle=allow_pickle, asked=asked)


class _Asked(TypedDict):
    """What is asked of a classifier, wherever its weights come from."""

    labels: tuple[str, ...] | None
    head: Head | None
    max_tokens: int | None
    accelerate: Engine | None


def _engine(name: str | None) -> Engine | None:
    """Return the package that a name stands for, or raise the error that lists them."""
    found = next((engine for engine in ENGINES if engine == name), None)
    if name is not None and found is None:
        raise unknown("package to accelerate with", name, ENGINES)
    return found


def _check_own_pace(accelerate: Engine | None, what: str) -> None:
    """Refuse to speed up what no copy is made of."""
    if accelerate is not None:
        raise SettingError(
            f"accelerate= is for Hugging Face classifiers that read a text at once; {what} runs as it is."
        )


def _from_path(
    model: str | Path | None,
    tokenizer: Any,  # noqa: ANN401
    *,
    device: str | None,
    allow_pickle: bool,
    asked: _Asked,
) -> Classifier:
    """Load what lies in a file or folder or on the hub, or the bundled model."""
    bundled, place = model in (None, BUNDLED_NAME), chosen_device(device or CPU)
    file = None if bundled else find_file(str(model))
    if file is not None:
        _check_own_pace(asked["accelerate"], "an ONNX file")
        return load_file(
            file,
            tokenizer,
            labels=asked["labels"],
            head=asked["head"],
            max_tokens=asked["max_tokens"],
            device=device,
        )
    path = str(BUNDLED) if bundled else str(model)
    loaded, its_tokenizer = _read_either(path, allow_pickle=allow_pickle)
    move(loaded, place)
    name = BUNDLED_NAME if path == str(BUNDLED) else path
    return _transformer(loaded, tokenizer or its_tokenizer, identity=name, asked=asked)


def _load_prompted(
    model: Any,  # noqa: ANN401
    tokenizer: Any,  # noqa: ANN401
    prompt: str | Path | Prompt,
    *,
    max_tokens: int | None,
    device: str | None,
    allow_pickle: bool,
) -> TransformerClassifier:
    """Load a causal language model behind a prompt."""
    asked = read_prompt(prompt)
    if isinstance(model, PreTrainedModel) or is_adapted(model):
        check_placed(model, device)
        plain, name = _given(model, tokenizer)
    elif isinstance(model, str | Path):
        found = read_model(str(model), allow_pickle=allow_pickle, task="a language model")
        if found.absent:
            raise ModelError(f"{quoted(model)} is not a trained language model: its weights lack {found.absent[0]}.")
        plain, tokenizer, name = found.model, tokenizer or found.tokenizer, str(model)
        move(plain, chosen_device(device or CPU))
    else:
        raise ModelError("a prompt is for a causal language model: give a folder, a hub id, or model and tokenizer.")
    promises.check_promises(plain, tokenizer, prompted=True)
    limit = promises.limit(plain, tokenizer, max_tokens=max_tokens)
    network = PromptedNetwork(plain, tokenizer, prompt=asked, limit=limit)
    labels, name = Labels(tuple(asked.answers)), f"{name} asked by '{asked.name}'"
    classifier = TransformerClassifier(plain, tokenizer, labels=labels, identity=name, limit=limit, network=network)
    promises.try_out(classifier)
    return classifier


def _listed_names(labels: Iterable[object] | None) -> tuple[str, ...] | None:
    """Return the names of labels, however a user lists them (a scikit-learn model has an array of them)."""
    if isinstance(labels, str):
        raise SettingError(f"labels is a list of names, e.g. ['negative', 'positive'], not the text '{labels}'.")
    return None if labels is None else tuple(str(label) for label in labels)


def _given(model: Any, tokenizer: Any) -> tuple[Any, str]:  # noqa: ANN401  transformers' or peft's own
    """Return the plain model that a user's object stands for, and what to call it."""
    if tokenizer is None:
        raise ModelError("a loaded model needs its tokenizer: wl.load(model, tokenizer).")
    identity = getattr(model.config, "_name_or_path", "") or type(model).__name__
    if not is_adapted(model):
        return model, identity
    return merged_copy(model, tokenizer), f"{identity} with adapter {', '.join(model.active_adapters)}"


def _check_no_device(device: str | None) -> None:
    if device not in (None, AUTO):
        raise SettingError("device= is for a model; a callable runs where it runs.")


def _unwrapped(model: object) -> object:
    """Return the model inside what torch wraps around one: compiled, or spread over devices."""
    parallel = (nn.DataParallel, nn.parallel.DistributedDataParallel)
    while isinstance(model, nn.Module) and (isinstance(model, parallel) or hasattr(model, "_orig_mod")):
        model = model.module if isinstance(model, parallel) else model._orig_mod  # noqa: SLF001  its only name
    return model


def _is_callable(model: object) -> bool:
    return (
        callable(model) and not isinstance(model, PreTrainedModel) and not is_adapted(model) and not is_pipeline(model)
    )


def _callable(
    function: TextFunction,
    *,
    labels: Sequence[str] | None,
    head: Head | None,
    mask_string: str | None,
    identity: str | None,
) -> CallableClassifier:
    if not labels:
        if isinstance(function, nn.Module):
            raise ModelError(
                f"a '{type(function).__name__}' is no classifier of transformers; wrap it in a function from texts to "
                "probabilities, and pass labels=[...]."
            )
        raise ModelError("a callable needs the names of its columns: wl.load(function, labels=['negative', ...]).")
    if head in ("binary", "regression"):
        raise SettingError("a callable returns one column per label; use head='softmax' or head='sigmoid'.")
    name = getattr(function, "__qualname__", type(function).__name__)
    return CallableClassifier(
        function,
        labels=Labels(tuple(labels), head or "softmax"),
        identity=f"callable:{name}" if identity is None else identity,
        mask_string=mask_string,
        named=identity is not None,
    )


def _read_either(path: str, *, allow_pickle: bool) -> tuple[Any, Any]:
    """Read a whole model, or an adapter with its base."""
    folder = find_folder(path)
    if folder is not None and is_adapter(folder):
        return read_adapter(folder)
    found = read_model(path, allow_pickle=allow_pickle)
    if found.absent:
        lacking = ", ".join(found.absent[:3])
        raise ModelError(f"{quoted(path)} is not a trained classifier: its weights lack {lacking}.")
    return found.model, found.tokenizer


def _transformer(
    model: Any,  # noqa: ANN401
    tokenizer: Any,  # noqa: ANN401
    *,
    identity: str,
    asked: _Asked,
) -> TransformerClassifier | ChunkedClassifier:
    promises.check_promises(model, tokenizer)
    limit = promises.limit(model, tokenizer, max_tokens=asked["max_tokens"])
    labels = promises.labels(model.config, names=asked["labels"], head=asked["head"])
    engine = asked["accelerate"]
    classifier: TransformerClassifier | ChunkedClassifier
    if promises.is_chunked(model):
        _check_own_pace(engine, "one that reads chunks")
        classifier = ChunkedClassifier(model, tokenizer, labels=labels, identity=identity, limit=limit)
    else:
        network = None if engine is None else AcceleratedNetwork(model, tokenizer, limit=limit, engine=engine)
        classifier = TransformerClassifier(
            model, tokenizer, labels=labels, identity=identity, limit=limit, network=network
        )
    promises.try_out(classifier)
    return classifier
