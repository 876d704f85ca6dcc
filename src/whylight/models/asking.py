"""Asking a language model about its own answer: prompt, answer, question, and what it writes then.

plain prompt   prompt about the text, its answer, a blank line, the question, what the reply begins with
chat           the same as a dialogue: a message, the model's answer, a message, the beginning of its reply
"""

import numpy as np
import torch

from whylight.core import segment
from whylight.core.arrays import Ints
from whylight.core.encoded import Encoded
from whylight.core.errors import IncompatibleError, InputError
from whylight.core.text import Span, text_of
from whylight.models.chat import around_question
from whylight.models.holding import held
from whylight.models.prompted import PromptedNetwork
from whylight.models.tokenised import tokens_of
from whylight.models.unchanged import unchanged
from whylight.models.writing import write
from whylight.views.asking import Reply, TextView
from whylight.views.classifier import Request
from whylight.views.tokens import TokenWindow


def text_view(network: PromptedNetwork, encoded: Encoded, request: Request) -> TextView:
    """Look at an input as a text that the model can be asked about."""
    window, *others = encoded.windows
    if others or not isinstance(window, TokenWindow):
        raise IncompatibleError("a model is asked about a text that it has read whole; use --long truncate.")
    row = window.ids
    example, places = text_of(encoded.example), encoded.places
    parts = sorted({place.part for place in places})
    spans = [Span(part, *own) for part in parts for own in segment.words(example.parts[part])]
    holders = [_holders(span, places) for span in spans]
    kept = [number for number, own in enumerate(holders) if len(own)]  # of a text that was cut, what is left

    def ask(number: int, question: str, begin: str, length: int) -> Reply:
        ids = np.concatenate([row, _answer(network, request.columns[number]), _turn(network, question, begin)])
        if len(ids) + length > network.whole:
            raise InputError(
                f"prompt, answer and question have {len(ids)} tokens, and the model reads {network.whole}: no room to "
                f"write {length}; use a shorter text."
            )
        with held(network.model), unchanged(network.model), torch.inference_mode():
            found = write(network.model, network.tokenizer, ids, length=length)
        request.meter.forward += found.passes
        return Reply(found.text, found.ended)

    return TextView(
        "\n".join(example.parts[part] for part in parts),
        tuple(example.show(spans[number]) for number in kept),
        tuple(holders[number] for number in kept),
        labels=tuple(target.label for target in request.targets),
        n_features=encoded.n_features,
        ask=ask,
    )


def _holders(span: Span, places: tuple[Span, ...]) -> Ints:
    """Return the features that share a character with a word."""
    own = [n for n, one in enumerate(places) if one.part == span.part and one.start < span.end and span.start < one.end]
    return np.asarray(own, dtype=np.int64)


def _answer(network: PromptedNetwork, column: int) -> Ints:
    """Return all tokens of an answer, also where the first alone is scored."""
    if network.prompt.free:
        return network.answers[column]
    with held(network.tokenizer):
        return network.reader.behind(list(network.prompt.answers.values())[column])


def _turn(network: PromptedNetwork, question: str, begin: str) -> Ints:
    """Return the tokens of a question behind an answer, and of the beginning of the reply to it."""
    with held(network.tokenizer):
        if not network.prompt.chat:
            return np.asarray(tokens_of(network.tokenizer, f"\n\n{question}\n{begin}")[0], dtype=np.int64)
        before, after = (
            network.tokenizer(words, add_special_tokens=False)["input_ids"] if words else []
            for words in around_question(network.tokenizer, network.prompt, begin)
        )
        # a text may stand in the question, and cannot end its message either
        return np.asarray([*before, *tokens_of(network.tokenizer, question)[0], *after], dtype=np.int64)
