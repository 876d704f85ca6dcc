"""Where text, prompt and answer meet: real vocabularies merge across, and bring or take blanks."""

from functools import cache
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from whylight.core.prompt import Prompt, Shot, without_end
from whylight.core.text import Text
from whylight.models.prompt_reading import PromptReader

WORDS = "Review: A gripping, moving film.\nSentiment: positive\nA dull film!\nSentiment: negative [INST] is it good?\n"
OF_LLAMA_3 = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
INST = "{{ bos_token }}{% for m in messages %}[INST] {{ m['content'] }} [/INST]{% endfor %}"
TURNS = (
    "{% for m in messages %}<s>{{ m['role'] }}\n{{ m['content'] }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)
ANSWERS = {"positive": "positive", "negative": "negative"}
SHOTS = (Shot(text="A dull film!", label="negative"),)
PROMPTS = {
    "a colon": Prompt(template="Review: {text}\nSentiment:", answers=ANSWERS),
    "a new line": Prompt(template="Review: {text}\nSentiment:\n", answers=ANSWERS),
    "a blank": Prompt(template="Review: {text}\nSentiment: ", answers=ANSWERS),
    "the text": Prompt(template="{text}", answers=ANSWERS),
    "a message": Prompt(template="is it good? {text}", answers=ANSWERS, chat=True),
    "a message that goes on": Prompt(template="{text}\nis it good?", answers=ANSWERS, chat=True),
}


@cache
def tokenizer(style: str) -> Any:
    """A byte-level vocabulary that merges signs with new lines, or one that marks blanks before words."""
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    backend = Tokenizer(models.BPE(unk_token=names["unk_token"]))
    alphabet: list[str] = []
    match style:
        case "llama 3":
            cut = pre_tokenizers.Split(Regex(OF_LLAMA_3), "isolated")
            backend.pre_tokenizer = pre_tokenizers.Sequence(
                [cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
            )
            backend.decoder = decoders.ByteLevel()
            alphabet = pre_tokenizers.ByteLevel.alphabet()
        case "llama 2":  # a blank before the first word alone
            backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        case "llama 2, legacy":  # and behind each control token
            backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
            backend.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=list(names.values()), initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator([WORDS] * 20, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B:1", special_tokens=[("<s>", 1)]
    )
    found = PreTrainedTokenizerFast(tokenizer_object=backend, **names)
    found.chat_template = INST if style.startswith("llama 2") else TURNS
    return found


def whole(tok: Any, prompt: Prompt, text: str) -> str:
    """Return the prompt about a text, as the model would read it."""
    words = prompt.written(without_end(prompt.pieces)[0], [text])
    if not prompt.chat:
        return words
    message = [{"role": "user", "content": words}]
    return str(tok.apply_chat_template(message, tokenize=False, add_generation_prompt=True))


@pytest.mark.parametrize("end", PROMPTS)
@pytest.mark.parametrize("style", ["llama 3", "llama 2", "llama 2, legacy"])
def test_rows_and_answers_are_what_the_tokenizer_makes_of_prompt_and_answer_together(style: str, end: str) -> None:
    tok, prompt = tokenizer(style), PROMPTS[end]
    reader = PromptReader(tok, prompt)
    for text in ("A gripping, moving film.", "is it", "good"):
        words = whole(tok, prompt, text)
        row = tok(words, add_special_tokens=not prompt.chat)["input_ids"]
        assert reader.ids(text) == row
        for label, answer in prompt.answers.items():
            blank = "" if prompt.chat or end == "a new line" else " "
            both = tok(words + blank + answer, add_special_tokens=not prompt.chat)["input_ids"]
            assert both == row + reader.answers[label].tolist()


@pytest.mark.parametrize(
    ("template", "text", "token", "kept"),
    [
        ("Review: {text}\nSentiment:", "A dull film.", ".\n", "A dull film"),
        ("Review: {text}\nSentiment:", "A dull film!", "!\n", "A dull film"),
        ("is it '{text}'", "A dull film!", "!'", "A dull film"),
        ("is it ({text}", "... good", "(...", " good"),
    ],
)
def test_a_token_of_text_and_prompt_is_never_removed_and_a_note_says_so(
    template: str, text: str, token: str, kept: str
) -> None:
    tok = tokenizer("llama 3")
    tok.add_tokens(["!'", "(..."])
    reader = PromptReader(tok, Prompt(template=template, answers=ANSWERS))
    reading = reader.read(Text(text))
    (ids, places) = reading.parts[0]
    assert "".join(text[start:end] for start, end in places) == kept
    assert len(ids) == len(places)
    (note,) = reading.notes
    assert note.startswith(f"1 token ({token!r}) holds characters of the text and of the prompt around it")


def test_blanks_before_a_text_go_with_its_first_word_and_need_no_note() -> None:
    reading = PromptReader(tokenizer("llama 3"), PROMPTS["a colon"]).read(Text("is it "))
    assert [reading.parts[0][1][0], reading.notes] == [(0, 2), ()]


@pytest.mark.parametrize(
    ("template", "shot", "answer", "blank"),
    [
        ("{text}\nSentiment:", "", "good", " "),
        ('Is "{text}"', "", "good", " "),
        ("{text}\nAnswer: (", "", "A", ""),
        ('{text}\nAnswer: "', "", "good", ""),
        ("{text}\n**Answer:**", "", "good", " "),
        ("评论：{text}\n情感：", "", "积极", ""),
        ("Review: {text}\nSentiment:", "", "積極", ""),
        ("{shots}{text}\nlabel=", "{text}\nlabel={answer}\n", "good", ""),
        ("{shots}{text} ->", "{text} -> {answer}\n", "good", " "),
        ("{shots}{text}\nAnswer:", "{text} Its answer is ({answer})\n", "good", " "),
    ],
)
def test_before_an_answer_stands_what_stands_there_in_examples_else_a_blank_where_one_belongs(
    template: str, shot: str, answer: str, blank: str
) -> None:
    answers = {"positive": answer, "negative": f"{answer}x"}
    prompt = Prompt(template=template, shot=shot, shots=SHOTS if shot else (), answers=answers)
    tok = tokenizer("llama 3")
    behind = PromptReader(tok, prompt).answers["positive"].tolist()
    assert tok.decode(behind) == f"{blank}{answer}"
