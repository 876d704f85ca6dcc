"""A new attribution network for a classifier, with the weights of an encoder and a fresh head.

The paper starts from the pretrained encoder that the explained model was once made of. A model does not say which that
was, so that it is named; without a name the network starts from the model's own encoder, as the published code does.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoTokenizer

from whylight.core.errors import IncompatibleError, InputError, ModelError
from whylight.models.attributor import TokenAttributor, check_offsets
from whylight.models.folder import existing, is_failure, quoted, reason
from whylight.models.hub import without_waiting
from whylight.models.networks import PlmCaForSequenceClassification
from whylight.models.networks.attribution import AttributionConfig, AttributionNetwork
from whylight.models.networks.encoders import pretrained
from whylight.models.promises import MINIMUM_TOKENS, model_limit
from whylight.models.quiet import quiet
from whylight.models.token_network import TokenNetwork
from whylight.models.unchanged import unchanged
from whylight.views.attributed import AttributedView
from whylight.views.attributor import DualMask
from whylight.views.classifier import Classifier

PROBE = "a good film"


def new_attributor(
    classifier: Classifier, encoder: str | Path | None, *, mask: DualMask, metric: str, seed: int
) -> TokenAttributor:
    """Make a network for a classifier.

    Args:
        classifier: What it is to explain.
        encoder: Folder or hub id of the encoder that it starts from; None for the classifier's own.
        mask: What it is asked to be good at.
        metric: The metric that it is fitted for.
        seed: Of its class embeddings and head.
    """
    network = token_network(classifier)
    with quiet(), without_waiting(encoder), torch.random.fork_rng():
        torch.manual_seed(seed)
        source, tokenizer = _own_encoder(network) if encoder is None else _read_encoder(str(encoder))
        check_offsets(tokenizer)
        limit = model_limit(source, tokenizer) - 1  # the prediction token stands behind the text
        if limit < MINIMUM_TOKENS:
            raise ModelError(
                f"an encoder that reads {limit + 1} tokens is too short-sighted for an attribution network."
            )
        config = AttributionConfig(
            n_classes=len(classifier.labels),
            mask_size=network.embed_size if mask.background == "learned" else 0,
            limit=limit,
            mask=asdict(mask),
            metric=metric,
            explains=classifier.contents(),
        )
        built = AttributionNetwork.from_encoder(source, config).to(network.model.device)
    if mask.background == "learned":
        _start_mask(built, network)
    found = TokenAttributor(built, tokenizer)
    _check_prediction_is_seen(found, source)
    return found


def token_network(classifier: Classifier) -> TokenNetwork:
    """Return the network of a classifier that masks can be learned for, or refuse one that has none."""
    network = getattr(classifier, "network", None)
    if AttributedView not in classifier.offers or not isinstance(network, TokenNetwork):
        raise IncompatibleError(
            f"aml masks word embeddings, which {classifier.kind} does not have; use occlusion or lime."
        )
    return network


def _own_encoder(network: TokenNetwork) -> tuple[Any, Any]:
    model = network.model
    own = model.encoder if isinstance(model, PlmCaForSequenceClassification) else model.base_model
    return own, network.tokenizer


def _read_encoder(path: str) -> tuple[Any, Any]:
    folder = existing(path)
    if folder is not None and not folder.is_dir():
        raise InputError(f"{quoted(path)} is not the folder of an encoder.")
    found = pretrained(path, allow_pickle=False)
    try:
        return found, AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except BaseException as error:
        if not is_failure(error):
            raise
        raise ModelError(f"cannot load the tokenizer of {quoted(path)}: {reason(error)}") from error


def _start_mask(built: AttributionNetwork, network: TokenNetwork) -> None:
    """Let a learned mask embedding start where the model's own replacement token is, if it has one."""
    token = next(iter(network.replacements.values()), None)
    if token is not None and isinstance(built.mask, nn.Parameter):
        with torch.no_grad():
            built.mask.copy_(network.model.get_input_embeddings().weight[token])


def _check_prediction_is_seen(found: TokenAttributor, source: Any) -> None:  # noqa: ANN401  a transformers encoder
    """Refuse an encoder whose tokens do not see what stands behind them: it would not know what to explain."""
    given = found.tokenizer(PROBE, return_tensors="pt", return_token_type_ids=True).to(found.network.device)
    count = found.network.config.n_classes
    told = torch.eye(count, device=found.network.device)[[0, -1]] * 10
    ids, types = given["input_ids"].expand(2, -1), given["token_type_ids"].expand(2, -1)
    with unchanged(found.network), torch.no_grad():
        states = found.network(ids, torch.ones_like(ids), told, types)
    if torch.equal(states[0], states[1]):
        raise ModelError(
            f"the tokens of '{type(source).__name__}' do not see what stands behind them, and so not the prediction; "
            "name an encoder that reads both ways, e.g. --encoder roberta-base."
        )
