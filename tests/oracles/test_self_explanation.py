"""Self-explanation: a scripted model says what is known, and a real one is asked as a plain call of it would be."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

import tiny
import whylight as wl
from prompting import ONE, SEVERAL, TEXT, asked, language_model, prompted
from whylight.core.errors import IncompatibleError, InputError, SettingError
from whylight.core.text import Text
from whylight.methods.self_explanation import BEGIN, QUESTION, read_words, self_explanation
from whylight.models.asking import _turn
from whylight.views.asking import Reply, TextView
from whylight.views.classifier import Request

WORDS = ("The", "plot", "drags", "but", "the", "acting", "isn't", "bad")


def scripted(*replies: str, ended: bool = True) -> tuple[TextView, list[tuple[Any, ...]]]:
    """A text in front of a model that says what it is told to, and what it was asked."""
    heard: list[tuple[Any, ...]] = []

    def ask(*question: Any) -> Reply:
        heard.append(question)
        return Reply(replies[question[0]], ended)

    holders = tuple(np.asarray([number]) for number in range(len(WORDS)))
    labels = tuple(f"label {number}" for number in range(len(replies)))
    return TextView(" ".join(WORDS), WORDS, holders, labels=labels, n_features=len(WORDS), ask=ask), heard


def test_words_are_scored_by_their_rank_wherever_they_stand() -> None:
    view, heard = scripted("drags, the, ISN'T, plot")
    found = self_explanation(view, count=4, length=20)
    expected = [0.75, 0.25, 1.0, 0.0, 0.75, 0.0, 0.5, 0.0]
    assert found.values.tolist() == [expected]
    assert found.notes == ()
    assert heard == [(0, QUESTION.format(text=" ".join(WORDS), count=4), BEGIN, 20)]


@pytest.mark.parametrize(
    "reply",
    [
        "1. drags\n2. plot\n3. bad",
        "- drags\n- plot\n- bad",
        "'drags'; \"plot\"; **bad**.",
        " drags,plot , bad,plot, Drags\n",
        '"drags," "plot," and "bad."',
    ],
)
def test_lists_of_every_kind_are_read(reply: str) -> None:
    assert read_words(Reply(reply, ended=True)) == (["drags", "plot", "bad"], [])


def test_what_is_no_single_word_is_not_taken_apart() -> None:
    named, unread = read_words(Reply("the plot drags, bad. I think so, because it is dull, bad", ended=True))
    assert named == ["bad"]
    assert unread == ["the plot drags", "bad. I think so", "because it is dull"]


def test_the_last_word_of_a_reply_that_was_cut_is_not_read() -> None:
    assert read_words(Reply("drags, plot, ba", ended=False)) == (["drags", "plot"], [])


def test_words_that_are_not_in_the_text_are_told_and_keep_no_rank() -> None:
    view, _ = scripted("great, drags, wonderful, bad, the film", "plot")
    found = self_explanation(view)
    assert found.values[0].tolist() == [0, 0, 1.0, 0, 0, 0, 0, 0.5]
    assert found.values[1].tolist() == [0, 1.0, 0, 0, 0, 0, 0, 0]
    assert found.notes == (
        "'label 0': 50% of the 4 words that the model names are not in the text: 'great', 'wonderful'",
        "'label 0': 1 items of what the model says are no single words: 'the film'",
    )


@pytest.mark.parametrize("reply", ["", "I cannot say that.", "wonderful"])
def test_a_reply_without_a_word_of_the_text_scores_nothing_and_says_so(reply: str) -> None:
    found = self_explanation(scripted(reply)[0])
    assert not found.values.any()
    assert f"all scores are 0: '{reply}'" in found.notes[0]


def test_a_feature_of_several_words_gets_the_highest_score() -> None:
    holders = tuple(np.asarray([number // 4]) for number in range(len(WORDS)))
    ask = lambda *_: Reply("acting, plot, drags", ended=True)  # noqa: E731
    found = self_explanation(TextView("a text", WORDS, holders, labels=("a",), n_features=2, ask=ask))
    assert found.values == pytest.approx(np.asarray([[2 / 3, 1.0]]))


def test_numbers_must_be_numbers_of_something() -> None:
    for settings in ({"count": 0}, {"length": 0}):
        with pytest.raises(SettingError, match="must be at least 1"):
            self_explanation(scripted("a")[0], **settings)


def by_hand(model: Any, ids: list[int], length: int) -> list[int]:
    row = torch.tensor([ids])
    found = model.generate(
        row, attention_mask=torch.ones_like(row), do_sample=False, max_new_tokens=length, pad_token_id=0
    )
    return found[0, len(ids) :].tolist()


def roomy(**options: Any) -> Any:
    """A prompted model that reads more than the tiny ones, which a question would fill."""
    model, tokenizer = language_model(), deepcopy(tiny.tokenizer("llama"))
    model.config.max_position_embeddings = tokenizer.model_max_length = 1024
    return wl.load(model, tokenizer, prompt=asked(**options))


@pytest.mark.parametrize("answers", [ONE, SEVERAL])
def test_a_model_is_asked_behind_its_prompt_and_its_answer(answers: dict[str, str]) -> None:
    clf = roomy(answers=answers)
    encoded = clf.encode(Text(TEXT), unit="word", long="refuse")
    targets = tuple(clf.labels.target(number) for number in range(len(clf.labels)))
    view = clf.offers[TextView](encoded, Request(targets, "logit"))
    assert " ".join(view.words) == "The acting was good , but the plot drags !"
    tail = clf.tokenizer("\n\nwhy is it good\nWords:", add_special_tokens=False)["input_ids"]
    for number, answer in enumerate(answers.values()):
        said = clf.tokenizer(answer, add_special_tokens=False)["input_ids"]
        expected = by_hand(clf.model, [*encoded.windows[0].ids.tolist(), *said, *tail], 6)
        reply = view.ask(number, "why is it good", begin="Words:", length=6)
        assert reply.text == clf.tokenizer.decode(expected, skip_special_tokens=True).strip()


def test_a_chat_goes_on_as_a_dialogue() -> None:
    model, tokenizer = language_model(), deepcopy(tiny.tokenizer("llama"))
    model.config.max_position_embeddings = tokenizer.model_max_length = 1024
    tokenizer.chat_template = (
        "{% for m in messages %}<s>{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>{% endif %}"
    )
    clf = wl.load(model, tokenizer, prompt=asked(chat=True))
    encoded = clf.encode(Text("it is good"), unit="word", long="refuse")
    view = clf.offers[TextView](encoded, Request((clf.labels.target(0),), "logit"))
    content = "".join("it is good" if piece == 0 else piece for piece in asked().pieces)
    said = [("user", content), ("assistant", ONE["positive"]), ("user", "why good")]
    dialogue = [{"role": role, "content": words} for role, words in said]
    ids = tokenizer.apply_chat_template(dialogue, add_generation_prompt=True, return_dict=True)["input_ids"]
    expected = tokenizer.decode(by_hand(model, ids, 5), skip_special_tokens=True).strip()
    assert view.ask(0, "why good", length=5).text == expected
    ends = [int((_turn(clf.network, words, "") == tokenizer.eos_token_id).sum()) for words in ("why", "why</s>")]
    assert ends == [2, 2]  # of the answer and of the message; what a text holds is read as characters


@pytest.mark.parametrize("unit", ["word", "token", "sentence"])
def test_a_random_model_is_asked_from_end_to_end(unit: str) -> None:
    clf = roomy()
    ex = wl.explain(clf, TEXT, method="self_explanation", unit=unit, length=8, target="all", evidence_sign="none")
    assert ex.scores.shape == (2, len(ex.places))
    assert (ex.scores >= 0).all()
    assert not ex.provenance.signed
    assert 2 <= ex.provenance.forward_passes <= 16
    assert ex.scores.any() or any("all scores are 0" in note for note in ex.provenance.notes)
    assert np.isfinite(wl.measure(clf, ex, metric="comprehensiveness")).all()


def test_who_cannot_be_asked_is_told_so() -> None:
    with pytest.raises(IncompatibleError, match="needs replies to questions, and a Hugging Face classifier gives none"):
        wl.explain(tiny.classifier(), TEXT, method="self_explanation")
    with pytest.raises(InputError, match="no room to write 64"):
        wl.explain(prompted(), TEXT, method="self_explanation")
    with pytest.raises(IncompatibleError, match="read whole"):
        wl.explain(prompted(), f"{TEXT} " * 12, method="self_explanation")
