"""Trying a model: are the views of it views of the function that it computes when it is called by itself?

Nothing is known of architectures here. A text of 3 and one of 30 words go through each view, and what comes out is held
against plain calls of the model on what its own tokenizer returns:

    game       the untouched text, and both texts in one padded batch
    gradient   the untouched text; the text with its ids overwritten, which a baseline stands for; and the gradient
               against the difference of two scores along it

A cut or wrong graph, a lookup that is not the input's, types that a table takes for words: all show here.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from whylight.core.arrays import Floats
from whylight.core.encoded import Encoded
from whylight.core.errors import WhylightError
from whylight.core.inputs import Input
from whylight.core.labels import Target
from whylight.core.text import Text
from whylight.models import heads
from whylight.models.batching import Company, out_of_memory
from whylight.models.token_network import TokenNetwork
from whylight.models.unchanged import is_block_sparse, unchanged
from whylight.perturb.binding import bound
from whylight.views.attributed import AttributedView
from whylight.views.classifier import Classifier, Request
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.meter import Meter
from whylight.views.soft import SoftGame
from whylight.views.tokens import TokenBatch, TokenWindow, one_window
from whylight.views.trace import TraceView
from whylight.views.view import View

SHORT = "a good film"
LONG = (
    "the film was never dull , but its plot is not very good and the ending of this movie drags , "
    "though the acting with that awful script was great for"
)
TEXTS = (SHORT, LONG)
"""Texts of 3 and of 30 words."""
TOLERANCE, ROUNDINGS = 1e-4, 64
"""Two answers are one if they differ by this share of their size, or by so many rounding errors in half precision."""
CHANGES, SLACK = (1e-2, 1e-3), 0.2
"""How far the score is moved to test a gradient, as a share of its size, and by how much the two may then differ.

The second is for models that bend or jump (experts that are chosen) within the first.
"""
HALF = 1e-4
"""Above this rounding error two scores are too coarse to take a difference of."""
FAULTS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError)
"""What the code of a model raises when it is used in a way that it does not expect."""


class OnTokens(Classifier, Protocol):
    """A classifier on a network that reads tokens: what is tried.

    Attributes:
        network: The network, with its tokenizer.
    """

    network: TokenNetwork

    def batch_logits(self, rows: TokenBatch) -> Floats:
        """Run one batch without gradient."""
        ...


class OnGradients(OnTokens, Protocol):
    """A classifier on a network that can be differentiated."""

    def gradient_view(self, segment: Encoded, request: Request) -> GradientView:
        """Look at one window as a function of its word embeddings."""
        ...


class Findings:
    """What trials of a classifier find out, each done once, when somebody asks.

    Args:
        classifier: The classifier.
    """

    def __init__(self, classifier: OnTokens) -> None:
        self._classifier = classifier
        self._found: dict[type[View], str | None] = {}

    def about(self, view: type[View]) -> str | None:
        """Return what is wrong with a kind of view, or None."""
        if view not in self._found:
            attempt, name = TRIALS.get(view), self._classifier.network.architecture
            wrong = None if attempt is None else outcome(lambda: attempt(self._classifier))
            self._found[view] = None if wrong is None else f"those of '{name}' are not right: {wrong}"
        return self._found[view]

    @cached_property
    def company(self) -> Company:
        """Which rows may share a batch."""
        return company(self._classifier)


def example_of(classifier: Classifier, text: str) -> Input:
    """Return an input to try things on: with a text in it, of as many texts as a classifier reads, or a picture."""
    maker = getattr(classifier, "network", classifier)
    return maker.example(text) if hasattr(maker, "example") else Text(text)


def trial_game(classifier: OnTokens) -> str | None:
    """Return what is wrong with the game of a classifier, or None."""
    for text in TEXTS:
        encoded = _encoded(classifier, text)
        outcomes = classifier.outcomes(encoded, removal=bound(classifier.removers[0]), cache={}, meter=Meter())
        found = outcomes(np.ones((1, encoded.n_features), dtype=bool))[0]
        inputs = _inputs(classifier, encoded, text)
        expected = _answer(classifier, inputs)
        if not _alike(classifier, found, expected) and _agrees_with_itself(classifier, inputs):
            return f"its answer to an untouched text is {_shown(found)} where the model's own is {_shown(expected)}"
    return None


def gradient(classifier: OnTokens) -> str | None:
    """Return what is wrong with the gradient view of a classifier, or None."""
    if quantised(classifier.network.model) is not None:
        return quantised(classifier.network.model)
    request = Request((Target(0, classifier.labels.names[0]),), "logit")
    for text in TEXTS:
        encoded = _encoded(classifier, text)
        if not _agrees_with_itself(classifier, _inputs(classifier, encoded, text)):
            return None
        view = classifier.offers[GradientView](encoded, request)
        assert isinstance(view, GradientView)  # noqa: S101  by the type that it is offered by
        scores = _scores(view, [view.inputs, view.baseline()])
        expected = _expected(classifier, view, encoded, text)
        if not _alike(classifier, scores[: len(expected)], expected):
            return f"its scores are {_shown(scores)} where the model's own are {_shown(expected)}"
        # of the long text it would cost as much as all the rest, and tell no more
        found = held_against_differences(view, scores, classifier.network.model) if text == SHORT else None
        if found is not None:
            return found
    return None


def trace(classifier: OnTokens) -> str | None:
    """Return what no trace of a classifier gets over, or None; methods that look at one are tried themselves."""
    return quantised(classifier.network.model)


def company(classifier: OnTokens) -> Company:
    """Find out which rows may share a batch such that each has the answer that it has alone."""
    short, long = (one_window(_encoded(classifier, text)) for text in TEXTS)
    if not is_block_sparse(classifier.network.model.modules()) and _same_together(classifier, [short, long]):
        return "any"
    other = replace(long, ids=np.where(long.feature >= 0, long.ids[long.feature >= 0][0], long.ids))
    return "alike" if _same_together(classifier, [long, other]) else "none"


def _same_together(classifier: OnTokens, windows: list[TokenWindow]) -> bool:
    lengths = np.asarray([len(window.ids) for window in windows])
    ids = np.zeros((len(windows), lengths.max()), dtype=np.int64)
    types = np.zeros_like(ids)
    for row, window in enumerate(windows):
        ids[row, : lengths[row]], types[row, : lengths[row]] = window.ids, window.types
    rows = TokenBatch(ids, types, lengths)
    with unchanged(classifier.network.model), torch.inference_mode():
        try:
            together = classifier.batch_logits(rows)
        except FAULTS as error:
            if out_of_memory(error):
                raise
            return False
        alone = [classifier.batch_logits(rows.take([row])) for row in range(len(windows))]
    return _alike(classifier, together, np.concatenate(alone))


def outcome(trial: Callable[[], str | None]) -> str | None:
    """Return what a trial found; what a model raises in it is a finding, but for a lack of memory."""
    try:
        with torch.inference_mode(mode=False):
            return trial()
    except WhylightError as error:
        return str(error).rstrip(".")
    except FAULTS as error:
        if out_of_memory(error):
            raise
        line = (str(error).strip() or "no reason given").splitlines()[0].rstrip(".")
        return f"the model fails in it ({type(error).__name__}: {line})"


def quantised(model: nn.Module) -> str | None:
    """Return why a model with packed integer weights has no gradient, if it has such."""
    if any("quantized" in type(module).__module__.split(".") for module in model.modules()):
        return "no gradient flows through its integer weights; load it without quantisation"
    return None


def _expected(classifier: OnTokens, view: GradientView, encoded: Encoded, text: str) -> Floats:
    """Return what the model itself says of a text, and of its baseline where that stands for a token."""
    inputs = _inputs(classifier, encoded, text)
    answers = [_answer(classifier, inputs)[0]]
    token = classifier.network.replacements.get(view.auto["baseline"])
    if token is not None:
        content = torch.as_tensor(one_window(encoded).feature >= 0, device=classifier.network.model.device)
        replaced = inputs["input_ids"].masked_fill(content, token)
        answers.append(_answer(classifier, {**inputs, "input_ids": replaced})[0])
    return np.asarray(answers)


def held_against_differences(view: GradientView, scores: Floats, model: nn.Module) -> str | None:
    """Hold the gradient at the input against differences of the first score, and say what is wrong with it, or None.

    Points are asked one after the other, since a network may take one input at a time.

    Args:
        view: The view.
        scores: Of the input and of its baseline, `[2]`.
        model: The network, whose numbers may be too coarse to take a difference of.
    """
    slope = view.gradient()[0]
    steepness, size = float(slope.double().norm()), max(1.0, float(abs(scores[0])))
    rounded = max(torch.finfo(slope.dtype).eps, rounding(model))
    if steepness == 0:
        depends = abs(scores[1] - scores[0]) > max(TOLERANCE, ROUNDINGS * rounded) * size
        return "its gradient is 0, though its score depends on the input" if depends else None
    if rounded > HALF:
        return None
    ratio = 0.0
    for share in CHANGES:
        change = share * size
        step = slope * (change / steepness**2)
        ahead, behind = (float(view.score(point)[0]) for point in (view.inputs + step, view.inputs - step))
        ratio = (ahead - behind) / (2 * change)
        if abs(ratio - 1) <= SLACK:
            return None
    return f"its score changes by {ratio:.2g} times what its gradient says"


def rounding(model: nn.Module) -> float:
    """Return the rounding error of the coarsest numbers that a network computes with."""
    own = (torch.finfo(one.dtype).eps for one in model.parameters() if one.is_floating_point())
    return max(own, default=torch.finfo(torch.float32).eps)


def _scores(view: GradientView, points: list[Tensor]) -> Floats:
    """Return the scores of some points, in one batch."""
    together = torch.stack(points)
    scores: Floats = view.scores(len(points), lambda indices: together[indices])[:, 0].double().cpu().numpy()
    return scores


def _encoded(classifier: OnTokens, text: str) -> Encoded:
    return classifier.encode(classifier.network.example(text), unit="word", long="truncate")


def _inputs(classifier: OnTokens, encoded: Encoded, text: str) -> Mapping[str, Tensor]:
    """Return what the tokenizer gives for a text; of a text that is too long, what is left of it."""
    return classifier.network.plain_inputs(classifier.network.example(text), one_window(encoded))


def _answer(classifier: OnTokens, inputs: Mapping[str, Tensor]) -> Floats:
    """Return the logits of one plain call, a column per label."""
    network = classifier.network
    with unchanged(network.model), torch.inference_mode():
        logits = heads.columns(network.plain_logits(inputs), classifier.labels.head)
    values: Floats = logits[0].double().cpu().numpy()
    return values


def _agrees_with_itself(classifier: OnTokens, inputs: Mapping[str, Tensor]) -> bool:
    """Say whether a model gives one text one answer; one that does not is noted, and nothing can be held against it."""
    return _alike(classifier, _answer(classifier, inputs), _answer(classifier, inputs))


def _alike(classifier: OnTokens, found: Floats, expected: Floats) -> bool:
    eps = torch.finfo(classifier.network.model.dtype).eps
    size = max(1.0, float(np.abs(expected).max()))
    return bool(np.abs(found - expected).max() <= max(TOLERANCE, ROUNDINGS * eps) * size)


def _shown(values: Floats | list[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in list(values)[:3])


TRIALS: Mapping[type[View], Callable[[OnTokens], str | None]] = {
    Game: trial_game,
    GradientView: gradient,
    SoftGame: gradient,
    AttributedView: gradient,
    TraceView: trace,
}
