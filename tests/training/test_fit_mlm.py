"""Fitting a masked language model: what is hidden and learnt, resumption, the command line and refusals."""

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

import masked
import tiny
import whylight as wl
from whylight.cli.main import run as command_line
from whylight.core.errors import InputError, ModelError, SettingError
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.models.masked import read_masked
from whylight.models.quiet import quiet
from whylight.training.fit_mlm import MlmTrainer, hidden_logits
from whylight.training.hiding import Hiding, stretches

QUICK: dict[str, Any] = {"epochs": 2, "batch_size": 4, "learning_rate": 3e-3, "progress": False}
PAIRS = (("good", "film"), ("bad", "movie"), ("dull", "plot"), ("great", "ending"))


def texts(split: str, count: int) -> Dataset:
    """Texts in which the first word says what the second is."""
    words = ["the", "a", "very", "it"]
    fillers = product(words if split == "train" else words[::-1], repeat=4)  # from either end: none is shared
    found = []
    for number, filler in zip(range(count), fillers, strict=False):
        pair = " ".join(PAIRS[number % len(PAIRS)])
        found.append(Record(f"{split}{number}", Text(f"{pair} {pair} {' '.join(filler)}"), (), {}))
    return Dataset("pairs", split, (), tuple(found))


@pytest.fixture
def start(tmp_path: Path) -> Path:
    with quiet():
        masked.network().save_pretrained(tmp_path / "start")
        tiny.tokenizer("bert").save_pretrained(tmp_path / "start")
    return tmp_path / "start"


def fit(start: Path, out: Path, **options: Any) -> Any:
    return wl.fit_mlm(start, texts("train", 24), texts("dev", 8), out=out, **{**QUICK, **options})


def test_stretches_hold_every_token_once_between_the_special_tokens() -> None:
    tok = tiny.tokenizer("bert")
    long = Dataset("one", "train", (), (Record("a", Text("the film was good but " * 9, "a dull plot"), (), {}),))
    found = stretches(long, tok, limit=12)
    assert max(len(one.ids) for one in found) == 12
    assert all(one.ids[0] == tok.cls_token_id and one.ids[-1] == tok.sep_token_id for one in found)
    whole = [tok(part, add_special_tokens=False)["input_ids"] for part in long.records[0].example.parts]
    assert np.concatenate([one.ids[one.content] for one in found]).tolist() == [*whole[0], *whole[1]]


def test_a_share_of_the_tokens_is_hidden_most_of_them_by_the_mask_token() -> None:
    tok = tiny.tokenizer("bert")
    items = stretches(texts("train", 200), tok, limit=64)
    hide = Hiding(tok.mask_token_id, tok.pad_token_id, len(tok), 0.25)
    torch.manual_seed(0)
    found = hide(items)
    tokens = found["input_ids"][found["rows"], found["at"]]
    assert abs(len(tokens) / sum(len(one.content) for one in items) - 0.25) < 0.05
    assert abs(float((tokens == tok.mask_token_id).float().mean()) - 0.8) < 0.06
    assert abs(float((tokens == found["wanted"]).float().mean()) - 0.1) < 0.06
    kept = torch.ones_like(found["input_ids"], dtype=torch.bool)
    kept[found["rows"], found["at"]] = False
    plain = torch.full_like(found["input_ids"], tok.pad_token_id)
    for row, one in enumerate(items):
        plain[row, : len(one.ids)] = torch.as_tensor(one.ids)
    assert torch.equal(found["input_ids"][kept], plain[kept])
    assert torch.equal(plain[found["rows"], found["at"]], found["wanted"])
    both = [hide(items, torch.Generator().manual_seed(3)) for _ in range(2)]
    assert torch.equal(both[0]["input_ids"], both[1]["input_ids"])
    assert (both[0]["input_ids"][both[0]["rows"], both[0]["at"]] == tok.mask_token_id).all()


def test_the_loss_is_that_of_transformers() -> None:
    own, tok = masked.network(), tiny.tokenizer("bert")
    batch = Hiding(tok.mask_token_id, tok.pad_token_id, len(tok), 0.3)(
        stretches(texts("dev", 6), tok, limit=64), torch.Generator().manual_seed(0)
    )
    labels = torch.full_like(batch["input_ids"], -100)
    labels[batch["rows"], batch["at"]] = batch["wanted"]
    with torch.no_grad():
        expected = own(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        found = torch.nn.functional.cross_entropy(hidden_logits(own, batch), batch["wanted"])
    torch.testing.assert_close(found, expected)


@pytest.mark.usefixtures("drawn")
@pytest.mark.slow
def test_it_learns_what_stands_where(tmp_path: Path) -> None:
    torch.manual_seed(0)
    start = tmp_path / "fresh"
    with quiet():
        AutoModelForMaskedLM.from_config(tiny.config("bert")).save_pretrained(start)
        tiny.tokenizer("bert").save_pretrained(start)
    asked = {**QUICK, "epochs": 12, "batch_size": 8, "hidden_share": 0.3}
    found = wl.fit_mlm(start, texts("train", 160), texts("dev", 16), out=tmp_path / "out", **asked)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "training.json", "curves.svg"} <= names
    receipt = json.loads((tmp_path / "out" / "training.json").read_text())
    assert receipt == found.receipt
    first = next(one for one in receipt["history"] if "eval_masked_loss" in one)
    assert receipt["validation"]["masked_loss"] < 0.6 * first["eval_masked_loss"]
    assert receipt["notes"] == []
    own = read_masked(str(tmp_path / "out"))
    tok = own.tokenizer
    for word, _ in PAIRS:
        row = tok(f"{word} [MASK] {word} [MASK] the a it the", return_tensors="pt")
        with torch.no_grad():
            logits = own.model(**row).logits[0, 2]
        assert tok.convert_ids_to_tokens(int(logits.argmax())) in {second for _, second in PAIRS}


def test_a_stopped_fit_goes_on_and_ends_where_an_uninterrupted_one_does(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fit(start, tmp_path / "whole")
    real, steps = MlmTrainer.compute_loss, []

    def failing(self: Any, *arguments: Any, **options: Any) -> Any:
        steps.append(1)
        if len(steps) == 8:  # in the second epoch of six steps each
            raise KeyboardInterrupt
        return real(self, *arguments, **options)

    monkeypatch.setattr(MlmTrainer, "compute_loss", failing)
    with pytest.raises(KeyboardInterrupt):
        fit(start, tmp_path / "part")
    again = fit(start, tmp_path / "part")
    assert len(steps) == 8 + 6
    weights = [(one.folder / "model.safetensors").read_bytes() for one in (whole, again)]
    assert weights[0] == weights[1]
    assert fit(start, tmp_path / "part").receipt == again.receipt
    with pytest.raises(InputError, match="epochs"):
        fit(start, tmp_path / "part", epochs=3)


def test_an_encoder_gets_a_head_and_the_receipt_says_so(tmp_path: Path) -> None:
    with quiet():
        tiny.model("bert").save_pretrained(tmp_path / "classifier")
        tiny.tokenizer("bert").save_pretrained(tmp_path / "classifier")
    found = fit(tmp_path / "classifier", tmp_path / "out", epochs=1)
    assert found.receipt["notes"] == ["its head is new: the folder holds an encoder alone"]
    read_masked(str(found.folder))
    with quiet():
        tiny.tokenizer("llama").save_pretrained(tmp_path / "classifier")
    with pytest.raises(ModelError, match="no mask token"):
        fit(tmp_path / "classifier", tmp_path / "other")


def test_the_command_line_fits_one_and_fills_with_it(
    start: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    for split, count in (("train", 12), ("dev", 4)):
        rows = [{"text": one.example.parts[0], "label": "a"} for one in texts(split, count)]
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def spoken(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["whylight", *arguments])
        with pytest.raises(SystemExit) as stopped:
            command_line()
        said = capsys.readouterr()
        return int(stopped.value.code or 0), " ".join((said.out + said.err).split())

    asked = ["fit", "mlm", "--model", str(start), "--data", str(tmp_path / "train.jsonl"), "--dev"]
    asked += [str(tmp_path / "dev.jsonl"), "--epochs", "1", "--out", str(tmp_path / "out")]
    code, said = spoken(*asked)
    assert code == 0
    assert "hidden tokens" in said
    code, said = spoken("explain", "a good film", "--remover", "infill", "--method", "occlusion", "--set", "top=x")
    assert code == 2
    filled = ["explain", "a good film", "--remover", "infill", "--method", "occlusion", "--format", "json"]
    code, said = spoken(*filled, "--set", f"infill.model={tmp_path / 'out'}", "--set", "infill.top=3")
    assert code == 0
    assert json.loads(said)["remover_settings"]["top"] == 3
    for wrong, why in (
        (["--metric", "sufficiency"], "--metric is of a network"),
        (["--set", "hidden_share=2"], "below 1"),
        (["--prompt", "sentiment"], "--prompt is of a network"),
    ):
        code, said = spoken(*asked, *wrong)
        assert code == 2
        assert why in said


def test_numbers_that_cannot_be_are_refused(start: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="'epochs' must be above 0"):
        fit(start, tmp_path / "out", epochs=0)
    with pytest.raises(SettingError, match="unknown setting of a fit 'epoch'"):
        fit(start, tmp_path / "out", epoch=1)
    for tokens in (-1, 0, 2):
        with pytest.raises(SettingError, match=rf"'max_tokens' must be at least 3, not {tokens}"):
            fit(start, tmp_path / "out", max_tokens=tokens)
    nothing = Dataset("odd", "dev", (), (Record("0", Text("\x00"), ()),))  # BERT's tokenizer leaves nothing of it
    with pytest.raises(InputError, match=r"leaves nothing of 'odd' \(dev\)"):
        wl.fit_mlm(start, texts("train", 8), nothing, out=tmp_path / "out", **QUICK)
    with pytest.raises(InputError, match="training texts are in the validation data too"):
        wl.fit_mlm(start, texts("dev", 8), texts("dev", 8), out=tmp_path / "out", **QUICK)
    assert not (tmp_path / "out").exists()
