"""Starting up: the first `whylight explain` beside what it cannot do without, and help beside Python itself.

The bare process imports torch and transformers, reads the bundled model with them, and classifies the text once.
"""

import subprocess
import sys

from clock import Result, at_most, for_orientation, take_turns
from subjects import SENTENCES

from whylight.models.bundled_start import BUNDLED

BARE = """
import torch, transformers
from transformers import AutoModelForSequenceClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained({folder!r})
model = AutoModelForSequenceClassification.from_pretrained({folder!r})
with torch.inference_mode():
    print(model(**tokenizer({text!r}, return_tensors="pt")).logits)
"""
WHYLIGHT = ("-m", "whylight")


def startup() -> list[Result]:
    """Time whole processes, in turns; the first round fills caches, and is not counted."""
    bare = ("-c", BARE.format(folder=str(BUNDLED), text=SENTENCES[0]))
    commands = [bare, (*WHYLIGHT, "explain", SENTENCES[0]), ("-c", "pass"), (*WHYLIGHT, "--help")]
    turns = take_turns([lambda command=command: _run(*command) for command in commands])
    one, other, nothing, helped = map(turns.median, range(len(commands)))
    return [
        at_most("first explain / bare process", turns.ratio(1, 0), 1.15, f"{other:.2f} s, {one:.2f} s"),
        for_orientation("seconds of --help", helped, f"of which Python {nothing:.2f} s"),
    ]


def _run(*command: str) -> None:
    subprocess.run([sys.executable, *command], check=True, capture_output=True)  # noqa: S603  our own commands
