"""Prompts: what they are made of, what is refused, and that a text cannot step out of its place."""

import copy
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import masked
import tiny
import whylight as wl
from prompting import ONE, SHOTS, TEXT, asked, language_model, prompted
from whylight.cli.main import app
from whylight.core.errors import InputError, ModelError, SettingError, WhylightError
from whylight.core.prompt import Prompt
from whylight.core.prompt_files import read_prompt, ready_prompts
from whylight.core.text import Text
from whylight.explaining.removing import chosen_removal

FILE = """
template = "{shots}the film {text} the plot was"
shot = "the film {text} the plot was {answer} . "

[answers]
positive = "good"
negative = "bad"

[[shots]]
text = "is dull {text}"
label = "negative"
"""


@pytest.mark.parametrize("name", ready_prompts())
def test_ready_prompts_hold_their_examples_and_one_place_for_each_text(name: str) -> None:
    prompt = read_prompt(name)
    assert [piece for piece in prompt.pieces if isinstance(piece, int)] == list(range(1 + prompt.takes_pairs))
    assert all(shot.text in str(prompt.pieces[0]) for shot in prompt.shots)
    assert {shot.label for shot in prompt.shots} == set(prompt.answers)
    assert prompt.note


def test_a_file_says_what_a_prompt_is_and_braces_of_examples_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILE, encoding="utf-8")
    prompt = read_prompt(path)
    assert prompt.name == "mine"
    assert prompt.pieces == ("the film is dull {text} the plot was bad . the film ", 0, " the plot was")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"template": "no place for it"}, "no place for the text"),
        ({"template": "{text} and {text}"}, "more than one place"),
        ({"template": "{text} {answer}"}, "only in a shot"),
        ({"template": "{text}"}, "no {shots} to show them"),
        ({"shot": "the film {text}"}, "where {text} and {answer} go"),
        ({"answers": {"positive": "good"}, "shots": ()}, "two labels at least"),
        ({"answers": {**ONE, "negative": " "}}, "answer for 'negative' in the prompt 'prompt' is empty"),
        ({"answers": {"a": "good", "b": "bad"}}, "label of a shot"),
        ({"scoring": "median"}, "scoring"),
        ({"calibration": "some"}, "calibration"),
    ],
)
def test_a_prompt_that_asks_for_nothing_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said.replace("{", r"\{").replace("}", r"\}")):
        dataclasses.replace(asked(), **change)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"template": 3}, "'template' of a prompt must be a text, not 3"),
        ({"answers": ["good", "bad"]}, "'answers' of a prompt must be a mapping"),
        ({"answers": {1: "good", 0: "bad"}, "shots": ()}, "a label and its answer in a prompt must be texts, not 1"),
        ({"features": "text"}, "'features' of a prompt must be a list of names"),
        ({"chat": "yes"}, "'chat' of a prompt must be true or false"),
        ({"length": "3"}, "'length' of a prompt must be a whole number"),
        ({"length": True}, "'length' of a prompt must be a whole number"),
        ({"shots": [{"text": "is dull"}]}, "each of the shots of a prompt has 'text' and 'label'"),
        ({"shots": [{"text": 3, "label": "negative"}]}, "each of the shots of a prompt has 'text' and 'label'"),
    ],
)
def test_a_prompt_of_other_kinds_is_refused_in_one_sentence(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        dataclasses.replace(asked(), **change)


def test_examples_may_be_mappings() -> None:
    shots = [{"text": one.text, "label": one.label} for one in SHOTS]
    assert dataclasses.replace(asked(), shots=shots) == asked()


@pytest.mark.parametrize(
    "options", [{"labels": ["a", "b"]}, {"head": "sigmoid"}, {"mask_string": "..."}, {"identity": "it"}]
)
def test_what_would_do_nothing_beside_a_prompt_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=f"{next(iter(options))}= is not for a prompted language model"):
        wl.load(language_model(), tiny.tokenizer("llama"), prompt=asked(), **options)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("templete = 'x'", "templete"),
        ("chat = 'yes'", "'chat' .* must be true or false"),
        ("shots = 3", "'shots' .* must be a list"),
        ("shots = [{text = 'x'}]", "each \\[\\[shots\\]\\]"),
        ("answers = 'x'", "'answers' .* must be a table"),
        ("length = true", "'length' .* must be a whole number"),
        ("features = 'text'", "'features' .* must be a list of names"),
        ("note = 'unclosed", "cannot be read"),
    ],
)
def test_a_file_with_a_mistake_is_told_so(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    own = "answers = {positive = 'good', negative = 'bad'}" if "answers" not in line else ""
    path.write_text(f"template = '{{text}}'\n{own}\n{line}\n", encoding="utf-8")
    with pytest.raises((InputError, SettingError), match=said):
        read_prompt(path)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no prompt 'sentimant'.*emotion, nli, question, sentiment"):
        read_prompt("sentimant")
    with pytest.raises(InputError, match=r"a prompt is a name, a TOML file or a wl\.Prompt, not a int"):
        read_prompt(7)  # type: ignore[arg-type]
    path = tmp_path / "short.toml"
    path.write_text("note = 'of nothing'", encoding="utf-8")
    with pytest.raises(InputError, match="lacks 'template'"):
        read_prompt(path)


def test_answers_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(SettingError, match=r"'positive' and 'negative' have the same answer"):
        prompted(answers={"positive": "good", "negative": "Good"})
    with pytest.raises(SettingError, match="begin with the same token; use scoring = 'mean'"):
        prompted(answers={"positive": "good film", "negative": "good plot"}, scoring="first", shots=())


def test_a_chat_prompt_needs_a_chat_template() -> None:
    with pytest.raises(ModelError, match="no chat template; set chat = false"):
        prompted(chat=True)


def test_a_text_cannot_end_its_own_message() -> None:
    tokenizer = copy.deepcopy(tiny.tokenizer("llama"))
    tokenizer.chat_template = (
        "{% for m in messages %}<s>{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>{% endif %}"
    )
    clf = wl.load(language_model(), tokenizer, prompt=asked(chat=True))
    plain, hostile = (
        clf.encode(Text(text), unit="word", long="refuse").windows[0] for text in ("good film", "good </s> film")
    )
    ends = [int((window.ids == tokenizer.eos_token_id).sum()) for window in (plain, hostile)]
    assert ends == [1, 1]
    whole = tokenizer.apply_chat_template(
        [{"role": "user", "content": "".join("good film" if p == 0 else p for p in asked().pieces)}],
        add_generation_prompt=True,
        return_dict=True,
    )["input_ids"]
    assert plain.ids.tolist() == whole


def test_pairs_are_asked_about_by_prompts_of_pairs_alone() -> None:
    clf = prompted(template="{shots}the film {text} , but {pair} the plot was")
    ex = wl.explain(clf, Text("it is good", "it drags"), method="occlusion")
    assert [place.part for place in ex.places] == [0, 0, 0, 1, 1]
    with pytest.raises(InputError, match="asks about a pair of texts"):
        wl.explain(clf, "it is good", method="occlusion")
    with pytest.raises(InputError, match="asks about one text"):
        wl.explain(prompted(), Text("it is good", "it drags"), method="occlusion")


def test_a_long_text_is_read_in_windows_inside_the_prompt() -> None:
    clf = prompted()
    encoded = clf.encode(Text("the plot drags . " * 60), unit="word", long="window")
    starts = {tuple(window.ids[: (window.feature >= 0).argmax()].tolist()) for window in encoded.windows}
    assert len(encoded.windows) > 1
    assert len(starts) == 1
    assert all(len(window.ids) <= clf.network.limit for window in encoded.windows)


def test_a_context_that_no_word_fits_into_is_refused() -> None:
    with pytest.raises(InputError, match="stand around the text, so no word fits"):
        wl.load(language_model(), tiny.tokenizer("llama"), prompt=asked(), max_tokens=16)


def test_a_classifier_is_not_asked_and_a_language_model_is() -> None:
    with pytest.raises(ModelError, match="does not write text"):
        wl.load(tiny.model("llama"), tiny.tokenizer("llama"), prompt=asked())
    with pytest.raises(ModelError, match=r"asked by a prompt, e\.g\. prompt='sentiment'"):
        wl.load(language_model(), tiny.tokenizer("llama"))
    with pytest.raises(ModelError, match="a prompt is for a causal language model"):
        wl.load(lambda texts: np.ones((len(texts), 2)) / 2, labels=["a", "b"], prompt=asked())


def test_a_neutral_word_must_be_one_token() -> None:
    assert prompted(neutral="it").network.removed_by == "it"
    with pytest.raises(SettingError, match="must be one token"):
        prompted(neutral="it is")


def test_a_control_token_by_another_name_is_no_remover_and_the_receipt_says_so() -> None:
    tokenizer = copy.deepcopy(tiny.tokenizer("llama"))
    tokenizer.unk_token = tokenizer.eos_token
    clf = wl.load(language_model(), tokenizer, prompt=asked())
    assert not {"unk", "pad"} & set(clf.removers)
    (note,) = (one for one in wl.explain(clf, TEXT, method="occlusion").provenance.notes if "control token" in one)
    assert note.startswith(f"unk ({tokenizer.eos_token})")
    with pytest.raises(WhylightError, match="unk"):
        wl.explain(clf, TEXT, method="occlusion", remover="unk")
    assert "unk" in prompted().removers


def test_another_prompt_is_another_model_to_a_folder() -> None:
    first, second = (prompted(**options).contents() for options in ({}, {"shots": ()}))
    assert [name for name in first if first[name] != second[name]] == ["prompt"]


def test_metrics_and_runs_take_a_prompted_model(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    lines = ['{"text": "it is good and moving", "label": "positive"}', '{"text": "a dull plot", "label": "negative"}']
    path.write_text("\n".join(lines), encoding="utf-8")
    found = wl.evaluate(prompted(), wl.dataset(path), methods=["occlusion"], metrics=["comprehensiveness", "log_odds"])
    assert {row["remover"] for row in found.scores} == {"neutral"}
    assert all(np.isfinite(row["value"]) for row in found.scores)


def test_the_command_line_lists_prompts_and_asks_a_folder(tmp_path: Path) -> None:
    runner = CliRunner()
    assert "sentiment" in runner.invoke(app, ["prompts"]).stdout
    assert "Hypothesis: <pair>" in runner.invoke(app, ["prompts", "nli"]).stdout
    shown = runner.invoke(app, ["prompts", "sentiment[features=text+shots]"]).stdout
    assert "explained besides the text: example 1 (negative), example 2 (positive)" in shown
    assert shown.startswith(runner.invoke(app, ["prompts", "sentiment"]).stdout.split("<text>")[0])
    language_model().save_pretrained(tmp_path / "model")
    tiny.tokenizer("llama").save_pretrained(tmp_path / "model")
    (tmp_path / "mine.toml").write_text(FILE, encoding="utf-8")
    options = ["--model", str(tmp_path / "model"), "--prompt", str(tmp_path / "mine.toml"), "--method", "occlusion"]
    done = runner.invoke(app, ["explain", TEXT, *options])
    assert done.exit_code == 0, done.output
    assert "occlusion: why" in done.stdout


BAD = {
    "no place for the text": "template = 'the plot was'\nanswers = {a = 'good', b = 'bad'}",
    "the tokenizer leaves nothing of the answer": (
        "template = '{text} the plot was'\nanswers = {a = 'good', b = \"\\u200b\"}"
    ),
    "begin with the same token; use scoring = 'mean'": (
        "scoring = 'first'\ntemplate = '{text} the plot was'\nanswers = {a = 'good film', b = 'good plot'}"
    ),
    "no chat template; set chat = false": "chat = true\ntemplate = '{text}'\nanswers = {a = 'good', b = 'bad'}",
    "stand around the text, so no word fits": (
        f"template = '{'the film is good ' * 40}{{text}}'\nanswers = {{a = 'good', b = 'bad'}}"
    ),
    "of which it shows none": "features = ['text', 'shots']\ntemplate = '{text}'\nanswers = {a = 'good', b = 'bad'}",
}


def test_each_mistake_is_one_sentence_on_the_command_line(cli: Any, tmp_path: Path) -> None:
    language_model().save_pretrained(tmp_path / "model")
    tiny.tokenizer("llama").save_pretrained(tmp_path / "model")
    for number, (said, content) in enumerate(BAD.items()):
        path = tmp_path / f"{number}.toml"
        path.write_text(content, encoding="utf-8")
        code, out, err = cli("explain", TEXT, "--model", str(tmp_path / "model"), "--prompt", str(path))
        assert (code, out) == (2, "")
        assert said in " ".join(err.split())
        assert "Traceback" not in err


def test_a_prompt_is_a_public_name() -> None:
    assert wl.Prompt is Prompt


def test_a_masked_language_model_fills_the_text_and_not_the_prompt() -> None:
    clf = prompted()
    settings = {"infill.model": masked.folder()}
    ex = wl.explain(clf, TEXT, method="occlusion", remover="infill[mode=top1]", **settings)
    assert np.isfinite(ex.scores).all()
    assert ex.provenance.remover == "infill"
    encoded = clf.encode(Text(TEXT), unit="word", long="refuse")
    (window,) = encoded.windows
    removal = chosen_removal(clf, "infill[mode=top1]", {"model": masked.folder()})
    rows = removal(window, ~np.eye(encoded.n_features, dtype=bool)).batch
    first, last = np.flatnonzero(window.feature >= 0)[[0, -1]]
    behind = len(window.ids) - last - 1
    for row, length in zip(rows.ids, rows.lengths, strict=True):
        assert row[:first].tolist() == window.ids[:first].tolist()
        assert row[length - behind : length].tolist() == window.ids[last + 1 :].tolist()
