"""A language model behind an endpoint is explained like any other: known answers, calibration, receipts, and runs."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import answering
import masked
import prompting
import tiny
import whylight as wl
from answering import WORTH, asked, likely, serving, worth
from whylight.core.errors import IncompatibleError, InputError, SettingError
from whylight.core.prompt import Shot
from whylight.core.registry import METHODS
from whylight.testing import check_classifier
from whylight.views.game import Game

TEXT = "a very good but not bad film"
GAMES = [name for name in METHODS.names() if METHODS[name].consumes == (Game,)]
EXACT = {"occlusion": {}, "kernel_shap": {}, "shapley_sampling": {"permutations": 2}, "lime": {"alpha": 1e-9}}


def probabilities(texts: list[str]) -> Any:
    """What the service says, as a function."""
    p = 1 / (1 + np.exp(-np.asarray([worth(text) for text in texts])))
    return np.stack([1 - p, p], axis=1)


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("method", EXACT)
def test_words_get_back_what_they_are_worth(method: str, chat: bool) -> None:  # noqa: FBT001
    def tokens(prompt: str) -> dict[str, float]:
        return {token.strip() if chat else token: value for token, value in likely(prompt).items()}

    with serving(tokens=tokens) as server:
        explanation = wl.explain(
            server.load(asked(chat=chat)), TEXT, method=method, score="log_odds", target="positive", **EXACT[method]
        )
    assert dict(explanation.as_list()) == pytest.approx({w: WORTH.get(w, 0.0) for w in TEXT.split()}, abs=1e-6)
    assert {*server.paths} == {"/v1/chat/completions" if chat else "/v1/completions"}


@pytest.mark.parametrize("method", GAMES)
def test_every_method_of_presence_says_what_it_says_of_the_same_function(method: str) -> None:
    plain = wl.load(probabilities, labels=["negative", "positive"])
    with serving() as server:
        found = wl.explain(server.load(), TEXT, method=method, target="all")
    np.testing.assert_allclose(found.scores, wl.explain(plain, TEXT, method=method, target="all").scores, atol=1e-9)


def test_methods_that_look_inside_are_refused_with_those_that_work() -> None:
    with serving() as server:
        clf = server.load()
        assert [name for name, why in wl.compatible(clf).items() if why is None] == GAMES
        with pytest.raises(IncompatibleError, match=r"needs gradients, and an endpoint gives none.*lime"):
            wl.explain(clf, TEXT, method="saliency")
        with pytest.raises(SettingError, match="an endpoint has no score 'logit'; use probability"):
            wl.explain(clf, TEXT, score="logit")


def test_what_is_sent_is_the_prompt_and_nothing_more() -> None:
    prompt = asked(
        template="{instruction} {shots}Review: {text}\nSentiment: ",
        instruction="Say it.",
        shot="Review: {text}\nSentiment: {answer}\n",
        shots=(Shot(text="dull", label="negative"),),
    )
    with serving() as server:
        wl.explain(server.load(prompt, top_logprobs=3), "good film", method="occlusion")
    before = "Say it. Review: dull\nSentiment: negative\nReview: "
    texts = ["a good film", "good film", "good film", "film", "good"]  # the second, once more, to see if it is the same
    assert sorted(server.prompts) == sorted(f"{before}{text}\nSentiment:" for text in texts)
    same = {"model": "my-llm", "max_tokens": 1, "temperature": 1, "top_p": 1, "logprobs": 3}
    assert all({**one, "prompt": ""} == {**same, "prompt": ""} for one in server.requests)


def test_a_message_is_sent_whole() -> None:
    def tokens(_prompt: str) -> dict[str, float]:
        return {"negative": -1.0, "positive": -2.0}

    with serving(tokens=tokens) as server:
        clf = server.load(asked(template="Is '{text}' good? Answer: ", chat=True))
        assert wl.explain(clf, "good \u4f60\u597d", method="random").prediction.label == "negative"
    content = "Is 'good \u4f60\u597d' good? Answer: "
    assert server.requests[-1]["messages"] == [{"role": "user", "content": content}]
    assert (server.requests[-1]["logprobs"], server.requests[-1]["top_logprobs"]) == (True, 20)


def test_a_removed_word_is_left_out_or_becomes_the_neutral_string() -> None:
    with serving() as server:
        clf = server.load(asked(neutral=" _"))
        assert clf.removers[:2] == ("delete", "mask")
        wl.explain(clf, "good,  film!", method="occlusion", remover="mask")
        assert sorted(one.split("Review: ")[1].removesuffix("\nSentiment:") for one in server.prompts[3:]) == sorted(
            ["_,  film!", "good_  film!", "good,  _!", "good,  film_"]
        )
        server.requests.clear()
        wl.explain(server.load(), "good film", method="occlusion", remover="mask")
        assert any("Review: ... film" in one for one in server.prompts)


def test_what_the_prompt_says_of_texts_without_content_is_taken_off_and_asked_once() -> None:
    def tokens(prompt: str) -> dict[str, float]:
        return {**likely(prompt), " negative": -3.0} if "N/A" in prompt else likely(prompt)

    empty = [tokens(f"Review: {words}\nSentiment:") for words in ("N/A", "[MASK]", "")]
    shares = [np.exp([one[" negative"], one[" positive"]]) for one in empty]
    offsets = np.log(np.mean([share / share.sum() for share in shares], axis=0))
    own = likely(f"Review: {TEXT}\nSentiment:")
    expected = np.exp(np.asarray([own[" negative"], own[" positive"]]) - offsets)
    with serving(tokens=tokens) as server:
        clf = server.load(asked(calibration="contextual"))
        found = wl.explain(clf, TEXT, method="occlusion")
        wl.explain(clf, "good", method="occlusion")
    np.testing.assert_allclose(found.prediction.probabilities, expected / expected.sum(), atol=1e-12)
    assert sum("Review: N/A" in one for one in server.prompts) == 1


def test_the_receipt_names_the_service_and_its_model() -> None:
    with serving(reply=lambda _asked, answer: {**answer, "model": "my-llm-2026-01-01"}) as server:
        receipt = wl.explain(server.load(), "good film", method="occlusion").provenance
    assert receipt.model == f"my-llm at {server.url} asked by 'mine'"
    assert receipt.notes[0] == (
        f"answers come from the service at {server.url}, which says that 'my-llm-2026-01-01' answers; "
        "it may change, and scores with it"
    )
    assert receipt.forward_passes == 3


def test_an_endpoint_keeps_what_every_classifier_promises() -> None:
    with serving() as server:
        check_classifier(server.load())


def test_a_masked_language_model_may_fill_the_gap() -> None:
    remover = f"infill[model={masked.folder()}]"
    with serving() as server:
        explanation = wl.explain(server.load(), "good film", method="occlusion", remover=remover)
    assert len(server.prompts) > 4
    assert len({len(one.split()) for one in server.prompts[3:]}) == 1  # a word stands for each that is removed
    assert explanation.provenance.score == "log_odds"


def test_answers_that_differ_from_request_to_request_are_noted() -> None:
    seen = []

    def tokens(prompt: str) -> dict[str, float]:
        seen.append(prompt)
        return {" positive": -1.0 - 0.1 * len(seen), " negative": -2.0}

    with serving(tokens=tokens) as server:
        notes = wl.explain(server.load(), "good film", method="occlusion").provenance.notes
    assert any("answers the same text differently each time" in note for note in notes)


def test_another_form_of_the_same_answer_is_read() -> None:
    def swapped(sent: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        other = {**sent, "messages": [{"content": sent["prompt"]}], "top_logprobs": 20}
        return {**answer, "choices": answering.answer(other, likely)["choices"]}

    with serving() as plain, serving(reply=swapped) as other:
        first, second = (wl.explain(server.load(), TEXT, method="occlusion") for server in (plain, other))
    np.testing.assert_array_equal(first.scores, second.scores)


def test_a_run_folder_knows_the_endpoint_and_asks_for_nothing_twice(tmp_path: Path) -> None:
    data = tmp_path / "texts.jsonl"
    rows = [{"text": "a good film", "label": "positive"}, {"text": "not very bad", "label": "negative"}]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    options: dict[str, Any] = {"methods": ["occlusion"], "metrics": ["aopc_comprehensiveness"]}
    same = wl.evaluate(wl.load(probabilities, labels=["negative", "positive"]), wl.dataset(data), **options)
    options["out"] = tmp_path / "run"
    with serving() as server:
        found = wl.evaluate(server.load(), wl.dataset(data), **options)
        values = [[row["value"] for row in one.scores] for one in (found, same)]
        np.testing.assert_allclose(*values, atol=1e-9)
        assert np.abs(values).max() > 0.1
        before = len(server.requests)
        wl.evaluate(server.load(), wl.dataset(data), **options)
        assert len(server.requests) == before + 1  # the trial of an endpoint that is loaded
        with pytest.raises(InputError, match="holds another run, differing in endpoint"):
            wl.evaluate(server.load(model="other"), wl.dataset(data), **options)
        with pytest.raises(InputError, match="holds another run, differing in prompt"):
            wl.evaluate(server.load(asked(template="A Review: {text}\nSentiment:")), wl.dataset(data), **options)


@pytest.mark.parametrize("calibration", ["none", "contextual"])
def test_a_model_behind_an_endpoint_is_the_same_as_on_this_machine(calibration: str) -> None:
    model, tokenizer = prompting.language_model(), copy.deepcopy(tiny.tokenizer("llama"))
    pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    names = [piece[2:] if piece.startswith("##") else f" {piece}" for piece in pieces]

    def tokens(prompt: str) -> dict[str, float]:
        with torch.no_grad():
            logits = model(input_ids=tokenizer(prompt, return_tensors="pt")["input_ids"]).logits[0, -1]
        return dict(zip(names, logits.double().log_softmax(-1).tolist(), strict=True))

    prompt = prompting.asked(scoring="first", calibration=calibration)
    here = wl.load(model, tokenizer, prompt=prompt)
    options: dict[str, Any] = {"remover": "delete", "score": "log_probability", "target": "all"}
    with serving(tokens=tokens) as server:
        there = server.load(prompt, top_logprobs=200)
        for method in ("occlusion", "lime[samples=60]"):
            first, second = (wl.explain(clf, prompting.TEXT, method=method, **options) for clf in (here, there))
            np.testing.assert_allclose(first.scores, second.scores, atol=1e-4)
            assert np.abs(first.scores).max() > 0.1
    assert first.prediction.probabilities == pytest.approx(second.prediction.probabilities, abs=1e-4)
