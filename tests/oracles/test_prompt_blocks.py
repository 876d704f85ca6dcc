"""Examples and instruction as features: leaving one out is asking with a prompt that never had it."""

import copy
import dataclasses
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tiny
import whylight as wl
from prompting import ONE, SEVERAL, SHOTS, TEXT, asked, language_model
from whylight.core.endpoint import Endpoint
from whylight.core.errors import InputError, SettingError, WhylightError
from whylight.core.explanation import Explanation
from whylight.core.prompt import Prompt, Shot
from whylight.core.prompt_files import read_prompt
from whylight.core.text import Text
from whylight.models.replies import question
from whylight.store.explanations import explanation_of

ALL = ("text", "instruction", "shots")
INSTRUCTION = "it is a film . "
TEMPLATE = "{instruction}{shots}the film {text} the plot was"
CHAT = "{% for m in messages %}<s>{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>{% endif %}"


def explained(answers: dict[str, str] = ONE, **options: Any) -> Prompt:
    return asked(answers, **{"features": ALL, "template": TEMPLATE, "instruction": INSTRUCTION, **options})


def loaded(kind: str, prompt: Prompt, *, chat: bool = False) -> Any:
    tokenizer = copy.deepcopy(tiny.tokenizer("llama"))
    tokenizer.chat_template = CHAT if chat else None
    return wl.load(language_model(kind), tokenizer, prompt=prompt)


def plain_scores(clf: Any, prompt: Prompt) -> list[float]:
    """Score the answers behind a prompt by plain calls of the model on what its tokenizer makes of all of it."""
    shown = "".join(shot.text and prompt._shown(shot) for shot in prompt.shots)
    parts = {"{instruction}": prompt.instruction, "{shots}": shown, "{text}": TEXT}
    whole = prompt.template
    for name, words in parts.items():
        whole = whole.replace(name, words)
    ids = _ids(clf.tokenizer, whole, chat=prompt.chat)
    found = []
    for answer in prompt.answers.values():
        own = clf.tokenizer(answer, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logits = clf.model(input_ids=torch.tensor([ids + own])).logits[0, len(ids) - 1 : -1].double()
        values = logits if clf.network.normalised is False else logits.log_softmax(-1)
        found.append(float(values[range(len(own)), own].mean()))
    return found


def _ids(tokenizer: Any, whole: str, *, chat: bool) -> list[int]:
    if not chat:
        return list(tokenizer(whole)["input_ids"])
    message = [{"role": "user", "content": whole}]
    return list(tokenizer.apply_chat_template(message, add_generation_prompt=True, return_dict=True)["input_ids"])


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("answers", [ONE, SEVERAL])
def test_a_block_that_is_left_out_was_never_there(kind: str, answers: dict[str, str], chat: bool) -> None:  # noqa: FBT001
    prompt = explained(answers, chat=chat)
    clf = loaded(kind, prompt, chat=chat)
    found = wl.explain(clf, TEXT, method="occlusion", remover="delete", target="all", evidence_sign="none")
    without = [dataclasses.replace(prompt, features=("text",), instruction="")]
    without += [
        dataclasses.replace(prompt, features=("text",), shots=(*SHOTS[:n], *SHOTS[n + 1 :])) for n in range(len(SHOTS))
    ]
    whole = plain_scores(clf, prompt)
    expected = [np.subtract(whole, plain_scores(clf, one)) for one in without]
    assert [one.name for one in found.example.blocks] == ["instruction", "example 1 (negative)", "example 2 (positive)"]
    assert np.abs(found.scores[:, -3:].T - np.asarray(expected)).max() < 1e-4
    assert [found.example.show(place) for place in found.places[-3:]] == [
        INSTRUCTION.strip(),
        *(prompt._shown(shot).strip() for shot in SHOTS),
    ]


def test_words_have_the_scores_that_they_have_without_blocks() -> None:
    prompt = explained()
    plain = dataclasses.replace(prompt, features=("text",))
    for remover in ("delete", "neutral"):
        both = [
            wl.explain(loaded("llama", one), TEXT, method="occlusion", remover=remover, evidence_sign="none")
            for one in (prompt, plain)
        ]
        n = len(both[1].places)
        assert len(both[0].places) == n + 3
        assert np.abs(both[0].scores[:, :n] - both[1].scores).max() < 1e-5
        assert both[0].prediction.probability == pytest.approx(both[1].prediction.probability, abs=1e-6)
    assert "of the prompt, each of these is one feature: instruction, example 1" in " ".join(both[0].provenance.notes)
    assert not any("one feature" in note for note in both[1].provenance.notes)


@pytest.mark.parametrize("method", ["input_x_gradient", "lime", "kernel_shap", "hierarchical_occlusion", "attention"])
def test_other_methods_and_metrics_take_blocks(method: str) -> None:
    clf = loaded("llama", explained())
    found = wl.explain(clf, TEXT, method=method, unit="sentence", evidence_sign="none")
    assert len(found.places) == 4
    assert np.isfinite(found.scores).all()
    again = Explanation.from_dict(found.to_dict())
    assert again.example == found.example
    assert again.places == found.places


def test_blocks_are_named_where_they_are_shown(tmp_path: Path) -> None:
    found = wl.explain(loaded("llama", explained()), TEXT, method="occlusion", evidence_sign="none")
    for name in ("instruction", "example 1 (negative)", "example 2 (positive)"):
        assert f'<p class="which">{name.capitalize()}</p>' in found._repr_html_()
    found.save(tmp_path / "bars.svg")
    assert "film" in (tmp_path / "bars.svg").read_text(encoding="utf-8")


def test_an_evaluation_keeps_blocks(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"text": "it is good and moving", "label": "positive"}\n', encoding="utf-8")
    metrics = ["comprehensiveness", "log_odds"]
    found = wl.evaluate(loaded("llama", explained()), wl.dataset(path), methods=["occlusion"], metrics=metrics)
    one = explanation_of(found.explanations[0])
    assert len(one.example.blocks) == 3
    assert all(np.isfinite(row["value"]) for row in found.scores)


def test_a_text_in_windows_has_its_blocks_in_each() -> None:
    clf = loaded("llama", explained())
    encoded = clf.encode(Text("the plot drags . " * 60), unit="word", long="window")
    blocks = set(range(encoded.n_features - 3, encoded.n_features))
    assert len(encoded.windows) > 1
    assert all(blocks <= set(window.features.tolist()) for window in encoded.windows)
    assert all(len(window.ids) <= clf.network.limit for window in encoded.windows)
    (cut,) = clf.encode(Text("the plot drags . " * 60), unit="word", long="truncate").windows
    assert cut.features.tolist() == list(range(int(cut.features.max()) + 1))


def test_a_second_text_that_is_not_explained_stays() -> None:
    template = "{shots}the film {text} , but {pair} the plot was"
    clf = loaded("llama", asked(template=template, features=("text", "shots")))
    found = wl.explain(clf, Text("it is good", "it drags"), method="occlusion", evidence_sign="none")
    assert [place.part for place in found.places] == [0, 0, 0, 2, 3]
    assert [found.example.show(place) for place in found.places[:3]] == ["it", "is", "good"]


def test_a_control_token_of_an_example_is_one() -> None:
    shots = (Shot(text="is dull </s> it drags", label="negative"), *SHOTS[1:])
    windows = [
        loaded("llama", asked(shots=shots, features=features)).encode(Text(TEXT), unit="word", long="refuse").windows[0]
        for features in (("text",), ("text", "shots"))
    ]
    assert windows[0].ids.tolist() == windows[1].ids.tolist()
    end = int(np.flatnonzero(windows[1].ids == tiny.tokenizer("llama").eos_token_id)[0])
    assert windows[1].feature[end] == windows[1].feature[end - 1] == windows[1].feature[end + 1] >= 0
    own = np.flatnonzero(windows[1].feature == windows[1].feature[end])
    assert all(second == first + 1 for first, second in pairwise(own.tolist()))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"features": ("text", "shots"), "shots": ()}, "name 'shots', of which it shows none"),
        ({"features": ("text", "instruction"), "instruction": " "}, "name 'instruction', of which it shows none"),
        ({"features": ("text", "answers")}, "'text', and perhaps 'pair', 'instruction' and 'shots'"),
        ({"features": ("shots",)}, "'text', and perhaps 'pair', 'instruction' and 'shots'"),
    ],
)
def test_features_that_are_not_there_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        dataclasses.replace(explained(), **change)


def test_what_looks_at_words_alone_refuses_blocks() -> None:
    clf = loaded("llama", explained())
    assert "infill" not in clf.removers
    for method in ("self_explanation", "aml"):
        with pytest.raises(WhylightError, match="block by block"):
            wl.explain(clf, TEXT, method=method)
    with pytest.raises(SettingError, match=r"use features = \['text'\]"):
        question(Endpoint("http://127.0.0.1:1/v1", model="x"), explained())


def test_settings_stand_behind_the_name_of_a_prompt() -> None:
    prompt = read_prompt("sentiment[features=text+instruction+shots, scoring=sum]")
    assert prompt.features == ("text", "instruction", "shots")
    assert prompt.scoring == "sum"
    assert [one.name for one in prompt.blocks][:2] == ["instruction", "example 1 (negative)"]
    assert prompt.written(prompt.pieces, ["x"]) == read_prompt("sentiment").written(
        read_prompt("sentiment").pieces, ["x"]
    )
    with pytest.raises(SettingError, match="features, scoring, calibration, neutral"):
        read_prompt("sentiment[feature=text]")
    with pytest.raises(InputError, match="there is no prompt 'sentimant'"):
        read_prompt("sentimant[scoring=sum]")
