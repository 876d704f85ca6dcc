"""Loading classifiers: a folder or hub id, a model with its tokenizer, any callable, or the bundled model.

Weights are read from safetensors only, because a pickle can run code; custom model code is never run. A head that the
weights do not fill would decide at random, so that is refused too.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel
from transformers.utils import logging

from whylight.core.errors import ModelError, SettingError, unknown
from whylight.core.labels import DEFAULT_THRESHOLD, HEADS, Head, Labels
from whylight.models import networks
from whylight.models.callable import CallableClassifier, TextFunction
from whylight.models.chunked import ChunkedClassifier
from whylight.models.encoder import TransformerClassifier
from whylight.models.networks.encoders import first_position
from whylight.views.classifier import Classifier

BUNDLED = Path(__file__).parent / "bundled" / "sentiment"
BUNDLED_NAME = "whylight/sentiment"
TOKENIZER_FILES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)
MINIMUM_TOKENS = 8
UNLIMITED = 1_000_000
"""No text is longer than this many tokens; tokenizers write a still larger number for "no limit"."""


def load(  # noqa: PLR0913  every argument is optional and named
    model: str | Path | PreTrainedModel | TextFunction | None = None,
    tokenizer: Any = None,  # noqa: ANN401  transformers' own type
    *,
    labels: Sequence[str] | None = None,
    head: Head | None = None,
    mask_string: str | None = None,
    max_tokens: int | None = None,
    device: str | None = None,
    allow_pickle: bool = False,
    identity: str | None = None,
) -> Classifier:
    """Load a classifier.

    Args:
        model: Folder or hub id of a sequence classifier, a loaded model (with `tokenizer`), a function
            `list[str] -> probabilities [texts, labels]` (with `labels`), or nothing for the bundled sentiment model.
        tokenizer: The tokenizer of a loaded model.
        labels: Names of the labels; needed for a callable, else they replace the model's own.
        head: `softmax`, `sigmoid` (multi-label) or `binary` (one logit), where the model does not say.
        mask_string: For a callable: what replaces a removed word under the remover `mask`.
        max_tokens: Read at most this many tokens at once, if the model could read more.
        device: Where a model that is loaded here runs, e.g. `"cuda"`.
        allow_pickle: Also load pickled weights (they can run code: only from a source that you trust).
        identity: For a callable: a name by which folders of results know it; give another when the function changes.

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
    if identity is not None and not _is_callable(model):
        raise SettingError("identity= is the name of a callable; a model is known by its weights.")
    if isinstance(model, PreTrainedModel):
        if tokenizer is None:
            raise ModelError("a loaded model needs its tokenizer: wl.load(model, tokenizer).")
        name = getattr(model.config, "_name_or_path", "") or type(model).__name__
        return _transformer(model, tokenizer, identity=name, labels=labels, head=head, max_tokens=max_tokens)
    if callable(model):
        return _callable(model, labels=labels, head=head, mask_string=mask_string, identity=identity)
    if not isinstance(model, str | Path | None):
        raise ModelError(f"cannot explain a {type(model).__name__}; give a folder, a hub id, a model or a callable.")
    path = str(BUNDLED) if model in (None, BUNDLED_NAME) else str(model)
    with quiet():
        loaded, its_tokenizer = _read(path, allow_pickle=allow_pickle)
    _move(loaded, device)
    name = BUNDLED_NAME if path == str(BUNDLED) else path
    return _transformer(
        loaded, tokenizer or its_tokenizer, identity=name, labels=labels, head=head, max_tokens=max_tokens
    )


def _move(model: Any, device: str | None) -> None:  # noqa: ANN401
    if device is not None:
        try:
            model.to(device)
        except RuntimeError as error:
            raise SettingError(f"cannot run on the device '{device}': {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    """Return what an error of another library says, as the end of a sentence of ours."""
    line = (str(error).strip() or type(error).__name__).split("\n")[0]
    return line if line.endswith(".") else f"{line}."


def _is_callable(model: object) -> bool:
    return callable(model) and not isinstance(model, PreTrainedModel)


def _callable(
    function: TextFunction,
    *,
    labels: Sequence[str] | None,
    head: Head | None,
    mask_string: str | None,
    identity: str | None,
) -> CallableClassifier:
    if not labels:
        raise ModelError("a callable needs the names of its columns: wl.load(function, labels=['negative', ...]).")
    if head == "binary":
        raise SettingError("a callable returns one column a label; use head='softmax' or head='sigmoid'.")
    name = getattr(function, "__qualname__", type(function).__name__)
    return CallableClassifier(
        function,
        labels=Labels(tuple(labels), head or "softmax"),
        identity=f"callable:{name}" if identity is None else identity,
        mask_string=mask_string,
        named=identity is not None,
    )


def _read(path: str, *, allow_pickle: bool) -> tuple[Any, Any]:
    """Read model and tokenizer, or say in one sentence why not."""
    if Path(path).exists():
        _check_folder(Path(path), allow_pickle=allow_pickle)
    networks.register()
    try:
        model, report = AutoModelForSequenceClassification.from_pretrained(
            path,
            use_safetensors=None if allow_pickle else True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # reported below in our own words
        )
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except Exception as error:  # whatever the loaders raise, it is about what the user named
        raise ModelError(f"cannot load '{path}' as a text classifier: {_first_line(error)}") from error
    absent = sorted({*report["missing_keys"], *(str(key) for key in report["mismatched_keys"])})
    if absent:
        raise ModelError(f"'{path}' is not a trained classifier: its weights lack {', '.join(absent[:3])}.")
    return model, tokenizer


def _check_folder(folder: Path, *, allow_pickle: bool) -> None:
    """Refuse a folder that lacks what a classifier is made of."""
    if not (folder / "config.json").is_file():
        raise ModelError(f"'{folder}' is not a model folder: it has no config.json.")
    pickled = any(folder.glob("pytorch_model*.bin"))
    if not any(folder.glob("*.safetensors")) and not (allow_pickle and pickled):
        if pickled:
            raise ModelError(
                f"'{folder}' has pickled weights only, which can run code; convert them to safetensors, "
                "or pass allow_pickle=True (--allow-pickle) if you trust their source."
            )
        raise ModelError(f"'{folder}' has no weights: there is no *.safetensors file in it.")
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        # transformers would make up a vocabulary in which every word is unknown
        raise ModelError(f"'{folder}' has no tokenizer: it holds none of {', '.join(TOKENIZER_FILES)}.")


def _transformer(
    model: Any,  # noqa: ANN401
    tokenizer: Any,  # noqa: ANN401
    *,
    identity: str,
    labels: Sequence[str] | None,
    head: Head | None,
    max_tokens: int | None,
) -> TransformerClassifier:
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(f"the tokenizer '{type(tokenizer).__name__}' gives no character offsets; use a fast one.")
    if not hasattr(model.config, "id2label") or model.get_output_embeddings() is not None:
        raise ModelError(f"'{type(model).__name__}' is not a sequence classifier.")
    limit = model_limit(model, tokenizer)
    if max_tokens is not None:
        if not MINIMUM_TOKENS <= max_tokens <= limit:
            raise SettingError(f"max_tokens must lie between {MINIMUM_TOKENS} and the model's own limit, {limit}.")
        limit = max_tokens
    kind = ChunkedClassifier if _is_chunked(model) else TransformerClassifier
    return kind(model, tokenizer, labels=_labels(model.config, names=labels, head=head), identity=identity, limit=limit)


def _is_chunked(model: Any) -> bool:  # noqa: ANN401
    return isinstance(model, networks.PlmCaForSequenceClassification)


def _labels(config: Any, *, names: Sequence[str] | None, head: Head | None) -> Labels:  # noqa: ANN401
    own = tuple(str(config.id2label[i]) for i in range(config.num_labels))
    head = head or _head(config)
    if head == "softmax" and len(own) == 1:
        raise SettingError("a softmax over one logit is always 1; pass head='binary'.")
    if head == "binary":
        if len(own) != 1:
            raise SettingError(f"head='binary' is for one logit; this model has {len(own)}.")
        own = (f"not {own[0]}", own[0])
    if names is not None and len(names) != len(own):
        raise SettingError(f"{len(names)} label names were given for a model with {len(own)} labels.")
    threshold = float(getattr(config, "decision_threshold", DEFAULT_THRESHOLD))
    return Labels(tuple(names) if names else own, head, threshold)


def _head(config: Any) -> Head:  # noqa: ANN401
    if config.problem_type == "regression":
        raise ModelError("this is a regression model; whylight explains classifiers.")
    if config.num_labels == 1:
        raise ModelError("one logit may be a regression or a yes/no score; if it is the latter, pass head='binary'.")
    return "sigmoid" if config.problem_type == "multi_label_classification" else "softmax"


def model_limit(model: Any, tokenizer: Any) -> int:  # noqa: ANN401
    """Return how many tokens a model reads, special ones included."""
    if _is_chunked(model):  # the tokenizer's limit is that of the encoder, which reads a chunk at a time
        return int(model.config.max_tokens)
    limits = [UNLIMITED, int(min(tokenizer.model_max_length, UNLIMITED))]
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if positions and positions > 0:
        limits.append(int(positions) - (first_position(model.base_model) or 0))
    return min(limits)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the loader's bars and tables off the terminal; what they would say is checked and raised instead."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        restore: Callable[[], None] = logging.enable_progress_bar if bars else logging.disable_progress_bar
        restore()
