"""A small vision transformer on Fashion-MNIST, and how methods explain it.

    python findings/fashion.py            all of it; the data are Debian's package dataset-fashion-mnist
    python findings/fashion.py quick      three pictures, and a network that is trained for some steps only

Pictures are of 28 pixels, and patches of 4. The network is trained here, from nothing, and must reach 88 %. Measured as
in `pictures.py`, where they are of 224 pixels: what differs there need not differ on so small ones.
"""

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from document import WORK, Table, preview, put
from numpy.typing import NDArray
from picture_tables import FAITHFUL, comparison_tables, rows_of
from pictures import measured
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import ViTConfig, ViTForImageClassification

import whylight as wl
from whylight.data.dataset import Dataset, Record

DATA, PACKAGE = Path("/usr/share/datasets/fashion-mnist"), "dataset-fashion-mnist"
NAMES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
MARC = "marc[preset=vit]"
METHODS = (
    MARC,
    "occlusion",
    "meaningful_perturbation",
    "grad_cam",
    "saliency",
    "input_x_gradient",
    "integrated_gradients[steps=100]",
    "attention",
    "attention_rollout",
    "attention_attribution",
    "transition_attention_maps",
)
PICTURES, FEW = 100, 3
EPOCHS, BATCH, RATE, LEAST = 12, 128, 1e-3, 0.88
SIZES = {"hidden_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 192}
Bytes = NDArray[np.uint8]


def main() -> None:
    """Train, measure, and put the tables into the document."""
    asked = argparse.ArgumentParser()
    asked.add_argument("size", nargs="?", choices=["quick"])
    quick = asked.parse_args().size is not None
    torch.set_num_threads(1)
    place = WORK / ("fashion-quick" if quick else "fashion")
    test, labels = read("t10k")
    model = trained(place / "model", steps=20 if quick else None)
    right = accuracy(model, test, labels)
    if not quick and right < LEAST:
        raise SystemExit(f"the network is right on {right:.1%} of the test pictures, and must be on {LEAST:.0%}")
    clf = wl.load(model, prepare, labels=list(NAMES))
    chosen = np.random.default_rng(0).permutation(len(test))[: FEW if quick else PICTURES]
    data = Dataset("fashion", "test", NAMES, tuple(_record(test[i], int(labels[i]), int(i)) for i in chosen))
    run = measured(clf, data, METHODS, FAITHFUL, place / "run")  # type: ignore[arg-type]
    tables = {
        "accuracy": Table(["pictures", "accuracy"], [[f"{len(test):,}", f"{right:.3f}"]]),
        **comparison_tables({"Fashion-MNIST": rows_of(run)}, MARC),
    }
    (preview if quick else put)("fashion", tables)


def read(split: str) -> tuple[Bytes, Bytes]:
    """Read pictures `[n, 28, 28]` and their labels."""
    if not DATA.is_dir():
        raise SystemExit(f"there is no folder {DATA}; it comes with Debian's package: apt-get install {PACKAGE}")
    pictures = gzip.decompress((DATA / f"{split}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((DATA / f"{split}-labels-idx1-ubyte.gz").read_bytes())
    return np.frombuffer(pictures, np.uint8, offset=16).reshape(-1, 28, 28), np.frombuffer(labels, np.uint8, offset=8)


def prepare(picture: Any) -> Tensor:
    """Make the network's input, with colours from -1 to 1."""
    return (torch.as_tensor(np.asarray(picture.convert("RGB")).copy()).permute(2, 0, 1) / 255 - 0.5) / 0.5


def trained(place: Path, *, steps: int | None) -> Any:
    """Train the network, or read it, if it is there."""
    if (place / "config.json").is_file():
        return ViTForImageClassification.from_pretrained(place).eval()
    torch.manual_seed(0)
    model = ViTForImageClassification(ViTConfig(num_labels=len(NAMES), image_size=28, patch_size=4, **SIZES)).train()
    pictures, labels = read("train")
    total = EPOCHS * len(pictures) // BATCH if steps is None else steps
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=total, pct_start=0.1)
    for number, some in enumerate(_batches(len(pictures), total)):
        loss = cross_entropy(model(_inputs(pictures[some], flip=True)).logits, torch.as_tensor(labels[some]).long())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if number % 100 == 0:
            print(f"step {number:,} of {total:,}: loss {float(loss.detach()):.3f}", flush=True)
    model.eval().save_pretrained(place)
    return model


def accuracy(model: Any, pictures: Bytes, labels: Bytes) -> float:
    """Return the share of pictures that the network is right about."""
    with torch.inference_mode():
        found = [model(_inputs(part)).logits.argmax(-1).numpy() for part in np.array_split(pictures, 40)]
    return float((np.concatenate(found) == labels).mean())


def _batches(count: int, total: int) -> Iterator[NDArray[np.int64]]:
    generator, order = np.random.default_rng(0), np.empty(0, dtype=np.int64)
    for _ in range(total):
        if len(order) < BATCH:
            order = generator.permutation(count)
        yield order[:BATCH]
        order = order[BATCH:]


def _inputs(pictures: Bytes, *, flip: bool = False) -> Tensor:
    """Make inputs; clothes may be turned round."""
    values = torch.as_tensor(pictures.copy(), dtype=torch.float32)[:, None].repeat(1, 3, 1, 1) / 255
    if flip:
        turned = torch.rand(len(values)) < 0.5
        values[turned] = values[turned].flip(-1)
    return (values - 0.5) / 0.5


def _record(picture: Bytes, label: int, number: int) -> Record:
    return Record(str(number), wl.image(picture, name=f"{NAMES[label]} {number}"), (NAMES[label],))


if __name__ == "__main__":
    main()
