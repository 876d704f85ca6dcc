"""The command line keeps its promises: right output, and one clear sentence with exit code 2 for every mistake."""

import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

import tiny

SHOWN = "A gripping, moving film, though the ending drags."
SPOKEN_AGAINST = {"ending", "drags"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny multi-label model on disk."""
    path = tmp_path_factory.mktemp("model")
    names = {0: "drama", 1: "<b>comedy</b>", 2: "war"}
    config = {"id2label": names, "label2id": {v: k for k, v in names.items()}}
    tiny.model("bert", num_labels=3, problem_type="multi_label_classification", **config).save_pretrained(path)
    tiny.tokenizer("bert").save_pretrained(path)
    return path


def test_json_offsets_slice_back_and_negative_words_pull_against_positive(cli: Any) -> None:
    methods = ("lime", "integrated_gradients", "attingrad")
    code, out, _ = cli("explain", SHOWN, *(f"--method={name}" for name in methods), "--format", "json")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["method"] for row in rows] == list(methods)
    assert [row["signed"] for row in rows] == [True, True, False]
    for row in rows:
        assert row["target"]["label"] == row["prediction"]["label"] == "positive"
        assert all(row["text"][f["start"] : f["end"]] == f["text"] for f in row["features"])
    for row in rows[:2]:
        assert all(f["score"] < 0 for f in row["features"] if f["text"] in SPOKEN_AGAINST)
        assert max(row["features"], key=lambda f: f["score"])["text"] == "gripping"


def test_json_has_the_documented_keys(cli: Any) -> None:
    _, out, _ = cli("explain", "A film.", "--method", "lime", "--set", "samples=20", "--format", "json")
    row = json.loads(out)
    documented = {
        "text", "pair", "model", "method", "settings", "unit", "remover", "score", "target", "prediction", "features",
        "evidence", "mattered", "evidence_sign", "completeness_gap", "seconds", "forward_passes", "backward_passes",
        "notes",
    }  # fmt: skip
    assert documented <= set(row)
    assert row["settings"]["samples"] == 20
    assert set(row["features"][0]) == {"part", "start", "end", "text", "score"}
    assert set(row["target"]) == {"index", "label", "description", "probability", "threshold"}
    assert all(set(one) == {"part", "start", "end", "text", "score", "before", "after"} for one in row["evidence"])


def test_the_strongest_words_are_printed_without_colour(cli: Any) -> None:
    code, out, _ = cli("explain", SHOWN, "--method", "occlusion")
    assert code == 0
    assert "gripping +" in out
    assert "\x1b[" not in out


def test_html_goes_into_a_file_and_is_escaped(cli: Any, folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    text = "<script>alert(1)</script> a good film"
    code, out, _ = cli(
        "explain", text, "--model", str(folder), "--target", "all", "--method", "input_x_gradient",
        "--format", "html", "--out", str(page),
    )  # fmt: skip
    assert (code, out) == (0, "")
    html = page.read_text(encoding="utf-8")
    assert "<script>alert" not in html
    assert "<b>comedy" not in html
    assert "comedy" in html


def test_text_output_can_go_into_a_file(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    assert cli("explain", "A dull film.", "--method", "input_x_gradient", "--out", str(path))[0] == 0
    assert "dull" in path.read_text(encoding="utf-8")


def test_a_file_is_one_text_or_one_a_line(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("A good film.\n\nA bad film.\n", encoding="utf-8")
    arguments = ("explain", "--file", str(path), "--method", "input_x_gradient", "--format", "json")
    assert [json.loads(line)["text"] for line in cli(*arguments)[1].splitlines()] == ["A good film.\n\nA bad film.\n"]
    one_each = cli(*arguments, "--lines")[1].splitlines()
    assert [json.loads(line)["text"] for line in one_each] == ["A good film.", "A bad film."]


def test_a_line_ends_at_a_line_feed_only(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes("A good\u2028film.\r\nA bad\x85film.".encode())
    rows = cli("explain", "--file", str(path), "--lines", "--method", "occlusion", "--format", "json")[1].split("\n")
    assert [json.loads(row)["text"] for row in rows if row] == ["A good\u2028film.", "A bad\x85film."]


def test_a_file_without_end_is_refused(cli: Any) -> None:
    code, _, said = cli("explain", "--file", "/dev/zero")
    assert code == 2
    assert "longer than 67,108,864 bytes; cut it into several files" in " ".join(said.split())


def test_a_folder_that_is_not_there_may_be_called_null(cli: Any, tmp_path: Path) -> None:
    code, _, said = cli("explain", "A good film.", "--out", str(tmp_path / "nullable" / "x.html"))
    assert code == 2
    assert "there is no folder" in " ".join(said.split())


def test_a_pair_is_explained_in_both_parts(cli: Any, folder: Path) -> None:
    arguments = ("--model", str(folder), "--target", "war", "--method", "occlusion", "--format", "json")
    row = json.loads(cli("explain", "a good film", "--pair", "not dull", *arguments)[1])
    assert row["pair"] == "not dull"
    assert [f["part"] for f in row["features"]] == [0, 0, 0, 1, 1]
    parts = (row["text"], row["pair"])
    assert all(parts[f["part"]][f["start"] : f["end"]] == f["text"] for f in row["features"])


def test_targets_may_be_repeated(cli: Any) -> None:
    arguments = ("--target", "positive", "--target", "0", "--method", "input_x_gradient", "--format", "json")
    rows = [json.loads(line) for line in cli("explain", "A good film.", *arguments)[1].splitlines()]
    assert [row["target"]["label"] for row in rows] == ["positive", "negative"]


def test_every_label_of_a_multi_label_model_has_its_threshold_and_its_evidence(cli: Any, folder: Path) -> None:
    arguments = ("explain", SHOWN, "--model", str(folder), "--target", "all", "--method", "occlusion")
    rows = [json.loads(line) for line in cli(*arguments, "--format", "json")[1].splitlines()]
    assert [row["target"]["threshold"] for row in rows] == [0.5] * 3
    assert all("target_probability" not in row for row in rows)  # it stands in the target, once
    assert all(SHOWN[one["start"] : one["end"]] == one["text"] for row in rows for one in row["evidence"])
    assert any(row["evidence"] for row in rows)
    printed = cli(*arguments)[1]
    assert printed.count("threshold 0.50)?") == printed.count("evidence:") == 3


def test_the_sign_of_evidence_is_lent_or_named_or_left_out(cli: Any) -> None:
    arguments = ("explain", SHOWN, "--method", "attingrad", "--format", "json")
    row = json.loads(cli(*arguments)[1])
    assert row["evidence_sign"]["method"] == "decompx_linear"
    assert not any(word in one["text"] for one in row["evidence"] for word in SPOKEN_AGAINST)
    row = json.loads(cli(*arguments, "--evidence-sign", "none")[1])
    assert row["evidence"] is None
    assert any(one["text"] in SPOKEN_AGAINST for one in row["mattered"])
    code, _, said = cli(*arguments, "--evidence-sign", "attention")
    assert code == 2
    assert "'attention' has no sign" in said


def test_evidence_can_be_cut_and_switched_off(cli: Any) -> None:
    arguments = ("explain", SHOWN, "--method", "saliency", "--target", "all")
    assert len(json.loads(cli(*arguments, "--format", "json")[1].splitlines()[-1])["evidence"]) > 1
    row = json.loads(cli(*arguments, "--format", "json", "--evidence", "1")[1].splitlines()[-1])
    assert len(row["evidence"]) == 1
    assert "not listed" in cli(*arguments, "--evidence", "1")[1]
    row = json.loads(cli(*arguments, "--format", "json", "--evidence", "0")[1].splitlines()[-1])
    assert row["evidence"] is None
    assert "evidence" not in cli(*arguments, "--evidence", "0")[1]
    assert "Evidence" in cli(*arguments, "--format", "html")[1]
    assert "Evidence" not in cli(*arguments, "--format", "html", "--evidence", "0")[1]


def test_output_survives_a_terminal_without_unicode(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ("text", "json"):
        seen = BytesIO()
        monkeypatch.setattr(sys, "stdout", TextIOWrapper(seen, encoding="ascii"))  # as PYTHONIOENCODING=ascii makes it
        assert cli("explain", "café 🎬", "--method", "occlusion", "--format", form)[0] == 0
        text = seen.getvalue().decode("ascii" if form == "text" else "utf-8")
        assert "caf?" in text if form == "text" else json.loads(text)["text"] == "café 🎬"


@pytest.mark.parametrize(
    "text", ["film", "🎬 👍🏽 good", "סרט טוב מאוד", "cafe\u0301 film", "good\x00movie", "<b>good</b> film"]
)
def test_unusual_text_gets_right_offsets(cli: Any, text: str) -> None:
    code, out, _ = cli("explain", text, "--method", "occlusion", "--format", "json")
    assert code == 0
    features = json.loads(out)["features"]
    assert "".join(f["text"] for f in features) == "".join(text.split())


def test_methods_and_metrics_are_listed(cli: Any, folder: Path) -> None:
    assert "attingrad" in cli("methods")[1]
    assert "occlusion" in cli("methods", "--model", str(folder))[1]
    assert "comprehensiveness" in cli("metrics")[1]
    assert cli("--version")[1].startswith("whylight ")


def _mistakes(tmp_path: Path, folder: Path) -> dict[str, tuple[list[str], str]]:
    """Every mistake: the arguments, and a word that its sentence must hold."""
    latin = tmp_path / "latin.txt"
    latin.write_bytes("caf\xe9 film".encode("latin-1"))
    empty = tmp_path / "empty"
    empty.mkdir()
    weightless = tmp_path / "weightless"
    weightless.mkdir()
    (weightless / "config.json").write_text((folder / "config.json").read_text(), encoding="utf-8")
    return {
        "no text": ([], "nothing to explain"),
        "empty text": ([""], "empty"),
        "white space": ([" \n\t"], "empty"),
        "unknown method": (["a film", "--method", "lim"], "'lime'"),
        "unknown label": (["a film", "--target", "happy"], "positive"),
        "label out of range": (["a film", "--target", "7"], "0 to 1"),
        "gold label": (["a film", "--target", "gold"], "gold"),
        "unknown setting": (["a film", "--method", "lime", "--set", "sample=3"], "'samples'"),
        "setting of the wrong type": (["a film", "--method", "lime", "--set", "samples=many"], "whole number"),
        "setting out of range": (["a film", "--method", "lime", "--set", "samples=0"], "at least 1"),
        "setting without value": (["a film", "--set", "samples"], "NAME=VALUE"),
        "unknown remover": (["a film", "--remover", "erase"], "delete"),
        "unknown unit": (["a film", "--unit", "phrase"], "sentence"),
        "unknown score": (["a film", "--score", "odds"], "log_odds"),
        "unknown long": (["a film", "--long", "skip"], "truncate"),
        "missing file": (["--file", str(tmp_path / "absent.txt")], "cannot read"),
        "not UTF-8": (["--file", str(latin)], "UTF-8"),
        "folder without config": (["a film", "--model", str(empty)], "config.json"),
        "folder without weights": (["a film", "--model", str(weightless)], "no weights"),
        "no folder for the output": (["a film", "--out", str(tmp_path / "no" / "x.html")], "no folder"),
        "unknown head": (["a film", "--head", "tanh"], "sigmoid"),
        "limit too large": (["a film", "--max-tokens", "9999"], "512"),
        "less than no evidence": (["a film", "--evidence", "-1"], "0 (none) or more"),
    }


def test_every_mistake_gets_one_sentence_and_exit_code_2(cli: Any, tmp_path: Path, folder: Path) -> None:
    for name, (arguments, expected) in _mistakes(tmp_path, folder).items():
        code, out, err = cli("explain", *arguments)
        assert (code, out) == (2, ""), name
        assert expected in err, (name, err)
        assert "Traceback" not in err, name
        assert err.startswith("whylight: "), name
        assert err.count("\n") == 1, (name, err)


def test_a_very_long_text_is_explained_whole(cli: Any, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("the film was good and the plot dull . " * 900, encoding="utf-8")
    arguments = ("--model", str(folder), "--target", "war", "--method", "input_x_gradient", "--format", "json")
    code, out, _ = cli("explain", "--file", str(path), *arguments)
    row = json.loads(out)
    assert code == 0
    assert len(row["features"]) == 9 * 900
    assert "windows" in row["notes"][0]
