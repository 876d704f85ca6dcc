"""Hostile names: every command is given names that try to steer the terminal, and none may get through.

Labels in a model's config, ids and labels in data files, names of folders and files, and the values of options hold
escapes, C1 codes, bidi controls, markup, faked lines, NUL, halves of characters or 10,000 letters. Commands run in this
process, in front of a terminal of their own (a pseudo-terminal, so that colours are on), or into a pipe where JSON is
asked for. A violation is a control character that is not ours, markup that was taken for such, a faked line, a
traceback, or an exit code other than 0, 2 and 3.
"""

import json
import os
import random
import re
import shutil
import sys
import tempfile
import traceback
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from material.terminal import streams, terminal
from outcome import Outcome

import tiny
from whylight.cli.main import run
from whylight.store import pages, runs
from whylight.store.explanations import upgraded

NAMES = {
    "escape": "\x1b[2J\x1b]0;owned\x07ev\x08il",
    "conceal": "\x1b[8mconceal",
    "c1": "c1\x9b8m\x85\x90",
    "bidi": "bidi\u202egpj.exe\u2066x\u200f",
    "lines": "lines\nFAKED one\rFAKED two\u2028FAKED three\x0bFAKED four",
    "markup": "[red]m4rk[/red][/][link=https://example.org]m4rk[/link] :smile:",
    "surrogate": "half\udcff",
    "nul": "nul\x00l",
    "long": "long" * 2500,
    "quotes": "'\"\\%s {0} {task} $(x) \x7f",
    "formula": "=cmd()\x1b[5m",
}
OPTIONS = (
    "--method", "--target", "--unit", "--remover", "--score", "--long", "--pieces", "--head", "--format", "--evidence",
    "--max-tokens", "--file", "--model", "--out",
)  # fmt: skip
ON_DATA = {
    "evaluate": ("--method", "--metric", "--remover", "--metric-remover", "--tune", "--format", "--sample"),
    "sanity": ("--method", "--levels", "--draws", "--remover", "--head"),
    "audit": ("--method", "--remover", "--analysis", "--budget", "--head", "--model"),
    "recommend": ("--budget", "--head", "--model"),
    "train": ("--objective", "--combine", "--architecture", "--precision", "--epochs", "--dev", "--model"),
    "tune": ("--search", "--trials", "--objective", "--format"),
    "roar": ("--method", "--remover", "--share", "--seeds", "--encoder", "--dev", "--model"),
    "fit": ("--metric", "--set", "--remover", "--encoder", "--dev", "--model"),
}
COLOUR = re.compile("\x1b\\[[0-9;]*m")
NOT_OURS = re.compile("\x1b\\[(5|8)m")
"""Colour codes of the hostile names; ours are all colours and weights, none of which hides or blinks."""
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
CODES = {0, 2, 3}
TEXTS = ("a good film", "a bad film", "the plot drags", "very moving acting")


@dataclass(frozen=True, slots=True)
class Command:
    """Arguments, whether standard output is a pipe instead of a terminal, and whether it holds lines of its own.

    A page is data, and a text that is explained keeps its lines and is taken apart into words.
    """

    arguments: tuple[str, ...]
    piped: bool = False
    own_lines: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """What there is on disk under one hostile name: a model, data, and a run with rows of that name."""

    model: Path
    data: Path
    one_class: Path
    run: Path


def campaign(scale: float, seed: int) -> Outcome:
    """Run a share of all commands, and look at what each prints."""
    violations = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder), _quiet_surroundings():
        tried = choose(scale, seed, folder)
        for name, command in tried:
            violations += [f"{name}: {problem}: {_shown(command)}" for problem in problems(command)]
    return Outcome({"commands": len(tried)}, violations)


def choose(scale: float, seed: int, folder: str) -> list[tuple[str, Command]]:
    """Return a share of all commands with the names they are tried with, in turns, so that none is left out."""
    base = _base(Path(folder))
    every = [(name, command) for name, value in NAMES.items() for command in commands(value, base, folder)]
    random.Random(seed).shuffle(every)
    seen: Counter[str] = Counter()
    turns = []
    for one in every:
        word = one[1].arguments[0]
        kind = "unknown" if word in NAMES.values() else word
        turns.append((seen[kind], one))
        seen[kind] += 1
    ordered = [one for _, one in sorted(turns, key=lambda turn: turn[0])]
    return ordered[: max(1, round(scale * len(ordered)))]


def commands(value: str, base: Path, folder: str) -> list[Command]:
    """Return every command that a hostile name is tried in."""
    place = _place(value, base, Path(tempfile.mkdtemp(dir=folder)))
    model, data = ("--model", str(place.model)), ("--data", str(place.data))
    rows = [
        ["explain", "a good film", *model, "--set", f"{value}=1"],
        ["explain", "a good film", *model, "--method", "lime", "--set", f"samples={value}"],
        ["explain", "a good film", *model, "--method", "lime", "--set", f"lime.{value}=1"],
        ["explain", "a good film", *model, f"--{value}"],
        ["methods", *model],
        *([name, value] for name in ("methods", "metrics", "objectives", "datasets", "prompts")),
        [value],
        ["evaluate", *data, *model, "--method", "occlusion", "--format", "csv"],
        ["evaluate", *data, *model, "--method", "occlusion", "--by-outcome", "--set", "share=0.2"],
        ["evaluate", "--data", str(place.one_class), *model, "--method", "saliency", "--metric", "entropy"],
        ["evaluate", "--data", value, *model],
        ["evaluate", "--data", f"sst:{value}", *model],
        ["evaluate", *data, "--split", value, "--data-set", f"{value}=1"],
        ["compare", str(place.run), "--method", value, "--against", "random"],
        ["compare", str(place.run), "--method", f"no {value}"],
        ["compare", value, "--method", "lime"],
        ["report", str(place.run)],
        ["report", str(place.run), "--metric", value],
        ["report", value],
        ["recommend", *data, *model, "--budget", "1"],
        ["audit", *data, *model, "--budget", "1", "--out", str(place.run / "audit.html")],
        ["sanity", *data, *model, "--method", "saliency", "--levels", "head", "--draws", "1"],
        ["train", *data, "--objective", f"classification={value}", "--out", str(place.run / "trained")],
        ["tune", *data, "--search", f"{value}=1:2", "--out", str(place.run / "tuned")],
        ["train", *data, "--out", value, "--epochs", "0"],
        ["fit", value, *data, "--out", str(place.run / "fitted")],
        ["run", *data, *model, "--method", value, "--out", str(place.run / "corpus")],
        ["run", "--data", value, *model, "--method", "occlusion", "--out", str(place.run / "corpus")],
        ["verify", value],
        ["query", value, "select 1"],
        ["query", str(place.run), f"select '{value}"],
        ["export", value, "--to", "jsonl", "--out", str(place.run / "all.jsonl")],
        ["export", str(place.run), "--to", value, "--out", str(place.run / "all.jsonl")],
        ["serve", *data, *model, "--db", value],
        ["mcp", "--model", value],
    ]
    rows += [["explain", "a good film", *(() if option == "--model" else model), option, value] for option in OPTIONS]
    for name, options in ON_DATA.items():
        rest = [*data, *(["--out", str(place.run / name)] if name in {"train", "tune", "roar", "fit"} else [])]
        rest = ["aml", *rest] if name == "fit" else rest
        rows += [[name, *rest, option, value] for option in options]
    records = ("evaluate", *data, *model, "--method", "saliency", "--metric", "entropy", "--format", "json")
    pair = ("explain", f"a film {value}", "--pair", value, *model, "--target", "all", "--method", "saliency")
    return [
        *(Command(tuple(row)) for row in rows),
        Command(records, piped=True),
        Command(("explain", value, *model), own_lines=True),
        Command(pair, own_lines=True),
        Command((*pair, "--format", "html"), own_lines=True),
        Command((*pair, "--format", "json"), own_lines=True),
        Command((*pair, "--format", "json"), piped=True, own_lines=True),
    ]


def problems(command: Command) -> list[str]:
    """Run a command and say what is wrong with what it prints."""
    code, output = _printed(command)
    plain = COLOUR.sub("", output)
    found = [f"raw {hex(ord(c))}" for c in sorted({c for c in plain if _steers(c)})]
    found += ["a colour that is not ours"] if NOT_OURS.search(output) else []
    fakes = not command.own_lines and re.search("^FAKED", plain, flags=re.MULTILINE)
    found += ["faked line"] if fakes else []
    found += [f"exit code {code}"] if code not in CODES else []
    found += ["traceback"] if "Traceback (most recent" in plain else []
    bare = not command.own_lines and plain.count("m4rk") != plain.count("]m4rk[")
    found += ["markup was interpreted"] if bare or "\U0001f604" in plain else []
    return found


def _steers(character: str) -> bool:
    if character in "\n\t":
        return False
    return unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} or character in BIDI


def _printed(command: Command) -> tuple[int, str]:
    """Return the exit code of a command, and all that it prints to either stream."""
    with tempfile.TemporaryFile() as file, terminal() as (slave, seen):
        out = file.fileno() if command.piped else slave
        with streams(out, slave), patch.object(sys, "argv", ["whylight", *command.arguments]):
            try:
                run()
                code = 0
            except SystemExit as stopped:
                code = int(stopped.code or 0)
            except BaseException:  # noqa: BLE001  whatever it is, the interpreter would print it
                sys.stderr.write(traceback.format_exc())
                code = 1
        file.seek(0)
        piped = file.read()
    return code, (piped + bytes(seen)).decode("utf-8", errors="surrogateescape")


@contextmanager
def _quiet_surroundings() -> Iterator[None]:
    """Colours on, lines that are not wrapped, and no progress bar: it moves the cursor, and has a test of its own."""
    colourful: Mapping[str, str] = {"TERM": "xterm-256color", "COLUMNS": "30000"}
    with patch.dict(os.environ, colourful), patch("whylight.explaining.bar.PATIENCE", 3600.0):
        for name in ("NO_COLOR", "TTY_COMPATIBLE", "FORCE_COLOR"):
            os.environ.pop(name, None)
        yield


def _base(folder: Path) -> Path:
    """Save a tiny model that the others are copies of."""
    path = folder / "base"
    tiny.model("bert").save_pretrained(path)
    tiny.tokenizer("bert").save_pretrained(path)
    return path


def _place(value: str, base: Path, folder: Path) -> Place:
    """Write a model, data files and a run that carry a hostile name wherever a name can stand."""
    stem = value.replace("\x00", "").replace("/", "")[:60]  # what a file can be called
    model = folder / f"model {stem}"
    shutil.copytree(base, model)
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    labels = [f"{value} {number}" for number in range(2)]
    config |= {"id2label": dict(enumerate(labels)), "label2id": {label: n for n, label in enumerate(labels)}}
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    data, one_class = folder / f"data {stem}.jsonl", folder / f"one {stem}.jsonl"
    _write_data(data, value, labels)
    _write_data(one_class, value, labels[:1])
    path = folder / f"run {stem}"
    _write_run(path, value)
    return Place(model, data, one_class, path)


def _write_data(path: Path, value: str, labels: list[str]) -> None:
    rows = (
        {"id": f"{number} {value}", "text": text, "label": labels[number % len(labels)]}
        for number, text in enumerate(TEXTS)
    )
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _write_run(path: Path, value: str) -> None:
    """Write a run by hand, with the name for every text in it that can be one."""
    path.mkdir()
    value = value.encode("utf-8", errors="replace").decode()  # a table holds no halves of characters
    shared = {"run": value, "label": value, "target": 0, "correct": True, "settings": json.dumps({value: value})}
    written = []
    for number, text in enumerate(TEXTS):
        explanations, scores = [], []
        for place, method in enumerate((value, "random")):
            row = {**shared, "example_id": f"{number} {value}", "method": method, "score_space": "probability"}
            spans = {"parts": [0, 0], "starts": [0, 2], "ends": [1, len(text)], "scores": [0.1 * number, 0.5 - place]}
            receipt = {"unit": value, "remover": "mask", "probability": 0.9, "signed": True, "class_specific": True}
            cost = {"seconds": 0.1, "forward_passes": 3, "backward_passes": 0, "notes": [value]}
            explanations.append(upgraded({**row, "text": text, "pair": None, **spans, **receipt, **cost}))
            explanations[-1]["remover_settings"] = json.dumps({value: value})
            scores.append({**row, "metric": "comprehensiveness", "remover": "mask", "value": 0.5 - place + number})
        about = {"run": value, "number": number, "example_id": f"{number} {value}", "tuning": False}
        about |= {"status": "done", "reason": value}
        measured = {"rows_run": 1, "seconds": 1.0, "peak_megabytes": 1.0, "host": value}
        written.append(pages.page_of(about, {"explanations": explanations, "scores": scores}, measured))
    pages.write_parts(path, written)
    data = {"name": value, "split": value, "texts": len(TEXTS), "notes": [value]}
    runs.write_manifest(path, runs.Manifest(value, {"model": value, "data": data}))


def _shown(command: Command) -> str:
    return " ".join(ascii(one if len(one) < 200 else f"{one[:200]}...") for one in command.arguments)
