"""Opening a model to train it: with the head that it has, or a fresh one for other labels.

Weights are read from safetensors only. A head is kept where the folder has all labels of the data, with the labels that
the folder has, in its order; otherwise it is drawn anew from the seed, and the receipt says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from whylight.core.errors import ModelError, WhylightError
from whylight.models import networks
from whylight.models.bundled_start import BUNDLED, is_bundled_encoder, named_folder
from whylight.models.folder import DESCRIPTIONS, cannot_load, check_folder, existing, is_failure
from whylight.models.hub import without_waiting
from whylight.models.networks import PlmCaForSequenceClassification
from whylight.models.promises import model_limit
from whylight.models.quiet import quiet

Architecture = Literal["auto", "plm_ca"]
CHUNK = 128
"""Tokens of a chunk in PLM-CA (Edin et al. 2024)."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A model to train.

    Attributes:
        model: The model, with one output a label.
        tokenizer: Its tokenizer.
        limit: Tokens that it reads.
        fresh: Whether its head is new.
    """

    model: Any
    tokenizer: Any
    limit: int
    fresh: bool


def outputs_for(model: str | Path | None, labels: Sequence[str], architecture: Architecture) -> tuple[str, ...]:
    """Return the labels that a model will have: its own, in its order, if the data's are among them, else the data's.

    So a small part of a corpus, such as reviews that were exported, trains the head that is there.
    """
    if is_bundled_encoder(model):
        return tuple(labels)
    networks.register()
    path = named_folder(model)
    try:
        with quiet(), without_waiting(path):
            config = AutoConfig.from_pretrained(path, trust_remote_code=False)
    except BaseException as error:
        if not is_failure(error):
            raise
        return tuple(labels)  # what is wrong with it is said when it is opened
    given: Mapping[int, str] = getattr(config, "id2label", None) or {}
    own = tuple(str(given.get(i)) for i in range(len(given)))
    headed = architecture in ("auto", config.model_type)
    return own if headed and set(labels) <= set(own) and len(set(own)) == len(own) else tuple(labels)


def prepare(  # noqa: PLR0913  every argument but one is named
    model: str | Path | None,
    *,
    labels: Sequence[str],
    multi_label: bool,
    architecture: Architecture = "auto",
    eager: bool = False,
    seed: int = 0,
    max_tokens: int | None = None,
) -> Prepared:
    """Open a model for training.

    Args:
        model: Folder or hub id of an encoder or a classifier; None for the bundled one, `"encoder"` for that without
            its head.
        labels: Names of the labels, in the order of the outputs.
        multi_label: Whether a text may have any number of them.
        architecture: `plm_ca` puts label attention on the encoder, for long documents with many labels.
        eager: Compute attention step by step, as terms that read it or differentiate twice need.
        seed: Of a fresh head.
        max_tokens: Read at most this many.
    """
    headless = is_bundled_encoder(model)
    path = str(BUNDLED) if headless else named_folder(model)
    folder = existing(path)
    if folder is not None:
        check_folder(folder, allow_pickle=False, any_task=True)
    networks.register()
    with quiet(), without_waiting(path), torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            config = AutoConfig.from_pretrained(path, trust_remote_code=False)
            tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
            if architecture == "plm_ca" and config.model_type != "plm_ca":
                settings: dict[str, Any] = {} if max_tokens is None else {"max_tokens": max_tokens}
                # the paper's chunks, or shorter ones where the encoder reads less; two positions may be reserved
                settings["chunk_size"] = min(CHUNK, getattr(config, "max_position_embeddings", CHUNK + 2) - 2)
                built: Any = PlmCaForSequenceClassification.from_encoder(path, labels=labels, **settings)
                fresh = True
            else:
                built, fresh = _classifier(path, config, labels, multi_label=multi_label, headless=headless)
        except WhylightError:
            raise
        except BaseException as error:  # whatever the loaders raise, it is about what the user named
            if not is_failure(error):
                raise
            raise cannot_load(path, "to train it", error) from error
    if eager:
        built.set_attn_implementation("eager")
    limit = model_limit(built, tokenizer)
    return Prepared(built, tokenizer, limit if max_tokens is None else min(limit, max_tokens), fresh)


def _classifier(
    path: str,
    config: Any,  # noqa: ANN401
    labels: Sequence[str],
    *,
    multi_label: bool,
    headless: bool,
) -> tuple[Any, bool]:
    """Read a classifier; a head for other labels, or one that nobody wants (`headless`), is drawn anew."""
    kind = "multi_label_classification" if multi_label else "single_label_classification"
    names = dict(enumerate(labels))
    same = [config.id2label.get(i) for i in range(len(labels))] == list(labels) == list(config.id2label.values())
    same = same and not headless
    model, report = AutoModelForSequenceClassification.from_pretrained(
        path,
        use_safetensors=True,
        trust_remote_code=False,
        dtype=torch.float32,
        output_loading_info=True,
        ignore_mismatched_sizes=True,
        id2label=names,
        label2id={name: number for number, name in names.items()},
        problem_type=kind,
    )
    prefix = f"{model.base_model_prefix}."
    absent = sorted({*report["missing_keys"], *(str(key) for key in report["mismatched_keys"])})
    broken = [key for key in absent if key.startswith(prefix) and "pooler" not in key]
    if broken:
        raise ModelError(f"'{path}' does not hold the whole encoder: its weights lack {', '.join(broken[:3])}.")
    if not same and not absent:
        _draw_head(model)
    return model, bool(absent) or not same


def describe_labels(config: Any, labels: Sequence[str], described: Mapping[str, str]) -> None:  # noqa: ANN401
    """Say in a configuration what labels stand for: what it says already, as far as it has them, and what is given."""
    known = getattr(config, DESCRIPTIONS, None) or {}
    found = {label: text for label, text in {**known, **described}.items() if label in labels}
    if found or known:
        setattr(config, DESCRIPTIONS, found)


def _draw_head(model: Any) -> None:  # noqa: ANN401
    """Draw the last layer anew: it has the right size, but for other labels."""
    last = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    torch.nn.init.normal_(last.weight, std=getattr(model.config, "initializer_range", 0.02))
    if last.bias is not None:
        torch.nn.init.zeros_(last.bias)
