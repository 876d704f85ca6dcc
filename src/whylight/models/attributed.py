"""Looking at a classifier on tokens as one to be explained by a fitted network."""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from whylight.core.arrays import Floats
from whylight.core.encoded import Encoded
from whylight.core.labels import Target
from whylight.core.text import Span, text_of
from whylight.models.attributor import open_fitted, token_spans
from whylight.models.holding import held
from whylight.models.trial import OnGradients
from whylight.views.attributed import AttributedModel, AttributedView
from whylight.views.classifier import Request, game_of
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.meter import Meter


def attributed_view(classifier: OnGradients, encoded: Encoded, request: Request) -> AttributedView:
    """Look at an input, of one window or several."""
    network, labels = classifier.network, classifier.labels

    def logits() -> Floats:
        own = Meter()  # nothing is removed, and the receipt is not to name a remover for it
        ask = classifier.outcomes(encoded, removal=request.removing, cache=request.cache, meter=own)
        found: Floats = ask(np.ones((1, encoded.n_features), dtype=bool))[0]
        request.meter.forward += own.forward_passes
        request.meter.saved += own.saved
        return found

    def soft(columns: Sequence[int]) -> GradientView:
        own = replace(request, targets=tuple(Target(i, labels.names[i]) for i in columns), space="logit")
        if len(encoded.windows) == 1:
            return classifier.gradient_view(encoded, own)
        segments = [encoded.segment(number)[0] for number in range(len(encoded.windows))]
        return GradientView.together([classifier.gradient_view(one, own) for one in segments], encoded)

    def game(number: int) -> Game:
        return game_of(classifier, encoded, replace(request, targets=(request.targets[number],), space="probability"))

    def spans() -> Sequence[Span]:
        with held(network.tokenizer):
            return token_spans(network.tokenizer, text_of(encoded.example))

    model = AttributedModel(
        labels=labels,
        logits=logits,
        soft=soft,
        spans=spans,
        draw=partial(_drawn, classifier, encoded.example.key),
        game=game,
        open=partial(open_fitted, classifier),
    )
    return AttributedView(encoded, request, model)


def _drawn(classifier: OnGradients, key: str, count: int) -> Tensor:
    """Return the word embeddings of tokens that are drawn at random, the same for the same text."""
    table = classifier.network.model.get_input_embeddings()
    special = set(classifier.network.tokenizer.all_special_ids)
    known = np.asarray([i for i in range(table.num_embeddings) if i not in special])
    drawn = np.random.default_rng(zlib.crc32(key.encode())).choice(known, size=count)
    with torch.no_grad():
        return classifier.network.embed(drawn)
