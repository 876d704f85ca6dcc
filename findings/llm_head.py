"""A LoRA head for SmolLM2: the model as a sequence classifier, of which a thousandth of the weights is trained."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import smollm2
import torch

import whylight as wl
from whylight.data.dataset import Dataset
from whylight.views.classifier import Classifier

TEXTS, EPOCHS, BATCH, RATE, RANK = 2000, 3, 16, 5e-4, 8
TARGETS = ["q_proj", "v_proj"]


def loaded(folder: Path, data: Dataset) -> Classifier:
    """Return the classifier, trained unless it is there."""
    if not (folder / "adapter_config.json").is_file():
        _train(folder, data)
    return wl.load(folder, labels=data.label_names)


def _train(folder: Path, data: Dataset) -> None:
    import peft  # noqa: PLC0415  not needed where the head is there
    from transformers import AutoModelForSequenceClassification, AutoTokenizer  # noqa: PLC0415

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(smollm2.folder())
    options = {"num_labels": len(data.label_names), "pad_token_id": tokenizer.pad_token_id}
    base = AutoModelForSequenceClassification.from_pretrained(smollm2.folder(), dtype=torch.float32, **options)
    settings = peft.LoraConfig(task_type="SEQ_CLS", r=RANK, lora_alpha=2 * RANK, target_modules=TARGETS)
    model = peft.get_peft_model(base, settings)
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer, steps = torch.optim.AdamW(trained, lr=RATE), EPOCHS * -(-len(data) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, steps)
    model.train()
    for number, rows in enumerate(_batches(data)):
        loss = model(**_inputs(tokenizer, data, rows)).loss
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if number % 25 == 0:
            print(f"head: step {number} of {steps}, loss {float(loss):.3f}", flush=True)
    made = folder.with_name(f"{folder.name}-new")
    shutil.rmtree(made, ignore_errors=True)
    model.save_pretrained(made)
    tokenizer.save_pretrained(made)
    made.rename(folder)  # whole, or not there


def _batches(data: Dataset) -> Any:
    random = np.random.default_rng(0)
    for _ in range(EPOCHS):
        order = random.permutation(len(data))
        yield from (order[start : start + BATCH] for start in range(0, len(order), BATCH))


def _inputs(tokenizer: Any, data: Dataset, rows: Any) -> dict[str, torch.Tensor]:
    records = [data.records[i] for i in rows]
    given = dict(tokenizer([one.example.text for one in records], padding=True, return_tensors="pt"))
    given["labels"] = torch.tensor([data.label_names.index(one.labels[0]) for one in records])
    return given
