"""Trying a classifier of pictures: are views of it views of the function that it computes when it is called by itself?

A picture of noise goes through each view, and is held against plain calls of the model on what its own preparation
gives; a gradient is held against the difference of two scores along it.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch

from whylight.core.image import CHANNELS, Image
from whylight.core.labels import Target
from whylight.models import heads
from whylight.models.trial import FAULTS, TOLERANCE, held_against_differences
from whylight.models.unchanged import unchanged
from whylight.perturb.binding import bound
from whylight.views.activations import ActivationView
from whylight.views.classifier import Request
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.meter import Meter
from whylight.views.soft import SoftGame, SoftPicture
from whylight.views.view import View

if TYPE_CHECKING:
    from whylight.models.images import ImageClassifier

SIDES = (224, 28, 32, 64, 96, 128, 256, 299, 384, 512)
"""Sizes of pictures that networks usually read; the first that one answers is tried on."""
COARSE = 14
FINE = 32
"""Steps of colour that pixels of one grain differ by: where neighbours are alike, pools that take the largest bend."""


def noise(seed: int, side: int) -> Image:
    """Draw a picture to try things on: coarse noise, so that no scaling makes it one grey, and fine noise on it."""
    draw = np.random.default_rng(seed)
    coarse = draw.integers(0, 256 - FINE, (COARSE, COARSE, CHANNELS), dtype=np.uint8)
    place = np.arange(side) * COARSE // side
    fine = draw.integers(0, FINE, (side, side, CHANNELS), dtype=np.uint8)
    return Image.of(coarse[place][:, place] + fine, name="a picture of noise")


def side_of(classifier: "ImageClassifier") -> int:
    """Return the size of pictures that a model answers; its preparation may leave sizes as they are."""
    for side in SIDES:
        numbers = classifier.preparation.numbers(noise(0, side).array)
        try:
            with unchanged(classifier.model), torch.inference_mode():
                classifier.answer(torch.as_tensor(numbers, device=classifier.device)[None])
        except FAULTS:
            continue
        return side
    return SIDES[0]


def trial_of_game(classifier: "ImageClassifier") -> str | None:
    """Return what is wrong with the game of a classifier, or None."""
    shown = classifier.example("")
    encoded = classifier.encode(shown, unit="patch", long="window")
    ask = classifier.outcomes(encoded, removal=bound(classifier.removers[0]), cache={}, meter=Meter())
    found = ask(np.ones((1, encoded.n_features), dtype=bool))[0]
    own = torch.as_tensor(classifier.preparation.numbers(shown.array), device=classifier.device)[None]
    with unchanged(classifier.model), torch.inference_mode():
        expected = heads.columns(classifier.answer(own), classifier.labels.head)[0].double().cpu().numpy()
    # colours are in bytes, which a preparation may leave by less than a step
    if np.abs(found - expected).max() > max(0.05, TOLERANCE) * max(1.0, float(np.abs(expected).max())):
        return "its answer to an untouched picture is another one than the model's own"
    return None


def trial_of_gradient(classifier: "ImageClassifier") -> str | None:
    """Return what is wrong with the gradient of a classifier, or None."""
    encoded = classifier.encode(classifier.example("a"), unit="patch", long="window")
    view = classifier.gradient_view(encoded, Request((Target(0, classifier.labels.names[0]),), "logit"))
    scores = [float(view.score(point)[0]) for point in (view.inputs, view.baseline())]
    return held_against_differences(view, np.asarray(scores), classifier.model)


TRIALS: Mapping[type[View], Callable[["ImageClassifier"], str | None]] = {
    Game: trial_of_game,
    GradientView: trial_of_gradient,
    SoftGame: trial_of_gradient,
    SoftPicture: trial_of_gradient,
    ActivationView: trial_of_gradient,
}
