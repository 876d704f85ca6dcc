"""AttributedView: a model and an input in front of a network that was fitted to say which tokens matter to that model.

A method on it sees what the model answers, opens a fitted network, and masks tokens softly,

    x_k(a) = m + a_k (x_k - m)      at every token k of the text; special tokens stay as they are

where m is the word embedding of a replacement token of the model. It also gets the hard game of the same input, by
which maps are measured. All of it is in tokens of the model; how the fitted network reads the text, with which
tokenizer and in how many windows, is the network's own business (`Attributor`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from whylight.core.arrays import Floats, Ints
from whylight.core.encoded import Encoded
from whylight.core.errors import IncompatibleError, SettingError
from whylight.core.explanation import Explanation, Prediction, Provenance
from whylight.core.inputs import JsonValue
from whylight.core.labels import Labels
from whylight.core.registry import METRICS, Spec
from whylight.core.text import Span
from whylight.views.attributor import Attributor
from whylight.views.classifier import Request
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.positions import Positions
from whylight.views.tokens import NO_FEATURE, TokenWindow, shared_layout
from whylight.views.view import View


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What is said about one target: to the network, and to the loss.

    Attributes:
        classes: How much of each class embedding the network is told, `[labels]`.
        y: The distribution that predictions on masked texts are held against, `[classes]`.
        label: Which class of it is explained.
        named: Whether y is one-hot, because somebody named a label that the model does not predict.
    """

    classes: Floats
    y: Floats
    label: int
    named: bool


@dataclass(frozen=True, slots=True, eq=False)
class AttributedModel:
    """The model behind a view, as far as masks go.

    Attributes:
        labels: Its labels.
        logits: Gives the logits of the untouched input, `[labels]`; counted as a pass.
        soft: Gives the input as a function of its word embeddings, for some columns.
        spans: Gives the characters of each token of the text, by its number.
        draw: Gives word embeddings of tokens that are drawn at random, `[count, dims]`.
        game: Gives the hard game of one target in probabilities.
        open: Opens a fitted network by its folder.
    """

    labels: Labels
    logits: Callable[[], Floats]
    soft: Callable[[Sequence[int]], GradientView]
    spans: Callable[[], Sequence[Span]]
    draw: Callable[[int], Tensor]
    game: Callable[[int], Game]
    open: Callable[[str], Attributor]


class AttributedView(View):
    """A model and an input, to be looked at through a fitted network.

    Args:
        encoded: The input.
        request: What is asked.
        model: The model.
    """

    seen = "gradients of texts with masked tokens"
    joined = "whole"
    removes = True

    def __init__(self, encoded: Encoded, request: Request, model: AttributedModel) -> None:
        self.encoded, self.request, self.model = encoded, request, model
        self.meter = request.meter
        self.columns = request.columns
        rows = [window for window in encoded.windows if isinstance(window, TokenWindow)]
        places = shared_layout(rows) if len(rows) > 1 else (np.arange(len(rows[0].ids)),)
        count = 1 + max(int(place.max()) for place in places)
        self.feature, self.token = np.full((2, count), NO_FEATURE)
        for row, place in zip(rows, places, strict=True):
            self.feature[place], self.token[place] = row.feature, row.token

    def open(self, folder: str) -> Attributor:
        """Open a fitted network; one that was fitted to another model is refused."""
        return self.model.open(folder)

    @property
    def content(self) -> Ints:
        """The positions that belong to the text."""
        return np.flatnonzero(self.token != NO_FEATURE)

    @cached_property
    def probabilities(self) -> Floats:
        """What the model says of the untouched input, `[labels]`."""
        return self.model.labels.probabilities(self.model.logits())

    def told(self, number: int) -> Told:
        """Return what is said about a target, by its number: F(x), or one-hot for a label that is not predicted.

        Where labels exclude each other, that is the distribution over them. Where each applies by itself, a target is a
        question of its own with two answers, and the network is told of no other label.
        """
        column, labels, p = self.columns[number], self.model.labels, self.probabilities
        apart = labels.head == "sigmoid"
        predicted = column == int(p.argmax()) or (apart and column in labels.above_threshold(p))
        classes = np.zeros(len(p))
        if apart:
            classes[column] = p[column] if predicted else 1.0
            return Told(classes, np.asarray([1 - classes[column], classes[column]]), 1, not predicted)
        if predicted:
            return Told(p, p, column, named=False)
        classes[column] = 1.0
        return Told(classes, classes, column, named=True)

    @cached_property
    def soft(self) -> GradientView:
        """The input as a function of its word embeddings: all labels, or those asked for where each is apart."""
        apart = self.model.labels.head == "sigmoid"
        return self.model.soft(self.columns if apart else range(len(self.model.labels)))

    def log_probabilities(self, logits: Tensor, number: int) -> Tensor:
        """Turn logits of `soft` into the log-distribution that a target's `y` is of, `[rows, classes]`."""
        values = logits.double()
        if self.model.labels.head == "softmax":
            return values.log_softmax(-1)
        own = values[:, [number]]
        return logsigmoid(torch.cat([-own, own], dim=1) if self.model.labels.head == "sigmoid" else values)

    def background(self, network: Attributor) -> Tensor:
        """Return what stands for masked tokens, `[positions, dims]`."""
        name, soft = network.mask.background, self.soft
        if name == "learned":
            if network.learned is None:
                raise IncompatibleError("the fitted network has no mask embedding of its own.")
            return network.learned.to(soft.inputs).expand_as(soft.inputs)
        if name == "random":
            return self.model.draw(len(soft.inputs)).to(soft.inputs)
        return soft.baseline(name)

    def points(self, present: Tensor, network: Attributor) -> Tensor:
        """Blend word embeddings with what stands for masked tokens, `[rows, positions, dims]`.

        Args:
            present: How far tokens are present, `[rows, positions]`; special tokens are, whatever it says.
            network: The fitted network.
        """
        nothing, inputs = self.background(network), self.soft.inputs
        special = torch.as_tensor(self.token == NO_FEATURE, device=inputs.device)
        share = present.to(inputs).masked_fill(special, 1.0)[..., None]
        return nothing + share * (inputs - nothing)

    def to_features(self, scores: Tensor) -> Floats:
        """Gather a map `[positions]` into scores of features, `[features]`."""
        feature = torch.as_tensor(self.feature, device=scores.device)
        gathered: Floats = Positions(feature, self.encoded.n_features, self.request.pieces).to_features(scores[None])[0]
        return gathered

    def measure(self, metric: "Measure", values: Floats, number: int) -> float:
        """Measure scores of a target `[features]`; higher is better, whatever the metric says."""
        target, p = self.request.targets[number], self.probabilities
        best = int(p.argmax())
        prediction = Prediction(best, self.model.labels.names[best], float(p[best]), tuple(p.tolist()), (best,))
        found = Explanation(self.encoded.example, self.encoded.places, (target,), values[None], prediction, _RECEIPT)
        value = float(metric.spec.function(found, self._games[number], **metric.settings)[0])
        return value if metric.spec.facts["higher_is_better"] else -value

    @cached_property
    def _games(self) -> list[Game]:
        return [self.model.game(number) for number in range(len(self.columns))]


_RECEIPT = Provenance("", "aml", {}, "", None, "probability", False, True, 0, 0, 0.0)  # noqa: FBT003  what metrics look at


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric of faithfulness with its settings."""

    spec: Spec
    settings: Mapping[str, JsonValue]


def measure_named(name: str) -> Measure:
    """Return a metric by its name; one that needs more than the model, or signed scores, is refused."""
    able = [one for one in METRICS.names() if _suits_masks(METRICS[one])]
    spec = METRICS[name]
    if name not in able:
        reason = "is of signed scores" if spec.facts["signed"] else "is not measured on the model alone"
        raise SettingError(f"'{name}' {reason}; aml is fitted for {', '.join(able)}.")
    return Measure(spec, spec.complete_settings({}))


def _suits_masks(spec: Spec) -> bool:
    """Say whether a metric takes masks, which have no signs, and the model alone."""
    return spec.consumes == (Explanation, Game) and not spec.facts["signed"]
