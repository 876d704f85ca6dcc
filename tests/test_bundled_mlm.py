"""The bundled masked language model: it is small, and fills blanks out of the box."""

import numpy as np
import pytest

import whylight as wl
from whylight.models.bundled_start import BUNDLED, MASKED, MASKED_NAME
from whylight.models.masked import read_masked

LARGEST = 28_000_000


def test_it_is_small_and_reads_the_tokens_of_the_bundled_classifier() -> None:
    assert sum(path.stat().st_size for path in MASKED.iterdir()) <= LARGEST
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (MASKED / name).read_bytes() == (BUNDLED / name).read_bytes()
    card = (MASKED / "README.md").read_text(encoding="utf-8")
    assert "this model" in card
    assert "between its two neighbours" in card


def test_infill_works_out_of_the_box_and_says_what_it_asked() -> None:
    found = wl.explain(wl.load(), "A gripping, moving film.", method="occlusion", remover="infill")
    receipt = found.provenance
    assert receipt.remover_settings["model"] == MASKED_NAME
    assert receipt.score == "log_odds"
    assert not any("film reviews" in note for note in receipt.notes)  # it is of the classifier's own language
    assert np.abs(found.scores).max() > 0.1


def test_another_model_is_told_that_it_knows_film_reviews() -> None:
    model = wl.load(lambda texts: [[0.3, 0.7]] * len(texts), labels=["a", "b"], identity="rule")
    found = wl.explain(model, "the film was good", method="occlusion", remover="infill")
    assert any(f"written by {MASKED_NAME}, which knows English film reviews" in note for note in found.provenance.notes)
    kept = wl.explain(model, "the film was good", method="occlusion", remover="delete")
    assert not any(MASKED_NAME in note for note in kept.provenance.notes)


@pytest.mark.parametrize(
    ("text", "likely"), [("this is a very [MASK] film", "good"), ("one of the [MASK] movies", "best")]
)
def test_it_knows_the_language_of_film_reviews(text: str, likely: str) -> None:
    import torch  # noqa: PLC0415

    own = read_masked(MASKED_NAME)
    row = own.tokenizer(text, return_tensors="pt")
    at = int((row["input_ids"][0] == own.tokenizer.mask_token_id).nonzero()[0])
    with torch.no_grad():
        best = own.model(**row).logits[0, at].topk(10).indices.tolist()
    assert likely in own.tokenizer.convert_ids_to_tokens(best)
