"""Anatomy: where the parts of a model live, one record per architecture, as data.

Encoders are known by the model type of their configuration, heads by the class of the model. Paths are those of
attributes, within a layer, within the encoder or, for a head, within the model. What has no record is refused by name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from whylight.core.errors import IncompatibleError
from whylight.models.networks import PlmCaForSequenceClassification


@dataclass(frozen=True, slots=True)
class LinearPart:
    """A linear module, or one of several that share a matrix: the `index`-th of `count` alike."""

    path: str
    index: int = 0
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """Where the parts of an encoder live.

    Attributes:
        layers: Its layers, `*` for a number.
        attention: What returns attention weights, second.
        value: Projection to values.
        output: Projection from what the heads read.
        attention_norm: Norm of attention.
        up: First projection of the MLP; its output is the activation's input.
        activation: Activation of the MLP.
        down: Second projection of the MLP.
        mlp_norm: Norm of the MLP.
        pre_norm: Whether norms stand before the sublayers and not after.
        gate: The part of the first projection that is activated and then multiplied with the other, if so.
        final_norm: Norm behind the last layer.
        projection: Projection of embeddings to the width of the layers, where widths differ.
    """

    layers: str
    attention: str
    value: LinearPart
    output: str
    attention_norm: str
    up: LinearPart
    activation: str
    down: str
    mlp_norm: str
    pre_norm: bool = False
    gate: LinearPart | None = None
    final_norm: str | None = None
    projection: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadAnatomy:
    """How a head gets from the last states to logits.

    Attributes:
        steps: Linear modules, norms and activations, one after the other: paths, or functions where there is no module.
        pooling: Name of the setting that says `cls` or `mean`; without one the first position is read.
    """

    steps: tuple[str | Callable[[Tensor], Tensor], ...]
    pooling: str | None = None


_BERT = Encoder(
    layers="encoder.layer.*",
    attention="attention.self",
    value=LinearPart("attention.self.value"),
    output="attention.output.dense",
    attention_norm="attention.output.LayerNorm",
    up=LinearPart("intermediate.dense"),
    activation="intermediate.intermediate_act_fn",
    down="output.dense",
    mlp_norm="output.LayerNorm",
    projection="embeddings_project",
)
ENCODERS: Mapping[str, Encoder] = {
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "electra": _BERT,
    "distilbert": Encoder(
        layers="transformer.layer.*",
        attention="attention",
        value=LinearPart("attention.v_lin"),
        output="attention.out_lin",
        attention_norm="sa_layer_norm",
        up=LinearPart("ffn.lin1"),
        activation="ffn.activation",
        down="ffn.lin2",
        mlp_norm="output_layer_norm",
    ),
    "albert": Encoder(
        layers="encoder.albert_layer_groups.*.albert_layers.*",
        attention="attention",
        value=LinearPart("attention.value"),
        output="attention.dense",
        attention_norm="attention.LayerNorm",
        up=LinearPart("ffn"),
        activation="activation",
        down="ffn_output",
        mlp_norm="full_layer_layer_norm",
        projection="encoder.embedding_hidden_mapping_in",
    ),
    "modernbert": Encoder(
        layers="layers.*",
        attention="attn",
        value=LinearPart("attn.Wqkv", 2, 3),
        output="attn.Wo",
        attention_norm="attn_norm",
        up=LinearPart("mlp.Wi", 1, 2),
        activation="mlp.act",
        down="mlp.Wo",
        mlp_norm="mlp_norm",
        pre_norm=True,
        gate=LinearPart("mlp.Wi", 0, 2),
        final_norm="final_norm",
    ),
    "vit": Encoder(
        layers="layers.*",
        attention="attention",
        value=LinearPart("attention.v_proj"),
        output="attention.o_proj",
        attention_norm="layernorm_before",
        up=LinearPart("mlp.fc1"),
        activation="mlp.activation_fn",
        down="mlp.fc2",
        mlp_norm="layernorm_after",
        pre_norm=True,
        final_norm="layernorm",
    ),
}
_ROBERTA_HEAD = HeadAnatomy(steps=("classifier.dense", torch.tanh, "classifier.out_proj"))
HEAD_ANATOMIES: Mapping[str, HeadAnatomy] = {
    "BertForSequenceClassification": HeadAnatomy(
        steps=("base_model.pooler.dense", "base_model.pooler.activation", "classifier")
    ),
    "RobertaForSequenceClassification": _ROBERTA_HEAD,
    "XLMRobertaForSequenceClassification": _ROBERTA_HEAD,
    "ElectraForSequenceClassification": HeadAnatomy(
        steps=("classifier.dense", "classifier.activation", "classifier.out_proj")
    ),
    "DistilBertForSequenceClassification": HeadAnatomy(steps=("pre_classifier", torch.relu, "classifier")),
    "AlbertForSequenceClassification": HeadAnatomy(
        steps=("base_model.pooler", "base_model.pooler_activation", "classifier")
    ),
    "ModernBertForSequenceClassification": HeadAnatomy(
        steps=("head.dense", "head.act", "head.norm", "classifier"), pooling="classifier_pooling"
    ),
    "ViTForImageClassification": HeadAnatomy(steps=("classifier",)),
}


def anatomy_obstacle(model: Any, *, post_norm: bool = False) -> str | None:  # noqa: ANN401  any transformers model
    """Return why the parts of a model cannot be told from each other, or None if they can.

    Args:
        model: The model.
        post_norm: Whether its norms must stand after the sublayers.
    """
    chunked = isinstance(model, PlmCaForSequenceClassification)
    kind = _encoder_type(model)
    if kind not in ENCODERS or (not chunked and type(model).__name__ not in HEAD_ANATOMIES):
        name = f"PLM-CA on '{kind}'" if chunked else f"'{type(model).__name__}'"
        return f"must know where the parts of a model are, which is not recorded for {name} (it is for {_known()})"
    if post_norm and ENCODERS[kind].pre_norm:
        return f"is defined for layers that end in a norm, and those of '{kind}' begin with one"
    return None


def encoder_of(model: Any) -> Encoder:  # noqa: ANN401  any transformers model
    """Return the record of a model's encoder; without one it is refused."""
    reason = anatomy_obstacle(model)
    if reason is not None:
        raise IncompatibleError(f"this method {reason}.")
    return ENCODERS[_encoder_type(model)]


def head_of(model: Any) -> HeadAnatomy:  # noqa: ANN401  any transformers model
    """Return the record of a model's head."""
    return HEAD_ANATOMIES[type(model).__name__]


def _encoder_type(model: Any) -> str:  # noqa: ANN401  any transformers model
    config = model.config.encoder if isinstance(model, PlmCaForSequenceClassification) else model.config
    return str(config.model_type)


def _known() -> str:
    return f"classifiers of {', '.join(ENCODERS)}, and PLM-CA on them"
