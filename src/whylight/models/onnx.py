"""A text classifier in an ONNX file: logits of rows of tokens, and nothing of what is inside.

The file stands where a network of torch would, so that tokens, windows, removers, batches and trials are those of every
other classifier. It offers a game alone: no gradient flows through it, and no layer can be looked at. Word embeddings
cannot be reached either, so that the remover `zero` does not exist; nor does `pad`, because what padding means inside a
text is up to the file.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig
from transformers.modeling_outputs import SequenceClassifierOutput

from whylight.core import showing
from whylight.core.arrays import Bools, Floats
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.errors import IncompatibleError
from whylight.core.identity import digest
from whylight.core.labels import Head, Labels, ScoreSpace
from whylight.core.text import Text
from whylight.models import trial
from whylight.models.batching import Company, Engine
from whylight.models.contents import tokenizer_contents
from whylight.models.outcomes import outcomes_of
from whylight.models.runtimes import Runtime
from whylight.models.token_network import TokenNetwork
from whylight.models.unchanged import unchanged
from whylight.perturb.binding import available
from whylight.views.batch import Removal
from whylight.views.cache import Cache
from whylight.views.classifier import Offers, Outcomes, game_of
from whylight.views.game import Game
from whylight.views.meter import Meter
from whylight.views.tokens import TokenBatch, TokenWindow
from whylight.views.view import View


class OnnxModel(nn.Module):
    """A file as a model of torch that has no parameters.

    Args:
        runtime: The file, opened.
        config: What its folder says of it.
        name: What to call it in messages.
        fingerprint: A hash of the file and of those that hold its weights.
    """

    device = torch.device("cpu")
    dtype = torch.float32

    def __init__(self, runtime: Runtime, config: PretrainedConfig, *, name: str, fingerprint: str) -> None:
        super().__init__()
        self.runtime, self.config, self.name, self.fingerprint = runtime, config, name, fingerprint

    @property
    def base_model(self) -> nn.Module:
        """Itself: there is no encoder to be seen."""
        return self

    def forward(self, **given: Tensor) -> SequenceClassifierOutput:
        """Run one batch."""
        found = self.runtime({name: value.cpu().numpy() for name, value in given.items()})
        return SequenceClassifierOutput(logits=torch.from_numpy(found))


class OnnxNetwork(TokenNetwork):
    """A file and its tokenizer.

    Args:
        model: The file.
        tokenizer: Its fast tokenizer.
        limit: Tokens that it reads at once.
    """

    kind = "an ONNX file"

    def __init__(self, model: OnnxModel, tokenizer: Any, *, limit: int) -> None:  # noqa: ANN401  transformers' own type
        super().__init__(model, tokenizer, limit=limit)
        self.architecture = model.name
        self._accepted, self._takes_anything = frozenset(model.runtime.inputs), False

    @property
    def removers(self) -> tuple[str, ...]:
        """The removers that work on its windows, default first."""
        return available(TokenWindow, self.replacements)

    def label_logits(self, rows: TokenBatch, *, head: Head, identity: str) -> Floats:
        """Run one batch; one column per label."""
        if rows.zeroed is not None:
            raise IncompatibleError(f"{self.kind} does not show its word embeddings, so that none can be made 0.")
        return super().label_logits(rows, head=head, identity=identity)

    def contents(self, labels: Labels) -> dict[str, str]:
        """Return hashes of the file and of its tokenizer, and of how it is asked."""
        asked = digest([list(labels.names), labels.head, labels.threshold, self.limit])
        return {
            "weights": self.model.fingerprint,
            "tokenizer": tokenizer_contents(self.tokenizer),
            "labels or max_tokens": asked,
        }

    def _find_replacements(self) -> dict[str, int]:
        """Return the ids of the replacement tokens that the tokenizer has, and that are not padding."""
        tokens = {name: getattr(self.tokenizer, f"{name}_token_id", None) for name in ("mask", "unk")}
        padding = (None, self.tokenizer.pad_token_id)
        return {name: int(token) for name, token in tokens.items() if token not in padding}


class OnnxClassifier:
    """A text classifier in an ONNX file.

    Args:
        model: The file.
        tokenizer: Its fast tokenizer.
        labels: Its labels and head.
        identity: A name for receipts.
        limit: Tokens that it reads at once.
    """

    kind = OnnxNetwork.kind
    reads = Text.kind

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    def __init__(self, model: OnnxModel, tokenizer: Any, *, labels: Labels, identity: str, limit: int) -> None:  # noqa: ANN401
        self.network: TokenNetwork = OnnxNetwork(model, tokenizer, limit=limit)
        self.tokenizer, self.limit = tokenizer, limit
        self.architecture = self.network.architecture
        self.labels = labels
        self.score_spaces: tuple[ScoreSpace, ...] = labels.score_spaces
        self.identity = identity
        self._findings = trial.Findings(self)
        self.engine = Engine(self.batch_logits, budget=self.network.token_budget, company=self._find_company)
        self.offers: Offers = {Game: partial(game_of, self)}

    @property
    def removers(self) -> tuple[str, ...]:
        """The removers that work on it, default first."""
        return self.network.removers

    def _find_company(self) -> Company:  # a method, because a copy of the classifier has its own
        return self._findings.company

    def encode(self, example: Text, *, unit: Unit, long: Long) -> Encoded:
        """Cut an example into features and windows."""
        return self.network.encode(example, unit=unit, long=long)

    def outcomes(
        self, encoded: Encoded, *, removal: Removal, cache: Cache, meter: Meter, columns: Sequence[int] | None = None
    ) -> Outcomes:
        """Return the function from coalitions to logits; the logits of a document are the mean over its windows."""
        answers = partial(self.engine.logits, cache=cache, meter=meter)
        ask = outcomes_of(encoded, removal, answers, labels=self.labels, columns=columns)

        def outcomes(keep: Bools) -> Floats:
            with unchanged(self.network.model), torch.inference_mode():
                return ask(keep)

        return outcomes

    def contents(self) -> Mapping[str, str]:
        """Return hashes of the file and of its tokenizer, and of how it is asked."""
        return self.network.contents(self.labels)

    def finding(self, view: type[View]) -> str | None:
        """Return what is wrong with a kind of view of this file, or None; found out by trying, once."""
        return self._findings.about(view)

    def batch_logits(self, rows: TokenBatch) -> Floats:
        """Run one batch."""
        return self.network.label_logits(rows, head=self.labels.head, identity=self.identity)
