"""A language model that may write what it likes, as a network whose labels are texts.

    score of a text = mean (or sum) of log p(token | prompt, tokens before it)   over its tokens

The text that is asked about is the one that the model writes behind the prompt, token by token the most probable, until
it ends the text itself, writes what the prompt stops at, or has written as much as the prompt allows; or one that is
given. The token that ends a text is no part of it. A text is never removed: it is read behind each variant of the
prompt, from the states of that variant.
"""

import inspect
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from whylight.core.arrays import Ints
from whylight.core.encoded import Encoded
from whylight.core.errors import InputError
from whylight.core.identity import digest
from whylight.core.labels import GENERATED, WRITTEN, Labels
from whylight.models.continuing import keeps_tokens, no_states
from whylight.models.holding import held
from whylight.models.prefixes import Prefixes
from whylight.models.prompted import PromptedNetwork
from whylight.models.unchanged import unchanged
from whylight.views.tokens import TokenWindow

TRIED = "a good film"
"""What is asked about where a model is tried, before any text is there to write behind."""
NOTHING = "(nothing)"
"""What an answer is called that shows no letter: the model ended it at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Writing:
    """What a model wrote.

    Attributes:
        ids: Its tokens; the one that ends it, if there is no other.
        text: As people read it, blanks around it left out; empty if it shows no letter.
        ended: Whether the model ended it, or the length that it was given.
        passes: Forward passes that it took.
    """

    ids: Ints
    text: str
    ended: bool
    passes: int


class WritingNetwork(PromptedNetwork):
    """A causal language model behind a prompt without answers."""

    kind = "a language model that writes"

    def _read_answers(self) -> list[Ints]:
        return [self.reader.behind(TRIED)]

    @property
    def _reserved(self) -> int:
        return max(self.prompt.length, *map(len, self.answers))

    @property
    def normalised(self) -> bool:
        """Whether a score is a log-probability: of a text it always is."""
        return True

    def about(self, encoded: Encoded, asked: Sequence[str]) -> tuple["WritingNetwork", Labels, tuple[str, ...]]:
        """Return the network whose labels are what is written behind an input and what else is asked about.

        Args:
            encoded: The input.
            asked: Texts that are asked about beside the model's own, which is the first label.

        Returns:
            The network, its labels, and what the receipt must say.
        """
        window, *others = encoded.windows
        if others or not isinstance(window, TokenWindow):
            raise InputError(
                f"the model reads {self.limit} tokens at once, and what it writes behind several windows of a text is "
                "not one answer; use --long truncate, or a shorter text."
            )
        length, stop = self.prompt.length, self.prompt.stop
        with held(self.model), unchanged(self.model), torch.inference_mode():
            own = write(self.model, self.tokenizer, window.ids, length=length, stop=stop, prefixes=self._prefixes)
        name = own.text or NOTHING
        given = {text: self._given(text, room=self.whole - len(window.ids) + 1) for text in asked if text != name}
        network = copy(self)
        network.answers = [own.ids, *given.values()]
        network.costs, network.computed = network._unread, 0  # noqa: SLF001  of itself, not of what it was copied from
        labels = Labels((name, *given), "likelihood", descriptions=(WRITTEN, *[None] * len(given)))
        return network, labels, (_scored(self.prompt.scoring, own, given.values()), *self._cut_short(own))

    def _given(self, text: str, *, room: int) -> Ints:
        """Return the tokens of a text that is asked about, if they fit behind the prompt."""
        with held(self.tokenizer):
            ids = self.reader.behind(text)
        if len(ids) > room:
            raise InputError(
                f"the text '{text}' has {len(ids)} tokens, and {room} fit behind the prompt; raise 'length' of the "
                "prompt and use --long truncate, or ask about a shorter text."
            )
        return ids

    def _cut_short(self, own: Writing) -> list[str]:
        most = self.prompt.length
        return [] if own.ended else [f"what the model writes was cut after {most} tokens ('length' of the prompt)"]

    def contents(self, labels: Labels) -> dict[str, str]:
        """Return hashes of weights, configuration, tokenizer and prompt, and of how the model is asked."""
        known = super().contents(labels)
        return {**known, "prompt": digest([known["prompt"], GENERATED, self.prompt.length, self.prompt.stop])}


def write(
    model: Any,  # noqa: ANN401  transformers' own types
    tokenizer: Any,  # noqa: ANN401
    ids: Ints,
    *,
    length: int,
    stop: str = "",
    prefixes: Prefixes | None = None,
) -> Writing:
    """Let a causal model write behind a row, each time the most probable token.

    Args:
        model: The model, held and in evaluation.
        tokenizer: Its tokenizer.
        ids: What stands before.
        length: Tokens that it may write.
        stop: What ends the text, once something visible is written; none if empty.
        prefixes: Where to keep the states of what stands before.
    """
    row = torch.as_tensor(np.asarray(ids), device=model.device)[None]
    chosen, ends = list[int](), _end_tokens(model, tokenizer)
    options: dict[str, Any] = {}
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        options["logits_to_keep"] = 1
    cache = no_states() if keeps_tokens(model) else None
    options |= {} if cache is None else {"past_key_values": cache, "use_cache": True}
    for number in range(length):
        output = model(input_ids=row if number == 0 or cache is None else row[:, -1:], **options)
        if number == 0 and prefixes is not None and cache is not None:
            prefixes.keep(np.asarray(ids), cache)
        best = int(output.logits[0, -1].float().argmax())
        if best in ends:
            return _written(tokenizer, chosen or [best], passes=number + 1, ended=True)
        chosen.append(best)
        if stop and stop in _decoded(tokenizer, chosen).lstrip()[1:]:
            return _written(tokenizer, _before(tokenizer, chosen, stop), passes=number + 1, ended=True)
        row = torch.cat([row, row.new_tensor([[best]])], dim=1)
    return _written(tokenizer, chosen, passes=length, ended=False)


def _before(tokenizer: Any, chosen: list[int], stop: str) -> list[int]:  # noqa: ANN401
    """Return the tokens before the one in which the end begins; the first stays in any case."""
    text = _decoded(tokenizer, chosen)
    place = text.index(stop, len(text) - len(text.lstrip()) + 1)
    kept = list(chosen)
    while len(kept) > 1 and len(_decoded(tokenizer, kept)) > place:
        kept.pop()
    return kept


def _written(tokenizer: Any, ids: list[int], *, passes: int, ended: bool) -> Writing:  # noqa: ANN401
    return Writing(np.asarray(ids, dtype=np.int64), _decoded(tokenizer, ids).strip(), ended, passes)


def _decoded(tokenizer: Any, ids: list[int]) -> str:  # noqa: ANN401
    with held(tokenizer):
        return str(tokenizer.decode(ids, skip_special_tokens=True))


def _end_tokens(model: Any, tokenizer: Any) -> set[int]:  # noqa: ANN401
    """Return the tokens by which a model ends a text: its own, else its tokenizer's."""
    for known in (getattr(model, "generation_config", None), model.config.get_text_config(), tokenizer):
        found = getattr(known, "eos_token_id", None)
        if found is not None:
            return set(found) if isinstance(found, list | tuple) else {int(found)}
    return set()


def _scored(scoring: str, own: Writing, given: Iterable[Ints]) -> str:
    each = "".join(f"; given: {len(ids)}" for ids in given)
    how = "mean" if scoring == "mean" else "sum of the"
    return (
        f"the score is the {how} log-probability of the tokens of a text (written by the model: {len(own.ids)}{each})"
    )
