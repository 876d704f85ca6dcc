"""Reading a text classifier from an ONNX file and what lies beside it, or saying in one sentence why not.

A folder holds one file `*.onnx` (or one called `model.onnx`), a tokenizer, and perhaps a `config.json` that names the
labels. The file takes what the tokenizer gives (`input_ids`, and of `attention_mask` and `token_type_ids` what it
wants) for any number of rows and tokens, and returns `logits [rows, labels]`. Nothing else is guessed.

Weights may lie in further files, which the file names; so a file beside it is part of the model if its name occurs in
it. One that leads out of the folder is refused by onnxruntime.
"""

import hashlib
import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, PretrainedConfig

from whylight.core.errors import ModelError, SettingError, WhylightError
from whylight.core.labels import Head
from whylight.models import promises
from whylight.models.devices import AUTO, CPU
from whylight.models.folder import CONFIG, check_config, check_inside, existing, has_tokenizer, quoted, read_object
from whylight.models.onnx import OnnxClassifier, OnnxModel
from whylight.models.reading import loading
from whylight.models.runtimes import LOGITS, OnnxRuntime
from whylight.views.tokens import TokenBatch, segment_row

SUFFIX, USUAL = ".onnx", "model.onnx"
TAKEN = ("input_ids", "attention_mask", "token_type_ids")
USUAL_LIMIT = 512
"""Tokens that are read at once where nothing says how many can be."""
LONGEST_TRIED = 1024
INSIDE = "onnx"
"""The folder of a model's repository that files of this kind are usually put into, apart from the tokenizer."""


def find_file(path: str) -> Path | None:
    """Return the ONNX file that a name stands for, or None where it stands for something else."""
    place = existing(path)
    if place is None or (place.suffix == SUFFIX and place.is_file()):
        return place
    if not place.is_dir() or any(place.glob("*.safetensors")):
        return None
    files = sorted(place.glob(f"*{SUFFIX}"))
    usual = [file for file in files if file.name == USUAL]
    if len(files) > 1 and not usual:
        names = ", ".join(file.name for file in files)
        raise ModelError(f"{quoted(place)} holds several ONNX files ({names}); name one of them.")
    return next(iter(usual or files), None)


def load_file(
    file: Path,
    tokenizer: Any,  # noqa: ANN401  transformers' own type
    *,
    labels: Sequence[str] | None,
    head: Head | None,
    max_tokens: int | None,
    device: str | None,
) -> OnnxClassifier:
    """Load a classifier from a file.

    Args:
        file: The file.
        tokenizer: Its tokenizer, where that is not beside it.
        labels: Names of the labels, where no configuration beside it has them, or to replace those.
        head: What its outputs are, where no configuration says so.
        max_tokens: Read at most this many tokens at once.
        device: Where it is to run, which must be the CPU.
    """
    if device not in (None, AUTO, CPU):
        raise SettingError(f"an ONNX file runs on the CPU here; leave out device='{device}'.")
    folder = _folder(file, needs_tokenizer=tokenizer is None)
    tokenizer = tokenizer or _tokenizer(folder)
    promises.check_tokenizer(tokenizer)
    runtime = OnnxRuntime(file)
    _check_inputs(file, runtime, list(tokenizer("a")))
    config = _config(folder, count=_columns(file, runtime) or (None if labels is None else len(labels)))
    if getattr(config, "pad_token_id", None) is None:
        config.pad_token_id = tokenizer.pad_token_id or 0
    model = OnnxModel(runtime, config, name=file.name, fingerprint=file_digest(file))
    said = promises.model_limit(model, tokenizer) < promises.UNLIMITED
    limit = promises.limit(model, tokenizer, max_tokens=max_tokens if said or max_tokens else USUAL_LIMIT)
    own = promises.labels(config, names=labels, head=head)
    classifier = OnnxClassifier(model, tokenizer, labels=own, identity=str(file), limit=limit)
    promises.try_out(classifier)
    _try_longest(classifier)
    return classifier


def file_digest(file: Path) -> str:
    """Return a hash of a file and of all files beside it that it names."""
    found = hashlib.sha256()
    for one in (file, *_named_in(file)):
        found.update(f"{one.relative_to(file.parent)}\n".encode("utf-8", "surrogateescape"))
        with one.open("rb") as content:
            found.update(hashlib.file_digest(content, "sha256").digest())
    return found.hexdigest()


def _named_in(file: Path) -> Iterator[Path]:
    """Yield the files in the folder of a file, and below, whose names occur in it."""
    others = (one for one in sorted(file.parent.rglob("*")) if one.is_file() and one != file)
    with file.open("rb") as content, mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as text:
        for one in others:
            name = one.relative_to(file.parent).as_posix().encode("utf-8", "surrogateescape")
            if text.find(name) >= 0:
                yield one


def _folder(file: Path, *, needs_tokenizer: bool) -> Path:
    """Return the folder that says what a file reads: its own, or the one above a folder that holds files alone."""
    above = file.parent.name == INSIDE and not has_tokenizer(file.parent)
    folder = file.parent.parent if above else file.parent
    if needs_tokenizer and not has_tokenizer(folder):
        raise ModelError(f"there is no tokenizer beside {quoted(file)}; put one there, or pass tokenizer=.")
    check_inside(folder)
    return folder


def _tokenizer(folder: Path) -> Any:  # noqa: ANN401
    with loading(folder):
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def _config(folder: Path, *, count: int | None) -> PretrainedConfig:
    """Return what a folder says of labels and limits, and how many labels there are, where it does not say."""
    given = read_object(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    check_config(given, folder)
    unsaid = {} if count is None or {"id2label", "num_labels"} & set(given) else {"num_labels": count}
    with loading(folder):
        config: PretrainedConfig = PretrainedConfig.from_dict({**given, **unsaid})
    return config


def _check_inputs(file: Path, runtime: OnnxRuntime, given: Sequence[str]) -> None:
    """Refuse a file that wants something else than rows of tokens."""
    known = [name for name in TAKEN if name in given]
    strange = [name for name in runtime.inputs if name not in known]
    if strange or "input_ids" not in runtime.inputs:
        wants = ", ".join(runtime.inputs)
        raise ModelError(f"{quoted(file)} wants the inputs {wants}; the tokenizer gives {', '.join(known)}.")
    for name, shape in runtime.inputs.items():
        if not runtime.kinds[name].startswith("tensor(int"):
            raise ModelError(f"{quoted(file)} wants {name} as {runtime.kinds[name]}, not as whole numbers.")
        if len(shape) != 2 or any(shape):  # noqa: PLR2004  rows and tokens
            sizes = ", ".join("any" if size is None else str(size) for size in shape)
            raise ModelError(
                f"{quoted(file)} wants {name} of the shape [{sizes}]; export it for any number of rows and tokens."
            )


def _columns(file: Path, runtime: OnnxRuntime) -> int | None:
    """Return how many columns the output has, if it says so; refuse one that is not a row of logits per text."""
    shape = runtime.outputs.get(runtime.output)
    if shape is None or len(shape) not in (0, 2):  # none are told of an output whose shape is not known
        told = "; ".join(f"{name} with {len(own)} dimensions" for name, own in runtime.outputs.items())
        raise ModelError(f"{quoted(file)} does not return '{LOGITS}' [rows, labels], but {told}.")
    return shape[1] if shape else None


def _try_longest(classifier: OnnxClassifier) -> None:
    """Run a row of as many tokens as may be read at once: what a folder says of that, its file may not keep."""
    limit = classifier.limit
    row = segment_row(classifier.encode(classifier.network.example("a"), unit="word", long="truncate")).ids
    if limit > LONGEST_TRIED:
        return
    ids = np.resize(row[0], (1, limit))
    try:
        with torch.inference_mode():
            classifier.batch_logits(TokenBatch(ids, np.zeros_like(ids), np.asarray([limit])))
    except WhylightError as error:
        raise ModelError(
            f"{quoted(classifier.identity)} cannot read {limit} tokens at once; pass max_tokens= with what it can read."
        ) from error
