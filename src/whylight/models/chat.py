"""Prompts as messages: what a model's own chat template makes of them, and which tokens are its control tokens."""

import re
from typing import Any

from whylight.core.errors import ModelError
from whylight.core.prompt import Piece, Prompt
from whylight.models.folder import is_failure, reason

MARK = "\ue000{}\ue001"
"""Stands for a text while a chat template is filled in; these characters belong to no language."""
ANSWER, QUESTION = "answer", "question"
"""Stand for an answer and a question there."""


def control_tokens(tokenizer: Any) -> "re.Pattern[str] | None":  # noqa: ANN401  transformers' own type
    """Return what matches a control token, or None where there is none."""
    names = {str(token) for token in tokenizer.get_added_vocab()} | set(tokenizer.all_special_tokens)
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)
    return re.compile(f"({pattern})") if pattern else None


def in_chat(tokenizer: Any, prompt: Prompt) -> tuple[Piece, ...]:  # noqa: ANN401  transformers' own type
    """Return a prompt as a message in the model's own chat template."""
    if not getattr(tokenizer, "chat_template", None):
        raise ModelError(
            f"the prompt '{prompt.name}' is a chat message, and the model's tokenizer has no chat template; "
            "set chat = false in the prompt."
        )
    content = "".join(MARK.format(piece) if isinstance(piece, int) else piece for piece in prompt.pieces)
    whole = _filled_in(tokenizer, [{"role": "user", "content": content}])
    parts = re.split(MARK.format("(\\d+)"), whole)
    found = tuple(int(part) if number % 2 else part for number, part in enumerate(parts))
    if sum(isinstance(one, int) for one in found) != sum(isinstance(one, int) for one in prompt.pieces):
        raise ModelError("the chat template of the model does not show the message; set chat = false in the prompt.")
    return tuple(piece for piece in found if piece != "")


def _filled_in(tokenizer: Any, messages: list[dict[str, str]]) -> str:  # noqa: ANN401  transformers' own type
    """Return messages in the model's own chat template, ready for its reply."""
    try:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    except BaseException as error:
        if not is_failure(error):
            raise
        raise ModelError(f"the chat template of the model cannot be filled in: {reason(error)}") from error


def around_question(tokenizer: Any, prompt: Prompt, begin: str) -> tuple[str, str]:  # noqa: ANN401  transformers' own type
    """Return what stands between an answer in a chat and a question about it, and what stands behind that.

    Args:
        tokenizer: The tokenizer of the model.
        prompt: The prompt that was answered.
        begin: What the reply begins with.
    """
    content = "".join(MARK.format(piece) if isinstance(piece, int) else piece for piece in prompt.pieces)
    said = [("user", content), ("assistant", MARK.format(ANSWER)), ("user", MARK.format(QUESTION))]
    whole = _filled_in(tokenizer, [{"role": role, "content": words} for role, words in said])
    found = re.search(MARK.format(ANSWER) + "(.*)" + MARK.format(QUESTION) + "(.*)", whole, re.DOTALL)
    if found is None:
        raise ModelError("the chat template of the model shows no dialogue; set chat = false in the prompt.")
    return found[1], found[2] + begin
