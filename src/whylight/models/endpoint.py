"""A language model that answers over HTTP, asked for a label by a prompt, as a classifier.

    logit of a label = log p(its answer | the prompt about the text) - what the prompt says of texts without content

as of a prompted model on this machine (see `prompted`), so that a softmax over the labels gives the same probabilities.
A logit of its own the answer has not: log-probabilities say logits but for a number that differs from text to text.

Every distinct text is one request. What came before a failure, or before Ctrl-C, is kept, and used when the same text
is asked about again; in work that is not disturbed nothing is, so that a text that is asked about twice is asked twice.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from whylight.core import showing
from whylight.core.arrays import Floats
from whylight.core.encoded import Encoded, Long, Unit, key_of
from whylight.core.endpoint import Endpoint
from whylight.core.errors import IncompatibleError, InputError, ModelError
from whylight.core.identity import digest
from whylight.core.interruption import taken
from whylight.core.labels import Labels, ScoreSpace
from whylight.core.prompt import Prompt
from whylight.core.text import Span, Text
from whylight.models.batching import Engine
from whylight.models.callable import BATCH_CHARACTERS, text_removers
from whylight.models.failures import UnansweredError
from whylight.models.outcomes import outcomes_of
from whylight.models.prompted import CONTENT_FREE
from whylight.models.replies import answering_model, question
from whylight.models.service import Service
from whylight.models.tokenised import check_text, units
from whylight.views.batch import Removal
from whylight.views.cache import Cache
from whylight.views.classifier import Offers, Outcomes, game_of
from whylight.views.game import Game
from whylight.views.meter import Meter
from whylight.views.texts import TextBatch, TextWindow

NEUTRAL = "..."
"""What stands for a removed word under the remover `mask`, where the prompt does not say."""
AT_ONCE = 16
"""Texts of a batch for each request that may be under way: enough to keep all busy, few enough to tell the progress."""
AGAIN = "answers that came before earlier work was stopped are used where they are about the same text"
KEPT = 2**16
"""Answers that are kept for work that is taken up again."""
TRIED = "a good film"


class EndpointClassifier:
    """A language model behind an endpoint, asked by a prompt.

    Args:
        endpoint: Where it answers.
        prompt: How it is asked.
    """

    kind = "an endpoint"
    reads = Text.kind
    score_spaces: tuple[ScoreSpace, ...] = ("probability", "log_odds", "log_probability")

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    def __init__(self, endpoint: Endpoint, prompt: Prompt) -> None:
        self.endpoint, self.prompt = endpoint, prompt
        self.labels = Labels(tuple(prompt.answers))
        self.identity = f"{endpoint.model} at {endpoint.url} asked by '{prompt.name}'"
        self._question = question(endpoint, prompt)
        self._service = Service(endpoint, self._question.path)
        self._replacements = {"mask": (NEUTRAL if prompt.neutral is None else prompt.neutral).strip()}
        self._answered_by: str | None = None
        self._without_content: Floats | None = None
        self._answers: OrderedDict[bytes, Floats] = OrderedDict()
        self._kept: dict[bytes, Floats] = {}
        self._lock = Lock()
        self.engine = Engine(self._logits, budget=BATCH_CHARACTERS, most=AT_ONCE * endpoint.in_flight)
        self.offers: Offers = {Game: partial(game_of, self)}

    @property
    def removers(self) -> tuple[str, ...]:
        """The removers that work on it, default first."""
        return text_removers(self._replacements)

    def encode(self, example: Text, *, unit: Unit, long: Long) -> Encoded:  # noqa: ARG002  the service has the limit
        """Cut an example into words or sentences."""
        check_text(example)
        if example.pair is not None:
            raise InputError(f"the prompt '{self.prompt.name}' asks about one text; this input has 2.")
        if unit == "token":
            raise IncompatibleError("the tokens of an endpoint are not known here; use the unit 'word' or 'sentence'.")
        spans = tuple(Span(0, start, end) for start, end in units(example, unit))
        window = TextWindow(example.text, spans, self._replacements)
        return Encoded(example, unit, spans, (window,), notes=(self._note, *([AGAIN] if self._kept else [])))

    def outcomes(
        self, encoded: Encoded, *, removal: Removal, cache: Cache, meter: Meter, columns: Sequence[int] | None = None
    ) -> Outcomes:
        """Return the function from coalitions to logits."""
        answers = partial(self.engine.logits, cache=cache, meter=meter)
        return outcomes_of(encoded, removal, answers, labels=self.labels, columns=columns)

    def contents(self) -> Mapping[str, str]:
        """Return hashes of address, model and prompt; what is behind the address nobody can tell."""
        asked = [self.prompt.chat, self.prompt.calibration, self._replacements["mask"]]
        pieces = [*self.prompt.pieces, *self._question.tokens.values(), *asked]
        return {
            "endpoint": digest([self.endpoint.url, self.endpoint.model]),
            "prompt": digest(pieces),
            "labels": digest(list(self.labels.names)),
        }

    def try_out(self) -> None:
        """Ask about a short text, and refuse an endpoint that does not answer it as it must."""

        def read(reply: object) -> None:
            self._check_model(reply)
            self._question.returned(reply)

        self._service.ask([self._question.body(TRIED)], read, lambda _number, _found: None)

    @property
    def _note(self) -> str:
        """What every receipt says."""
        other = self._answered_by not in (None, self.endpoint.model)
        names = f", which says that '{self._answered_by}' answers" if other else ""
        return f"answers come from the service at {self.endpoint.url}{names}; it may change, and scores with it"

    def _logits(self, batch: TextBatch) -> Floats:
        return self._log_probabilities(batch.texts) - self._offsets()

    def _offsets(self) -> Floats:
        """Return what the prompt says of texts without content, `[labels]`; asked once."""
        if self.prompt.calibration == "none":
            return np.zeros(len(self.labels))
        if self._without_content is None:
            shares = self.labels.probabilities(self._log_probabilities(CONTENT_FREE))
            self._without_content = np.log(shares.mean(axis=0))
        return self._without_content

    def _log_probabilities(self, texts: Sequence[str]) -> Floats:
        """Return the log-probability of each label's answer, `[texts, labels]`."""
        keys = [key_of(text.encode()) for text in texts]
        with taken(self._lock):
            found = {key: self._kept.pop(key) for key in keys if key in self._kept}
        missing = [number for number, key in enumerate(keys) if key not in found]

        def received(number: int, scores: Floats) -> None:
            found[keys[missing[number]]] = scores

        try:
            self._service.ask([self._question.body(texts[number]) for number in missing], self._read, received)
        except BaseException as error:
            count = self._keep(dict(found), for_later=True)  # a thread may still be adding to it
            if isinstance(error, UnansweredError):
                raise ModelError(f"{str(error).rstrip('.')}; {_told(count)}.") from None
            raise
        self._keep(found, for_later=False)
        return np.stack([found[key] for key in keys])

    def _read(self, reply: Any) -> Floats:  # noqa: ANN401  JSON of any kind
        self._check_model(reply)
        return self._question.scores(reply)

    def _check_model(self, reply: object) -> None:
        """Note which model says that it answers, and refuse a change of it."""
        name, known = answering_model(reply), self._answered_by
        if known is not None and name is not None and name != known:
            raise ModelError(
                f"the endpoint {self.endpoint.url} began to answer by another model ('{name}', before "
                f"'{known}'), so that answers do not go together; name one model exactly, and load it anew."
            )
        self._answered_by = known or name

    def _keep(self, found: Mapping[bytes, Floats], *, for_later: bool) -> int:
        """Note what came, and return how many answers are kept for work that is taken up again."""
        with taken(self._lock):
            for key, scores in found.items():
                self._answers[key] = scores
                self._answers.move_to_end(key)
            while len(self._answers) > KEPT:
                self._answers.popitem(last=False)
            if for_later:
                self._kept = dict([*self._kept.items(), *self._answers.items()][-KEPT:])
                self._answers.clear()
            return len(self._kept)


def _told(count: int) -> str:
    if not count:
        return "no answer had come before"
    kept = "1 answer that came before is" if count == 1 else f"{count:,} answers that came before are"
    return f"{kept} kept in this process, and not asked for again"


def load_endpoint(endpoint: Endpoint, prompt: Prompt) -> EndpointClassifier:
    """Return a language model behind an endpoint as a classifier, after one short text has gone through it."""
    classifier = EndpointClassifier(endpoint, prompt)
    classifier.try_out()
    return classifier
