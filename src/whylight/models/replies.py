"""What is asked of an endpoint, and what its answer says about labels.

    score of a label = log p(its answer | the prompt), for an answer that is one token

Endpoints return the likeliest tokens as texts, with their log-probabilities. Without the tokenizer nobody can tell
which tokens a longer answer has. So an answer must be, letter by letter, one of the tokens that came back: then `mean`,
`sum` and `first` are the same number. A label whose answer did not come back has no score, and none is made up for it.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.endpoint import Endpoint
from whylight.core.errors import ModelError, SettingError
from whylight.core.prompt import Prompt, between, without_end

UNLIKELY = -1000.0
"""Below this a figure is no log-probability but a mark: -9999 says that a token is not among the likeliest."""
SLACK = 1e-3
"""By how much probabilities may add up to more than 1: services round them."""
SHOWN, LONGEST = 5, 40
"""Tokens that a message lists, and characters of each."""
NAMED = 80
"""Characters of the name of a model."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A prompt as an endpoint is asked it.

    Attributes:
        endpoint: The endpoint.
        prompt: The prompt.
        tokens: The token that is the answer of each label.
    """

    endpoint: Endpoint
    prompt: Prompt
    tokens: Mapping[str, str]

    @property
    def path(self) -> str:
        """The page that is asked."""
        return "/chat/completions" if self.prompt.chat else "/completions"

    def written(self, text: str) -> str:
        """Return the prompt about a text."""
        pieces = self.prompt.pieces if self.prompt.chat else without_end(self.prompt.pieces)[0]
        return "".join(text if isinstance(piece, int) else piece for piece in pieces)

    def body(self, text: str) -> bytes:
        """Return the request about a text.

        One token is drawn, which nobody looks at; a temperature of 1 leaves the log-probabilities as the model has
        them, also where a service gives those that it draws from.
        """
        count, words = self.endpoint.top_logprobs, self.written(text)
        asked: dict[str, Any] = {"model": self.endpoint.model, "max_tokens": 1, "temperature": 1, "top_p": 1}
        if self.prompt.chat:
            asked |= {"messages": [{"role": "user", "content": words}], "logprobs": True, "top_logprobs": count}
        else:
            asked |= {"prompt": words, "logprobs": count}
        return json.dumps(asked, ensure_ascii=False).encode()

    def scores(self, reply: object) -> Floats:
        """Return the log-probability of each label's answer, `[labels]`."""
        found = self.returned(reply)
        return np.asarray([self._score(label, token, found) for label, token in self.tokens.items()])

    def returned(self, reply: object) -> dict[str, list[float]]:
        """Return the log-probabilities of the tokens that came back, likeliest first; mostly one each."""
        known = [(token, value) for token, value in dict.fromkeys(_pairs(reply)) if value > UNLIKELY]
        if not known:
            raise ModelError(
                f"the endpoint {self.endpoint.url} gives no log-probabilities of tokens; ask one that returns "
                f"{'top_logprobs' if self.prompt.chat else 'logprobs'}, such as vLLM or llama.cpp."
            )
        if sum(math.exp(min(value, 1.0)) for _, value in known) > 1 + SLACK:
            raise ModelError(
                f"the endpoint {self.endpoint.url} returns figures that are no log-probabilities: they add up to more "
                "than 1."
            )
        found: dict[str, list[float]] = {}
        for token, value in sorted(known, key=lambda pair: -pair[1]):
            found.setdefault(token, []).append(value)
        return found

    def _score(self, label: str, token: str, found: Mapping[str, list[float]]) -> float:
        values = found.get(token, [])
        if len(values) == 1:
            return values[0]
        if values:
            raise ModelError(
                f"the endpoint {self.endpoint.url} returned several tokens that read {_quoted(token)}, so that the "
                f"label '{label}' has no one score; use another answer for it."
            )
        raise ModelError(self._refusal(label, token, list(found)))

    def _refusal(self, label: str, token: str, found: list[str]) -> str:
        listed = ", ".join(_quoted(one) for one in found[:SHOWN])
        parts = [one for one in found if one.strip() and token.startswith(one)]
        cut = f" ({_quoted(parts[0])} did: the model may cut the answer into several tokens)" if parts else ""
        return (
            f"the answer {_quoted(token)} of the label '{label}' is not among the {len(found)} tokens that the "
            f"endpoint {self.endpoint.url} returned{cut}, the likeliest of which are {listed}; a score is never made "
            f"up, so use a larger top_logprobs (now {self.endpoint.top_logprobs}), or answers that are such tokens."
        )


def question(endpoint: Endpoint, prompt: Prompt) -> Question:
    """Return a prompt as an endpoint is asked it; what it cannot be asked is refused."""
    if prompt.free:
        raise SettingError(
            f"the prompt '{prompt.name}' has no answers, and an endpoint is asked for labels alone: it does not say "
            "how likely a given text is; write [answers] into the prompt."
        )
    if prompt.takes_pairs:
        raise SettingError(
            f"the prompt '{prompt.name}' asks about a pair of texts, and an endpoint is asked about single ones; write "
            "one of the two into the template."
        )
    if prompt.blocks:
        raise SettingError(
            f"the prompt '{prompt.name}' explains its instruction or shots, and an endpoint is asked about words of "
            "the text alone; use features = ['text']."
        )
    if prompt.neutral is not None and not prompt.neutral.strip():
        raise SettingError(f"'neutral' of the prompt '{prompt.name}' is empty; leave it out, or use '...'.")
    if endpoint.top_logprobs < len(prompt.answers):
        raise SettingError(
            f"the prompt '{prompt.name}' has {len(prompt.answers)} labels, and only {endpoint.top_logprobs} tokens are "
            f"asked for; use top_logprobs={len(prompt.answers)} or more."
        )
    pieces, blank = without_end(prompt.pieces)
    tail = pieces[-1] if isinstance(pieces[-1], str) else ""
    blank = "" if prompt.chat else blank
    tokens = {label: between(prompt, tail, blank, answer) + answer for label, answer in prompt.answers.items()}
    labels: dict[str, str] = {}
    for label, token in tokens.items():
        if token in labels:
            raise SettingError(f"the labels '{labels[token]}' and '{label}' have the same answer, {_quoted(token)}.")
        labels[token] = label
    return Question(endpoint, prompt, tokens)


def _pairs(reply: object) -> list[tuple[str, float]]:
    """Return tokens with figures, as an endpoint lists them; nothing where it lists none.

    Both forms are known: that of messages (a list of objects) and that of plain prompts (an object). Some services
    answer the one in the form of the other.
    """
    place = _at(reply, "choices", 0, "logprobs")
    listed = _at(place, "content", 0, "top_logprobs")
    if listed is None:
        listed = _at(place, "top_logprobs", 0)
    if isinstance(listed, dict):
        entries = list(listed.items())
    elif isinstance(listed, list):
        entries = [(_at(one, "token"), _at(one, "logprob")) for one in listed]
    else:
        return []
    if not all(isinstance(token, str) and _is_number(value) for token, value in entries):
        return []
    return [(token, float(value)) for token, value in entries]


def answering_model(reply: object) -> str | None:
    """Return the model that an endpoint says has answered."""
    found = _at(reply, "model")
    return found[:NAMED] if isinstance(found, str) and found else None


def _at(value: object, *path: str | int) -> Any:  # noqa: ANN401  JSON of any kind
    """Return what stands at a place of a JSON value, or None."""
    for one in path:
        if isinstance(one, str) and isinstance(value, dict):
            value = value.get(one)
        elif isinstance(one, int) and isinstance(value, list) and one < len(value):
            value = value[one]
        else:
            return None
    return value


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:
        return False


def _quoted(token: str) -> str:
    """Return a token with its blanks, and without anything that could steer a terminal."""
    return repr(token[:LONGEST])
