"""What a model folder must hold, looked at before any loader opens it.

A file that leads out of the folder (a name with `..`, an absolute one, a symbolic link) is refused: a model from a
stranger must not read what else is on the disk. One exception: in the hub's cache a snapshot is a folder of links into
the `blobs` of the same repository, and those are its own files. The folder itself may be reached through a link.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from typing import Any, NoReturn

from whylight.core.errors import ModelError

CONFIG = "config.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
WEIGHT_INDEX = "model.safetensors.index.json"
ADAPTER_CONFIG = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
TOKENIZER_FILES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)
READ_SUFFIXES = {".json", ".txt", ".model", ".safetensors", ".bin", ".jinja"}
"""Files that loaders may open."""
OTHER_TASKS = ("ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice")
LAYER_COUNTS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers", "encoder_layers", "decoder_layers")
ATTRIBUTION = "whylight_attribution"
"""What the configuration of a fitted network calls itself."""
DESCRIPTIONS = "label_descriptions"
"""Where a configuration says what its labels stand for; labels that it does not have may be among them."""
MOST_LAYERS = 1000
MOST_LABELS = 5_000_000
LONGEST_REASON = 300
HUB_ID = re.compile(r"(?!.*(--|\.\.))[\w][\w.-]{0,95}(/[\w][\w.-]{0,95})?", re.ASCII)
"""What the hub takes for the id of a model; anything else can only be a folder."""


def quoted(path: object) -> str:
    """Return a path in quotes, on one line whatever characters it holds."""
    name = str(path)
    return f"'{name}'" if name.isprintable() else repr(name)


def reason(error: BaseException) -> str:
    """Return what an error of another library says, as the end of a sentence of ours."""
    said = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(": ")
    line = said if len(said) <= LONGEST_REASON else f"{said[:LONGEST_REASON]}..."
    return line if line.endswith(".") else f"{line}."


def is_failure(error: BaseException) -> bool:
    """Say whether something went wrong, as opposed to a wish to stop; a panic of the tokenizers is no `Exception`."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def existing(path: str) -> Path | None:
    """Return the folder that a name stands for, or None where it can only be the id of a model on the hub."""
    if not path.strip() or "\0" in path:
        raise ModelError(f"{quoted(path)} is not the name of a model; give a folder or a hub id.")
    try:
        found = Path(path).exists()
    except OSError as error:
        raise ModelError(f"cannot read {quoted(path)}: {reason(OSError(error.strerror))}") from None
    if not found and not HUB_ID.fullmatch(path):
        raise ModelError(f"{no_folder(path)} A hub id has the form owner/name.")
    return Path(path) if found else None


def is_there(path: str | Path) -> bool:
    """Say whether a name is that of a file or folder; whatever is wrong with it is for whoever opens it to say."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def no_folder(path: str) -> str:
    """Say that there is no folder of a name, and which one may be meant."""
    name = Path(path).name
    try:
        others = sorted(one.name for one in Path(path).parent.iterdir() if one.is_dir())
    except OSError:  # nor is there one around it
        others = []
    close = get_close_matches(name, others, n=1)
    if not close:
        return f"there is no folder {quoted(path)}."
    before = path.rstrip("/").removesuffix(name)
    return f"there is no folder {quoted(path)}; did you mean {quoted(before + close[0])}?"


def cannot_load(path: object, purpose: str, error: BaseException) -> ModelError:
    """Say that what a user named cannot be loaded; where it is no folder, that may be what is wrong.

    Args:
        path: A folder, or else the id of a model on the hub.
        purpose: What it cannot be loaded for, e.g. `"as a text classifier"`.
        error: What the loaders said.
    """
    if not isinstance(path, str) or Path(path).exists():
        return ModelError(f"cannot load {quoted(path)} {purpose}: {reason(error)}")
    hub = "As the id of a model on the hub, which has the form owner/name, it"
    return ModelError(f"{no_folder(path)} {hub} cannot be loaded {purpose} either: {reason(error)}")


def check_folder(folder: Path, *, allow_pickle: bool, needs_tokenizer: bool = True, any_task: bool = False) -> None:
    """Refuse a folder that lacks what a classifier is made of, or that leads out of itself.

    Args:
        folder: The folder.
        allow_pickle: Whether pickled weights will do.
        needs_tokenizer: Whether a tokenizer must be in it.
        any_task: Whether a model of another task will do, because its head is drawn anew.
    """
    if not (folder / CONFIG).is_file():
        raise ModelError(f"{quoted(folder)} is not a model folder: it has no {CONFIG}.")
    check_inside(folder)
    config = read_object(folder / CONFIG)
    if not any_task:
        check_task(config, folder)
    check_config(config, folder)
    pickled = any(folder.glob("pytorch_model*.bin"))
    if not any(folder.glob("*.safetensors")) and not (allow_pickle and pickled):
        if pickled:
            raise ModelError(
                f"{quoted(folder)} has pickled weights only, which can run code; convert them to safetensors, "
                "or pass allow_pickle=True (--allow-pickle) if you trust their source."
            )
        raise ModelError(f"{quoted(folder)} has no weights: there is no *.safetensors file in it.")
    if needs_tokenizer and not has_tokenizer(folder):
        # transformers would make up a vocabulary in which every word is unknown
        raise ModelError(f"{quoted(folder)} has no tokenizer: it holds none of {', '.join(TOKENIZER_FILES)}.")


def has_tokenizer(folder: Path) -> bool:
    """Say whether a folder holds a tokenizer."""
    return any((folder / name).is_file() for name in TOKENIZER_FILES)


def check_inside(folder: Path) -> None:
    """Refuse files, and names in files, that lead out of the folder."""
    own = folder.resolve()
    roots = [own, *([own.parents[1] / "blobs"] if own.parent.name == "snapshots" else [])]
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix in READ_SUFFIXES)
        named = [folder / name for name in _named_files(folder)]
        outside = [file for file in (*files, *named) if not _lies_in(file, roots)]
    except OSError as error:
        _cannot_load(folder, f"{quoted(error.filename or folder)} cannot be read ({error.strerror})")
    except (RuntimeError, ValueError) as error:  # a link that leads to itself; a name with a zero byte
        _cannot_load(folder, reason(error).rstrip("."))
    if outside:
        _cannot_load(folder, f"{quoted(outside[0].relative_to(folder))} leads out of the folder")
    missing = [file for file in named if not file.is_file()]
    if missing:
        _cannot_load(folder, f"its weights lack the file {quoted(missing[0].name)}")


def _lies_in(file: Path, roots: Iterable[Path]) -> bool:
    resolved = file.resolve()
    return any(resolved.is_relative_to(root) for root in roots)


def _named_files(folder: Path) -> Iterator[str]:
    """Yield the files that other files of a folder say are to be read."""
    if (folder / WEIGHT_INDEX).is_file() and not (folder / "model.safetensors").is_file():
        yield from check_index(read_object(folder / WEIGHT_INDEX), folder)
    if (folder / TOKENIZER_CONFIG).is_file():
        yield from _as_texts(read_object(folder / TOKENIZER_CONFIG).get("fast_tokenizer_files"))
    yield from (
        _as_texts(read_object(folder / CONFIG).get("transformers_weights")) if (folder / CONFIG).is_file() else ()
    )


def _as_texts(value: object) -> list[str]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def check_index(index: Mapping[str, Any], folder: object) -> list[str]:
    """Return the files that an index of weights names, each beside the index."""
    names = index.get("weight_map")
    if not isinstance(names, dict) or not names or not all(isinstance(name, str) for name in names.values()):
        _cannot_load(folder, f"{WEIGHT_INDEX} does not say which file holds which weight")
    files = sorted(set(names.values()))
    outside = [name for name in files if Path(name).is_absolute() or ".." in Path(name).parts]
    if outside:
        _cannot_load(folder, f"{WEIGHT_INDEX} names {quoted(outside[0])}, which leads out of the folder")
    if any(not name.endswith(".safetensors") for name in files):
        _cannot_load(folder, f"{WEIGHT_INDEX} names files that are not safetensors")
    return files


def check_task(config: Mapping[str, Any], folder: object) -> None:
    """Refuse a configuration of another task."""
    if config.get("model_type") == ATTRIBUTION:
        raise ModelError(
            f"{quoted(folder)} is no classifier, but a network that explains one; use it with --method aml "
            "--set folder=... and the model that it was fitted to."
        )
    kinds = _as_texts(config.get("architectures"))
    if kinds and all(kind.endswith(OTHER_TASKS) for kind in kinds):
        raise ModelError(f"{quoted(folder)} is a {quoted(kinds[0])}, not a sequence classifier.")


def check_config(config: Mapping[str, Any], folder: object) -> None:
    """Refuse a configuration that would run code, or asks for an impossible model."""
    for key in ("attn_implementation", "_attn_implementation", "_attn_implementation_internal"):
        if any("/" in name for name in _as_texts(config.get(key))):
            _cannot_load(folder, f"{CONFIG} asks for attention code from the hub, and custom code is never run")
    _check_labels(config, folder)
    for name, value in _layer_counts(config):
        if isinstance(value, int | float) and not 0 <= value <= MOST_LAYERS:
            _cannot_load(folder, f"{name} in {CONFIG} is not a number up to {MOST_LAYERS}")


def _check_labels(config: Mapping[str, Any], folder: object) -> None:
    fault = description_fault(config.get(DESCRIPTIONS, {}))
    if fault:
        _cannot_load(folder, f"{DESCRIPTIONS} in {CONFIG} must give texts to labels, and {fault}")
    names, count = config.get("id2label"), config.get("num_labels")
    if names is None:
        if count is not None and (not isinstance(count, int) or not 1 <= count <= MOST_LABELS):
            _cannot_load(folder, f"num_labels in {CONFIG} is not a number from 1 to {MOST_LABELS:,}")
        return
    why = label_fault(names) or (f"it names {len(names)} of {count}" if count not in (None, len(names)) else None)
    if why:
        _cannot_load(folder, f"id2label in {CONFIG} must name every label by its number, and {why}")


def _layer_counts(config: object) -> Iterator[tuple[str, object]]:
    """Yield the numbers of layers in a configuration and in those inside it."""
    for key, value in config.items() if isinstance(config, dict) else ():
        if key in LAYER_COUNTS:
            yield key, value
        yield from _layer_counts(value)


def label_fault(names: object) -> str | None:
    """Return what is wrong with a table of label names by column, or None if it names each of 0, 1, ... once."""
    if not isinstance(names, Mapping) or not names:
        return "it names none"
    try:
        numbers = sorted(int(key) for key in names)
    except (TypeError, ValueError):
        return "it has a key that is not a number"
    if len(numbers) > MOST_LABELS:
        return f"it names more than {MOST_LABELS:,}"
    absent = next((i for i, number in enumerate(numbers) if i != number), None)
    if absent is not None:
        return f"it has no {absent}" if numbers[absent] > absent else f"it has a number twice or below 0 ({absent})"
    if not all(isinstance(name, str | Integral | float) for name in names.values()):
        return "one of its names is not a text"
    return None


def description_fault(given: object) -> str | None:
    """Return what is wrong with descriptions of labels, or None if each is a text under the name of a label."""
    if not isinstance(given, Mapping):
        return "it is no mapping"
    strange = next((label for label, text in given.items() if not isinstance(text, str)), None)
    return None if strange is None else f"what it says of {quoted(strange)} is not a text"


def read_object(file: Path) -> dict[str, Any]:
    """Read a JSON file that must hold an object."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        _cannot_load(file.parent, f"{file.name} cannot be read ({error.strerror})")
    except (ValueError, RecursionError):
        _cannot_load(file.parent, f"{file.name} is not valid JSON")
    if not isinstance(content, dict):
        _cannot_load(file.parent, f"{file.name} is not a JSON object")
    return content


def _cannot_load(folder: object, why: str) -> NoReturn:
    raise ModelError(f"cannot load {quoted(folder)} as a text classifier: {why}.")
