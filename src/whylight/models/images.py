"""Classifiers of pictures, as views: any network that a preparation feeds.

A picture is cut down to what the model sees of it, by its own preparation, and divided into features: pixels, patches
of a grid, or superpixels. Games are played by patches where features are pixels; gradients are those of each pixel.
Numbers of a position are its three colours, from 0 to 1, so that blends of two pictures are what they look like.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from whylight.core import showing
from whylight.core.arrays import Bools, Floats
from whylight.core.encoded import IMAGE_UNITS, Encoded, Long, Unit
from whylight.core.errors import ModelError
from whylight.core.identity import digest
from whylight.core.image import CHANNELS, Image
from whylight.core.labels import Labels, ScoreSpace
from whylight.models import anatomy, heads, image_trial, rules
from whylight.models.activations import last_maps
from whylight.models.batching import Engine
from whylight.models.contents import weights_contents
from whylight.models.divisions import division_of, grid_of_patches
from whylight.models.excitation import excitation
from whylight.models.frozen import frozen
from whylight.models.image_reading import logits_of, picture_of, window_of
from whylight.models.image_tracing import image_trace, vision_config
from whylight.models.leaves import leaf_biases
from whylight.models.outcomes import outcomes_of
from whylight.models.preparation import PROBE, Preparation
from whylight.models.trial import outcome
from whylight.models.unchanged import unchanged
from whylight.perturb.backgrounds import PLAIN
from whylight.perturb.binding import available
from whylight.views.activations import ActivationView
from whylight.views.batch import Removal
from whylight.views.cache import Cache
from whylight.views.classifier import Offers, Outcomes, Request, game_of
from whylight.views.game import Game
from whylight.views.gradient import GradientView, Graph, Level
from whylight.views.grouped import GroupedGame
from whylight.views.meter import Meter
from whylight.views.pixels import PixelBatch, PixelWindow
from whylight.views.positions import Positions
from whylight.views.soft import SoftGame, SoftPicture, soft_game_of
from whylight.views.trace import TraceView
from whylight.views.view import View

PIXELS_AT_ONCE = 8 * 224 * 224
SAME = 1e-3
"""How far answers to a picture that was rounded to bytes may lie from the model's own, beside a logit of 1."""


class ImageClassifier:
    """A network that gives labels to pictures.

    Args:
        model: The network: numbers `[rows, 3, height, width]` -> logits, or a Hugging Face output that has them.
        preparation: What makes its input of a picture.
        labels: Its labels.
        identity: A name for receipts.
    """

    kind = "an image classifier"
    reads = Image.kind
    units: tuple[Unit, ...] = IMAGE_UNITS

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    def __init__(self, model: nn.Module, preparation: Preparation, *, labels: Labels, identity: str) -> None:
        self.model, self.preparation = model, preparation
        self.labels, self.identity = labels, identity
        self.score_spaces: tuple[ScoreSpace, ...] = labels.score_spaces
        self.architecture = type(model).__name__
        self._found: dict[type[View], str | None] = {}
        self.engine = Engine(self.batch_logits, budget=PIXELS_AT_ONCE)
        self.offers: Offers = {
            Game: self.game,
            GradientView: self.gradient_view,
            SoftGame: self.soft_game,
            SoftPicture: self.soft_game,
            ActivationView: self.activation_view,
        }
        if isinstance(model, PreTrainedModel):
            self.offers[TraceView] = self.trace_view

    @property
    def removers(self) -> tuple[str, ...]:
        """The removers that work on it, default first."""
        return available(PixelWindow, ())

    def encode(self, example: Image, *, unit: Unit, long: Long) -> Encoded:  # noqa: ARG002  a picture is never long
        """Cut a picture down to what the model sees, and that into features."""
        seen = self.preparation.seen(example)
        divided = replace(seen, division=division_of(seen, unit))
        window = PixelWindow(self.preparation.frame(divided), divided.labels, self.preparation.colours.mean)
        notes = self._rounding(example, seen)
        return Encoded(divided, unit, divided.own_places or (), (window,), notes)

    def outcomes(
        self, encoded: Encoded, *, removal: Removal, cache: Cache, meter: Meter, columns: Sequence[int] | None = None
    ) -> Outcomes:
        """Return the function from coalitions to logits."""
        answers = partial(self.engine.logits, cache=cache, meter=meter)
        ask = outcomes_of(encoded, removal, answers, labels=self.labels, columns=columns)

        def outcomes(keep: Bools) -> Floats:
            with unchanged(self.model), torch.inference_mode():
                return ask(keep)

        return outcomes

    def game(self, encoded: Encoded, request: Request) -> Game:
        """Look at a picture as a game; of patches, where features are pixels."""
        own = game_of(self, encoded, request)
        if encoded.unit != "pixel":
            return own
        seen = picture_of(encoded)
        cut = replace(seen, division=grid_of_patches(seen))
        return GroupedGame(
            own,
            group=cut.labels.ravel(),
            n_targets=own.n_targets,
            meter=request.meter,
            positions=lambda: cut.coordinates(cut.own_places or ()),
        )

    def soft_game(self, encoded: Encoded, request: Request) -> SoftGame:
        """Look at a picture as a function of how far each feature is present."""
        return soft_game_of(self.gradient_view(encoded, request), encoded, request, kind=SoftPicture)

    def gradient_view(self, encoded: Encoded, request: Request) -> GradientView:
        """Look at a picture as a function of its colours."""
        window = window_of(encoded)
        height, width, _ = window.frame.shape
        device = self.device
        inputs = torch.as_tensor(window.frame, device=device).reshape(-1, CHANNELS)

        def score(points: Tensor) -> Tensor:
            with unchanged(self.model):
                return heads.wanted_scores(
                    self.logits(points.reshape(-1, height, width, CHANNELS)), self.labels.head, request
                )

        baselines = {
            name: torch.as_tensor(np.broadcast_to(PLAIN[name](window), window.frame.shape).copy(), device=device)
            for name in ("blur", "mean", "black", "white")
        }
        return GradientView(
            score,
            inputs,
            baselines={name: one.reshape(-1, CHANNELS) for name, one in baselines.items()},
            positions=Positions(
                torch.as_tensor(window.labels.ravel().copy(), device=device), encoded.n_features, request.pieces
            ),
            rules={
                "rescale": rules.rescale,
                "frozen": frozen,
                "guided": rules.guided,
                "excitation": partial(excitation, self.preparation.black),
            },
            graph=partial(self._graph, window, request),
            row_limit=max(1, self.engine.budget // len(inputs)),
            meter=request.meter,
        )

    def trace_view(self, encoded: Encoded, request: Request) -> TraceView:
        """Look at the attention between patches of a picture."""
        return image_trace(self, window_of(encoded), request)

    @property
    def n_layers(self) -> int:
        """Layers of a transformer; a network that does not say how many makes it an attribute that is missing."""
        return int(vision_config(self.model).num_hidden_layers)

    def layers_obstacle(self, *, post_norm: bool) -> str | None:
        """Return why the layers of this model cannot be recorded, or None if they can."""
        return anatomy.anatomy_obstacle(self.model, post_norm=post_norm)

    def _graph(self, window: PixelWindow, request: Request, _level: Level) -> Graph:
        """Run a picture such that its input, as the model reads it, and all biases are leaves."""
        height, width, _ = window.frame.shape
        read = self.preparation.inputs(torch.as_tensor(window.frame, device=self.device)[None])
        leaf = read.permute(0, 2, 3, 1).reshape(1, -1, CHANNELS).detach().requires_grad_()
        with unchanged(self.model), leaf_biases(self.model) as biases:
            logits = self.answer(leaf.reshape(1, height, width, CHANNELS).permute(0, 3, 1, 2))
        return Graph(heads.wanted_scores(logits, self.labels.head, request), leaf, [biases])

    def finding(self, view: type[View]) -> str | None:
        """Return what is wrong with a kind of view of this model, or None; found out by trying, once."""
        if view not in self._found:
            attempt = image_trial.TRIALS.get(view)
            wrong = None if attempt is None else outcome(lambda: attempt(self))
            self._found[view] = None if wrong is None else f"those of '{self.architecture}' are not right: {wrong}"
        return self._found[view]

    def example(self, text: str) -> Image:
        """Return a picture to try things on, another one for another text."""
        return image_trial.noise(len(text), self._side)

    @cached_property
    def _side(self) -> int:
        return image_trial.side_of(self)

    def activation_view(self, encoded: Encoded, request: Request) -> ActivationView:
        """Look at the maps of a late layer."""
        window = window_of(encoded)
        inputs = torch.as_tensor(window.frame, device=self.device)[None]

        def scores() -> Tensor:
            return heads.wanted_scores(self.logits(inputs.requires_grad_()), self.labels.head, request)[0]

        @cache
        def found() -> tuple[str, Tensor, Tensor]:
            request.meter.forward += 1
            request.meter.backward += len(request.targets)
            with unchanged(self.model):
                return last_maps(self.model, scores, picture=window.labels.shape)

        return ActivationView(lambda: found()[1:], labels=window.labels, layer=lambda: found()[0])

    def with_model(self, model: Any, *, identity: str) -> "ImageClassifier":  # noqa: ANN401
        """Return the same classifier on another model of the same shape."""
        return ImageClassifier(model, self.preparation, labels=self.labels, identity=identity)

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next((one.device for one in self.model.parameters()), torch.device("cpu"))

    def batch_logits(self, rows: PixelBatch) -> Floats:
        """Run one batch without gradient."""
        logits = self.logits(torch.as_tensor(np.ascontiguousarray(rows.frames), device=self.device))
        values: Floats = heads.columns(logits, self.labels.head).double().cpu().numpy()
        if not np.isfinite(values).all():
            raise ModelError(f"the model '{self.identity}' returned a logit that is not a finite number.")
        return values

    def contents(self) -> Mapping[str, str]:
        """Return hashes of the weights, of the labels, and of what the preparation makes of a picture."""
        probe = np.random.default_rng(0).integers(0, 256, (PROBE, PROBE, CHANNELS), dtype=np.uint8)
        prepared = digest(np.round(self.preparation.numbers(probe), 4).tolist())
        labels = digest([list(self.labels.names), self.labels.head, self.labels.threshold])
        return {"weights": weights_contents(self.model), "preparation": prepared, "labels": labels}

    def logits(self, frames: Tensor) -> Tensor:
        """Return logits of colours `[rows, height, width, 3]`, differentiable by them."""
        return self.answer(self.preparation.inputs(frames))

    def answer(self, inputs: Tensor) -> Tensor:
        """Return logits of a model's own input, `[rows, 3, height, width]`."""
        dtype = next((one.dtype for one in self.model.parameters() if one.is_floating_point()), inputs.dtype)
        return logits_of(self.model(inputs.to(dtype)), len(self.labels), self.labels.head)

    def _rounding(self, example: Image, seen: Image) -> tuple[str, ...]:
        """Say so if what is explained, a picture in bytes, is answered otherwise than the model's own input of it."""
        if example.frame is not None:
            return ()
        own = torch.as_tensor(self.preparation.numbers(example.array), device=self.device)[None]
        with unchanged(self.model), torch.inference_mode():
            plain = self.answer(own)
            rounded = self.logits(torch.as_tensor(self.preparation.frame(seen), device=self.device)[None])
        apart, size = float((plain - rounded).abs().max()), max(1.0, float(plain.abs().max()))
        if apart <= SAME * size:
            return ()
        return (f"the picture was rounded to 8 bits: logits differ by up to {apart:.2g} from the model's own",)
