"""Train the small model of diagnosis codes that ships inside the package.

    make coder

PLM-CA over a small encoder, drawn at random, learns fifty codes from generated discharge notes, short and long ones
(`wl.dataset("discharge:")`). Its card says how well it codes notes that were never looked at, beside words alone, and
how far its evidence agrees with the phrases that the codes rest on. A stopped training goes on where it was.
"""

import argparse
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from encoders import small_encoder
from transformers import AutoTokenizer

import whylight as wl
from whylight.core.text import text_of
from whylight.data.dataset import Dataset
from whylight.explaining.case import open_case
from whylight.models.networks.plm_ca import PlmCaForSequenceClassification
from whylight.training.figures import multi_label
from whylight.views.classifier import Classifier

ROOT = Path(__file__).resolve().parent.parent
WORK, TARGET = ROOT / "build" / "coder", ROOT / "src" / "whylight" / "models" / "bundled" / "coder"
SHORT, LONG = 165, 900
"""Words of a note, about."""
LEARNT = {SHORT: 3000, LONG: 400}
FRESH = {SHORT: 500, LONG: 100}
CHOOSING, EVIDENCE = 300, 100
UNSEEN_SEED = 1
"""Of the notes that nothing was chosen by; those to learn from and to choose by have seed 0."""
NUMBERS = {"epochs": 10, "learning_rate": 1.5e-3, "batch_size": 8}
METHODS = (
    "attingrad",
    "attention",
    "input_x_gradient",
    "integrated_gradients",
    "decompx_linear",
    "lime[samples=500]",
    "occlusion",
)
CARD = """\
# Small coder of discharge notes

Says which of fifty ICD-10-CM-like codes an English discharge note has. It exists so that documents with many labels,
long documents and evidence can be tried, taught and tested without a download. Made by `make coder`.

| on notes that were never looked at | notes | micro F1 | macro F1 |
|---|---|---|---|
{classified}

Evidence, on {evidence} of these notes (words of each true code against the phrases that the code rests on; F1 of words
at a boundary that was tuned on {evidence} other notes):

| method | average precision | F1 |
|---|---|---|
{explained}

- {parameters:,} parameters, stored as float16: an encoder of 2 layers, 96 wide, with 4,000 word pieces of its own,
  which reads chunks of 128 tokens, and one attention per code over the whole note (PLM-CA, Edin et al. 2024).
- Data: {learnt:,} generated notes of about {short} words and {longer:,} of about {long}. Every sentence is the
  project's own; no patient's record is in it.
- {epochs} epochs, learning rate {learning_rate:g}, batches of {batch_size} notes; decision threshold {threshold:g}.
  Training takes about {minutes:.0f} minutes of one core.

Intended for demonstrations, teaching and tests of explanation methods. **Not for decisions about people**: it knows the
wordings of the generator, and nothing of real notes.
"""


def main() -> None:
    """Train the coder, store it with its card, and print the figures of what is stored."""
    parser = argparse.ArgumentParser(description="Train the bundled coder.")
    parser.add_argument("--out", type=Path, default=TARGET, help="folder to write")
    parser.add_argument("--work", type=Path, default=WORK, help="folder of the training")
    asked = parser.parse_args()
    data, dev = notes("train", LEARNT), notes("dev", {SHORT: CHOOSING})
    encoder = small_encoder(asked.work / "encoder", (text_of(one.example).text for one in data), seed=0)
    made = wl.train(encoder, data, dev, out=asked.work / "trained", architecture="plm_ca", **NUMBERS)
    store(made.folder, asked.out)
    minutes = next(one["train_runtime"] for one in made.receipt["history"] if "train_runtime" in one) / 60
    card = CARD.format(**_facts(asked.out, minutes=minutes))
    (asked.out / "README.md").write_text(card, encoding="utf-8")
    print(card)
    print("Bytes:", sum(path.stat().st_size for path in asked.out.iterdir()))


def notes(split: str, sizes: dict[int, int], *, seed: int = 0) -> Dataset:
    """Return notes of several lengths together."""
    parts = [
        wl.dataset("discharge:", split=split, size=size, length=length, seed=seed) for length, size in sizes.items()
    ]
    records = tuple(
        replace(one, id=f"{length}-{one.id}") for length, part in zip(sizes, parts, strict=True) for one in part
    )
    return replace(parts[0], records=records)


def store(made: Path, target: Path) -> None:
    """Write half-precision weights and the tokenizer, and move them to their place when they are complete."""
    new = target.with_name(f".making-{target.name}")
    shutil.rmtree(new, ignore_errors=True)
    PlmCaForSequenceClassification.from_pretrained(made, dtype=torch.float32).half().save_pretrained(new)
    AutoTokenizer.from_pretrained(made).save_pretrained(new)
    for path in new.iterdir():
        path.chmod(0o644)  # weights are saved readable by their owner only
    shutil.rmtree(target, ignore_errors=True)
    new.rename(target)


def _facts(folder: Path, *, minutes: float) -> dict[str, object]:
    """Measure what is stored."""
    coder = wl.load(folder)
    rows = []
    for length, size in FRESH.items():
        found = notes("test", {length: size}, seed=UNSEEN_SEED)
        given = np.asarray([open_case(coder, one.example).prediction.probabilities for one in found])
        gold = np.asarray([[float(name in one.labels) for name in found.label_names] for one in found])
        figures = multi_label(given, gold, threshold=coder.labels.threshold).values
        rows.append(f"| about {length} words | {size} | {figures['micro_f1']:.3f} | {figures['macro_f1']:.3f} |")
    return {
        **NUMBERS,
        "classified": "\n".join(rows),
        "explained": "\n".join(_explained(coder)),
        "evidence": EVIDENCE,
        "parameters": coder.model.num_parameters(),
        "learnt": LEARNT[SHORT],
        "longer": LEARNT[LONG],
        "short": SHORT,
        "long": LONG,
        "threshold": coder.labels.threshold,
        "minutes": minutes,
    }


def _explained(coder: Classifier) -> list[str]:
    """Hold the words that methods mark for true codes against the phrases of the generator."""
    found = wl.evaluate(
        coder,
        notes("test", {SHORT: EVIDENCE}, seed=UNSEEN_SEED),
        methods=METHODS,
        metrics=("average_precision", "token_f1"),
        tune=notes("dev", {SHORT: EVIDENCE}, seed=UNSEEN_SEED),
    )
    cells = {line.method: line.cells for line in found.summary.lines}
    return [
        f"| `{name}` | {cells[name]['average_precision'].mean:.3f} | {cells[name]['token_f1'].mean:.3f} |"
        for name in METHODS
    ]


if __name__ == "__main__":
    main()
