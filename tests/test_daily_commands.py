"""What one does every day on the command line works, and what one gets wrong is one sentence."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from whylight.cli.completion import complete_data, complete_methods, complete_metrics, complete_objectives
from whylight.core.declared import declared_names
from whylight.core.registry import METHODS, METRICS, OBJECTIVES, REMOVERS
from whylight.data.registry import CORPORA

REVIEWS = 'id,review,stars\n1,"A gripping, moving film.",1\n2,"So dull, and far too long.",0\n'


@pytest.fixture
def reviews(tmp_path: Path) -> str:
    path = tmp_path / "reviews.csv"
    path.write_text(REVIEWS, encoding="utf-8")
    return str(path)


def explained(cli: Any, *arguments: str) -> list[Any]:
    code, out, err = cli("explain", *arguments, "--method", "ixg", "--format", "json")
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def test_every_row_of_a_table_is_explained_and_its_header_is_no_text(cli: Any, reviews: str) -> None:
    rows = explained(cli, "--file", reviews, "--text-column", "review")
    assert [row["text"] for row in rows] == ["A gripping, moving film.", "So dull, and far too long."]
    assert {row["method"] for row in rows} == {"input_x_gradient"}
    both = explained(cli, "A film.", "--file", reviews, "--text-column", "review", "--pair", "Is it good?")
    assert [row["pair"] for row in both] == ["Is it good?"] * 3


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".tsv"])
def test_the_usual_column_needs_no_name_and_labels_do_not_matter(cli: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"texts{ending}"
    mark = {".csv": ",", ".tsv": "\t"}.get(ending)
    rows = [("a", "A film.", "", "train", "5"), ("a", "A plot.", "x", "dev", "1")]
    if mark is None:
        keys = ("id", "text", "label", "split", "Labell")
        path.write_text("".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows), encoding="utf-8")
    else:
        lines = [mark.join(row) for row in [("id", "text", "label", "split", "Labell"), *rows]]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [row["text"] for row in explained(cli, "--file", str(path))] == ["A film.", "A plot."]


def test_pairs_of_a_table_are_explained_as_pairs(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "nli.csv"
    path.write_text("premise,hypothesis\nit rains,it is wet\n", encoding="utf-8")
    arguments = ("--file", str(path), "--text-column", "premise", "--pair-column", "hypothesis")
    assert [(row["text"], row["pair"]) for row in explained(cli, *arguments)] == [("it rains", "it is wet")]
    assert "has second texts of its own" in cli("explain", *arguments, "--pair", "x")[2]


def test_broken_rows_are_left_out_if_that_is_asked_for(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text('text,n\nA film.,1\n"",2\nA plot.,3\n', encoding="utf-8")
    assert "line 3 of" in cli("explain", "--file", str(path))[2]
    assert [row["text"] for row in explained(cli, "--file", str(path), "--drop-broken")] == ["A film.", "A plot."]
    assert "1 that cannot be read" in cli("explain", "--file", str(path), "--drop-broken", "--method", "ixg")[2]


def test_what_was_written_is_said_on_standard_error(cli: Any, reviews: str, tmp_path: Path) -> None:
    page, run = tmp_path / "page.html", tmp_path / "run"
    code, out, err = cli("explain", "A film.", "--method", "ixg", "--format", "html", "--out", str(page))
    assert (code, out, err) == (0, "", f"whylight: wrote {page}\n")
    mapped = ("--map-label", "0=negative", "--map-label", "1=positive")
    named = ("--data", reviews, "--text-column", "review", "--label-column", "stars", *mapped)
    code, out, err = cli("evaluate", *named, "--method", "ixg", "--metric", "comprehensiveness", "--out", str(run))
    assert code == 0, err
    assert "input_x_gradient" in out
    assert err.splitlines()[-1] == f"whylight: wrote {run}"
    assert cli("report", str(run)) == (0, "", f"whylight: wrote {run / 'report.html'}\n")


def test_texts_without_labels_are_enough_where_labels_do_not_matter(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("A gripping film.\nSo dull.\n", encoding="utf-8")
    code, out, err = cli("recommend", "--data", str(path), "--budget", "1")
    assert (code, err) == (0, "")
    assert "'texts' (test) has 2 texts, and a ranking needs at least 10" in " ".join(out.split())
    table = tmp_path / "texts.csv"
    table.write_text("review\nA gripping film.\n", encoding="utf-8")
    code, out, _ = cli("recommend", "--data", str(table), "--text-column", "review")
    assert (code, "has 1 text," in out) == (0, True)
    arguments = ("--data", str(path), "--method", "random", "--levels", "head", "--draws", "1")
    assert cli("sanity", *arguments)[0] == 0
    code, _, err = cli("evaluate", "--data", str(table), "--text-column", "review", "--method", "ixg")
    assert (code, "--label-column" in err) == (2, True)


MISTAKES = {
    "unknown column": ("explain --file {reviews} --text-column reviw", "mean 'review'? Known: id, review, stars"),
    "no column named": ("explain --file {reviews}", "its header is id, review, stars. Say which column"),
    "lines of a table": ("explain --file {reviews} --lines", "leave out --lines"),
    "column of a text": ("explain --file {text} --text-column x", "is for the rows of a table"),
    "column of nothing": ("explain film --text-column x", "and there is no file"),
    "unknown label column": ("evaluate --data {reviews} --text-column review --label-column star", "Known: id, review"),
    "label that is a number": ("evaluate --data {reviews} {named} --method ixg", "--map-label 1=NAME"),
    "map that misses": ("evaluate --data {reviews} {named} --map-label 1=positive", "misses '0' of 'reviews'"),
    "map without a name": ("evaluate --data {reviews} {named} --map-label 1", "takes LABEL=NAME"),
    "two names": ("evaluate --data {reviews} {named} --map-label 1=a --map-label 1=b", "two names for '1': a, b"),
    "labels as a setting": ("evaluate --data {reviews} --data-set labels=x", "an option of its own, --map-label"),
    "columns of a corpus": ("evaluate --data planted: --text-column x", "'planted' has columns of its own"),
    "training on an index": ("train --data {reviews} {named} --dev {reviews} --out {out} --device cpu:0", "a kind of"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_sentence(case: str, cli: Any, reviews: str, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("a film", encoding="utf-8")
    command, says = MISTAKES[case]
    places = {"reviews": reviews, "text": str(tmp_path / "note.txt"), "out": str(tmp_path / "out")}
    words = command.format(**places, named="--text-column review --label-column stars").split()
    code, out, err = cli(*words)
    assert (code, out) == (2, ""), err
    assert says in err
    assert err.startswith("whylight: ")
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")
@pytest.mark.parametrize("command", ["explain film", "methods --model whylight/sentiment", "recommend --data planted:"])
def test_a_device_that_is_not_there_is_one_sentence(command: str, cli: Any) -> None:
    code, out, err = cli(*command.split(), "--device", "cuda")
    assert (code, out) == (2, "")
    assert err.startswith("whylight: cannot run on the device 'cuda'")
    assert err.endswith("there is cpu.\n")
    assert err.count("\n") == 1


def test_every_command_that_loads_a_model_takes_a_device(cli: Any) -> None:
    for command in ("explain", "evaluate", "recommend", "audit", "sanity", "roar", "fit", "train", "tune", "methods"):
        assert "--device" in cli(command, "--help")[1], command


@pytest.mark.parametrize(
    ("package", "registry"),
    [
        ("whylight.methods", METHODS),
        ("whylight.metrics", METRICS),
        ("whylight.objectives", OBJECTIVES),
        ("whylight.perturb", REMOVERS),
        ("whylight.data", CORPORA),
    ],
)
def test_the_names_that_are_completed_are_those_that_there_are(package: str, registry: Any) -> None:
    own = [name for name in registry.names() if registry[name].function.__module__.startswith(package)]
    assert declared_names(package) == own


@pytest.mark.parametrize(
    ("name", "begins"),
    [("x.html", b"<!doctype html>"), ("x.JSON", b'{"kind"'), ("x.png", b"\x89PNG"), ("x.txt", b"pos")],
)
def test_the_name_of_a_file_says_what_is_written(cli: Any, tmp_path: Path, name: str, begins: bytes) -> None:
    code, out, err = cli("explain", "A fine film.", "--method", "ixg", "--out", str(tmp_path / name))
    assert (code, out) == (0, ""), err
    assert (tmp_path / name).read_bytes().lower().startswith(begins.lower())
    assert cli("explain", "A film.", "--method", "ixg", "--format", "text", "--out", str(tmp_path / name))[0] == 0
    assert b"input_x_gradient: why" in (tmp_path / name).read_bytes()


def test_a_table_is_one_whatever_the_case_of_its_ending_and_other_files_are_no_text(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "REVIEWS.CSV"
    path.write_text("text,label\r\nA film.,1\r\n", encoding="utf-8-sig", newline="")
    assert [row["text"] for row in explained(cli, "--file", str(path))] == ["A film."]
    for name in ("x.json", "x.csv.gz", "x.xlsx"):
        (tmp_path / name).write_text('[{"text": "A film."}]', encoding="utf-8")
        code, _, err = cli("explain", "--file", str(tmp_path / name), "--method", "ixg")
        assert (code, err.count("\n")) == (2, 1)
        assert "is no text, and of no kind of table that can be read (.jsonl, .jsonl.gz, .csv" in err


def test_names_are_completed_from_their_beginning() -> None:
    assert complete_methods("in") == ["input_x_gradient", "integrated_gradients"]
    assert complete_metrics("aopc") == ["aopc_comprehensiveness", "aopc_sufficiency"]
    assert complete_objectives("tok") == ["token_masking"]
    assert complete_data("ss") == ["sst:", "sst2:"]
    assert complete_data("./rev") == []  # a file: the shell completes it


def shell(arguments: list[str], **environment: str) -> str:
    code = f"import sys; sys.argv = {['whylight', *arguments]!r}; from whylight.cli.main import run\n"
    code += "try: run()\nexcept SystemExit: pass\nprint(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    own = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own)  # noqa: S603
    assert not {"torch", "transformers"} & set(done.stderr.split())
    return done.stdout


def test_the_shell_completes_without_torch() -> None:
    words = "whylight evaluate --metric-remover d"
    assert shell([], _WHYLIGHT_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD="3").split() == ["delete"]


def test_completion_is_installed(tmp_path: Path) -> None:
    said = shell(["--install-completion", "bash"], HOME=str(tmp_path), _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "completion installed" in said
    assert "_WHYLIGHT_COMPLETE=complete_bash" in (tmp_path / ".bash_completions" / "whylight.sh").read_text()
