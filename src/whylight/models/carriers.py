"""What a classifier can come from: one function that recognises it, and one that loads it, for each kind.

Each takes a user's model, its tokenizer, and what is asked of it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from torch import nn
from transformers import PreTrainedModel

from whylight.core.endpoint import Endpoint
from whylight.core.errors import ModelError, SettingError
from whylight.core.labels import GENERATED, Labels
from whylight.core.prompt_files import read_prompt
from whylight.models import endpoint as endpoints, promises
from whylight.models.accelerated import AcceleratedNetwork
from whylight.models.adapters import is_adapted, is_adapter, merged_copy, read_adapter
from whylight.models.asked import Asked
from whylight.models.bundled_start import named_folder, public_name
from whylight.models.callable import CallableClassifier, TextFunction
from whylight.models.chunked import ChunkedClassifier
from whylight.models.devices import AUTO, CPU, check_placed, chosen_device, move
from whylight.models.encoder import TransformerClassifier
from whylight.models.folder import is_there, quoted
from whylight.models.onnx import OnnxClassifier
from whylight.models.onnx_reading import find_file, load_file
from whylight.models.pipelines import is_pipeline as is_hugging_face_pipeline, unpack
from whylight.models.prompted import PromptedNetwork
from whylight.models.reading import TRAINED, Task, find_folder, read_model
from whylight.models.writing import WritingNetwork

Tokenizer = Any
"""Transformers' own type."""
OfTokens = TransformerClassifier | ChunkedClassifier
Own = TypeVar("Own")


def is_endpoint(model: object, _tokenizer: Tokenizer, _asked: Asked) -> bool:
    """Say whether it answers over HTTP."""
    return isinstance(model, Endpoint)


def load_endpoint(model: Endpoint, tokenizer: Tokenizer, asked: Asked) -> endpoints.EndpointClassifier:
    """Load a language model that answers over HTTP; what else is given would do nothing, and is refused."""
    if asked.prompt is None:
        raise SettingError("an endpoint is asked by a prompt, e.g. prompt='sentiment' (--prompt sentiment).")
    asked.refuse_pace("an endpoint")
    if tokenizer is not None:
        raise SettingError("tokenizer= is not for an endpoint; its labels and answers are those of the prompt.")
    _refuse_others(asked, ("labels", "head", "mask_string", "identity", "device", "max_tokens"), "an endpoint")
    return endpoints.load_endpoint(model, read_prompt(asked.prompt))


def _refuse_others(asked: Asked, names: Sequence[str], what: str) -> None:
    """Refuse what would do nothing where a prompt asks."""
    for name in names:
        if getattr(asked, name) is not None:
            raise SettingError(f"{name}= is not for {what}; its labels and answers are those of the prompt.")


def is_asked_by_a_prompt(_model: object, _tokenizer: Tokenizer, asked: Asked) -> bool:
    """Say whether a prompt asks it."""
    return asked.prompt is not None


def load_prompted(model: Any, tokenizer: Tokenizer, asked: Asked) -> TransformerClassifier:  # noqa: ANN401
    """Load a causal language model behind a prompt."""
    asked.refuse_pace("a prompted language model")
    prompt = read_prompt(asked.prompt or "")
    if is_model(model, tokenizer, asked):
        check_placed(model, asked.device)
        plain, name = _given(model, tokenizer)
    elif isinstance(model, str | Path):
        plain, its_tokenizer = _read_either(str(model), allow_pickle=asked.allow_pickle, task="a language model")
        tokenizer, name = tokenizer or its_tokenizer, str(model)
        move(plain, chosen_device(CPU if asked.device is None else asked.device))
    else:
        raise ModelError("a prompt is for a causal language model: give a folder, a hub id, or model and tokenizer.")
    _refuse_others(asked, ("labels", "head", "mask_string", "identity"), "a prompted language model")
    promises.check_promises(plain, tokenizer, prompted=True)
    limit = promises.limit(plain, tokenizer, max_tokens=asked.max_tokens)
    kind = WritingNetwork if prompt.free else PromptedNetwork
    network = kind(plain, tokenizer, prompt=prompt, limit=limit)
    labels = Labels((GENERATED,), "likelihood") if prompt.free else Labels(tuple(prompt.answers))
    name = f"{name} asked by '{prompt.name}'"
    return _tried(TransformerClassifier(plain, tokenizer, labels=labels, identity=name, limit=limit, network=network))


def is_pipeline(model: object, _tokenizer: Tokenizer, _asked: Asked) -> bool:
    """Say whether it is a pipeline of Hugging Face."""
    return is_hugging_face_pipeline(model)


def load_pipeline(model: Any, tokenizer: Tokenizer, asked: Asked) -> OfTokens:  # noqa: ANN401  transformers' own
    """Load the model and tokenizer of a pipeline, which may say more of them."""
    own = unpack(model, tokenizer)
    more = replace(asked, head=asked.head or own.head, max_tokens=asked.max_tokens or own.max_tokens)
    return load_model(own.model, own.tokenizer, more)


def is_model(model: object, _tokenizer: Tokenizer, _asked: Asked) -> bool:
    """Say whether it is a model of transformers, or one with an adapter of peft."""
    return isinstance(model, PreTrainedModel) or is_adapted(model)


def load_model(model: Any, tokenizer: Tokenizer, asked: Asked) -> OfTokens:  # noqa: ANN401
    """Load a model that a user has already."""
    asked.refuse_name()
    check_placed(model, asked.device)
    plain, name = _given(model, tokenizer)
    return _transformer(plain, tokenizer, asked, identity=name)


def is_function(model: object, _tokenizer: Tokenizer, _asked: Asked) -> bool:
    """Say whether it can be called with texts."""
    return callable(model)


def load_function(model: TextFunction, _tokenizer: Tokenizer, asked: Asked) -> CallableClassifier:
    """Load a function from texts to probabilities."""
    if asked.device not in (None, AUTO):
        raise SettingError("device= is for a model; a callable runs where it runs.")
    asked.refuse_pace("a callable")
    if not asked.labels:
        if isinstance(model, nn.Module):
            raise ModelError(
                f"a '{type(model).__name__}' is no classifier of transformers; wrap it in a function from texts to "
                "probabilities, and pass labels=[...]."
            )
        raise ModelError("a callable needs the names of its columns: wl.load(function, labels=['negative', ...]).")
    if asked.head in ("binary", "regression"):
        raise SettingError("a callable returns one column per label; use head='softmax' or head='sigmoid'.")
    name = getattr(model, "__qualname__", type(model).__name__)
    return CallableClassifier(
        model,
        labels=Labels(asked.labels, asked.head or "softmax"),
        identity=f"callable:{name}" if asked.identity is None else asked.identity,
        mask_string=asked.mask_string,
        named=asked.identity is not None,
    )


def is_onnx(model: object, _tokenizer: Tokenizer, asked: Asked) -> bool:
    """Say whether it is an ONNX file, or a folder with one."""
    if not isinstance(model, str | Path) or not is_there(model):
        return False
    asked.refuse_name()
    return find_file(str(model)) is not None


def load_onnx(model: str | Path, tokenizer: Tokenizer, asked: Asked) -> OnnxClassifier:
    """Load a classifier in an ONNX file."""
    asked.refuse_pace("an ONNX file")
    file = find_file(str(model))
    if file is None:
        raise ModelError(f"{quoted(model)} holds no ONNX file any more.")
    return load_file(
        file, tokenizer, labels=asked.labels, head=asked.head, max_tokens=asked.max_tokens, device=asked.device
    )


def is_path(model: object, _tokenizer: Tokenizer, _asked: Asked) -> bool:
    """Say whether it is the name of something; nothing is the bundled model's."""
    return isinstance(model, str | Path | None)


def load_path(model: str | Path | None, tokenizer: Tokenizer, asked: Asked) -> OfTokens:
    """Load what lies in a folder or on the hub, or the bundled model."""
    asked.refuse_name()
    path, place = named_folder(model), chosen_device(CPU if asked.device is None else asked.device)
    loaded, its_tokenizer = _read_either(path, allow_pickle=asked.allow_pickle)
    move(loaded, place)
    return _transformer(loaded, tokenizer or its_tokenizer, asked, identity=public_name(path))


def _given(model: Any, tokenizer: Tokenizer) -> tuple[Any, str]:  # noqa: ANN401  transformers' or peft's own
    """Return the plain model that a user's object stands for, and what to call it."""
    if tokenizer is None:
        raise ModelError("a loaded model needs its tokenizer: wl.load(model, tokenizer).")
    identity = getattr(model.config, "_name_or_path", "") or type(model).__name__
    if not is_adapted(model):
        return model, identity
    return merged_copy(model, tokenizer), f"{identity} with adapter {', '.join(model.active_adapters)}"


def _read_either(path: str, *, allow_pickle: bool, task: Task = "a text classifier") -> tuple[Any, Any]:
    """Read a whole model, or an adapter with its base."""
    folder = find_folder(path)
    if folder is not None and is_adapter(folder):
        return read_adapter(folder, task)
    found = read_model(path, allow_pickle=allow_pickle, task=task)
    if found.absent:
        raise ModelError(f"{quoted(path)} is not {TRAINED[task]}: its weights lack {', '.join(found.absent[:3])}.")
    return found.model, found.tokenizer


def _transformer(model: Any, tokenizer: Tokenizer, asked: Asked, *, identity: str) -> OfTokens:  # noqa: ANN401
    """Make a classifier of a model that reads tokens."""
    promises.check_promises(model, tokenizer)
    limit = promises.limit(model, tokenizer, max_tokens=asked.max_tokens)
    labels = promises.labels(model.config, names=asked.labels, head=asked.head)
    if promises.is_chunked(model):
        asked.refuse_pace("one that reads chunks")
        return _tried(ChunkedClassifier(model, tokenizer, labels=labels, identity=identity, limit=limit))
    engine = asked.accelerate
    network = None if engine is None else AcceleratedNetwork(model, tokenizer, limit=limit, engine=engine)
    return _tried(
        TransformerClassifier(model, tokenizer, labels=labels, identity=identity, limit=limit, network=network)
    )


def _tried(classifier: Own) -> Own:
    """Return a classifier that answers a short text."""
    promises.try_out(classifier)  # type: ignore[arg-type]  # each is one of tokens
    return classifier
