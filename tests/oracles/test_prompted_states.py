"""What a model keeps of a row: scores are those of plain calls, whatever it is and however long rows are."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from transformers import MambaConfig, MambaForCausalLM, MistralConfig, MistralForCausalLM, Phi3Config, Phi3ForCausalLM

import tiny
import whylight as wl
from prompting import LIMIT, ONE, SEVERAL, TEXT, asked, language_model, prompted
from whylight.core.errors import IncompatibleError
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.models.prefixes import Prefixes
from whylight.perturb.binding import bound
from whylight.testing.tiny import enlarge
from whylight.views.classifier import Request
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.meter import Meter

WINDOW = 64
"""More than the texts have that a model is tried on, with their prompt."""
LONG = " ".join([TEXT] * 7)


def built(kind: str) -> Any:
    size = len(tiny.tokenizer("llama"))
    torch.manual_seed(0)
    sizes = {**tiny.SIZES, "vocab_size": size}
    if kind == "mistral":
        config = MistralConfig(**sizes, num_key_value_heads=2, max_position_embeddings=LIMIT, sliding_window=WINDOW)
        return enlarge(MistralForCausalLM(config)).eval()
    if kind == "mamba":
        return enlarge(MambaForCausalLM(MambaConfig(vocab_size=size, hidden_size=32, num_hidden_layers=2))).eval()
    factors = {"short_factor": [1.0] * 8, "long_factor": [3.0] * 8, "factor": 3.0}
    positions = {"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 70, **factors}
    ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "original_max_position_embeddings": 70}
    sizes |= {**ends, "num_key_value_heads": 2, "max_position_embeddings": LIMIT}
    config = Phi3Config(**sizes, rope_parameters=positions)
    return enlarge(Phi3ForCausalLM(config)).eval()


def tokenizer() -> Any:
    found = copy.deepcopy(tiny.tokenizer("llama"))
    found.model_max_length = LIMIT
    return found


def loaded(kind: str, answers: dict[str, str] = SEVERAL, **options: Any) -> Any:
    return wl.load(built(kind), tokenizer(), prompt=asked(answers, **options))


def by_hand(clf: Any, ids: list[int]) -> list[float]:
    """Return the mean log-probability of each answer, by one plain call each on no more than what must be read."""
    found = []
    for answer in clf.network.answers:
        own = answer.tolist()
        with torch.no_grad():
            logits = clf.model(input_ids=torch.tensor([ids + own[:-1]])).logits[0, -len(own) :].double()
        found.append(float(logits.log_softmax(-1)[range(len(own)), own].mean()))
    return found


def apart(clf: Any, text: str = LONG) -> float:
    """Return how far one batch of rows of many lengths is from plain calls."""
    encoded = clf.encode(Text(text), unit="word", long="truncate")
    (window,) = encoded.windows
    keep = np.ones((6, encoded.n_features), dtype=bool)
    for row in range(6):
        keep[row, 2 : 2 + 7 * row] = False
    rows = bound("delete")(window, keep).batch
    assert len(set(rows.lengths.tolist())) == len(rows)
    with torch.inference_mode():
        found = clf.network.label_logits(rows, head="softmax", identity="it")
    expected = [by_hand(clf, rows.ids[i, : rows.lengths[i]].tolist()) for i in range(len(rows))]
    return float(np.abs(found - np.asarray(expected)).max())


def test_rows_beyond_a_sliding_window_may_share_a_batch() -> None:
    clf = loaded("mistral")
    assert clf.company == "any"
    assert apart(clf) < 1e-5
    assert clf.network._prefixes.proven > WINDOW


def test_gradients_beyond_a_sliding_window_are_those_of_the_score() -> None:
    ex = wl.explain(loaded("mistral"), LONG, method="integrated_gradients", steps=200, long="truncate")
    assert max(ex.provenance.completeness_gap) < 1e-2


def test_no_more_is_read_than_where_positions_are_the_same_in_every_row() -> None:
    clf = loaded("phi3")
    assert clf.network.whole == 70
    assert apart(clf) < 1e-5


def test_double_precision_is_kept() -> None:
    clf = wl.load(language_model().double(), tokenizer(), prompt=asked(SEVERAL))
    assert apart(clf, TEXT * 6) < 1e-12


def test_a_model_that_keeps_no_tokens_is_asked_plainly() -> None:
    clf = loaded("mamba")
    assert apart(clf) < 1e-5
    assert not clf.network._prefixes.usable
    assert np.isfinite(wl.explain(clf, TEXT, method="occlusion").scores).all()
    assert "no keys and values" in str(wl.compatible(clf)["saliency"])
    with pytest.raises(IncompatibleError, match="use answers of one token each"):
        wl.explain(clf, TEXT, method="saliency")
    one = loaded("mamba", ONE)
    assert np.abs(wl.explain(one, TEXT, method="saliency").scores).max() > 0


def test_a_model_that_keeps_no_tokens_writes_what_transformers_writes() -> None:
    model = built("mamba")
    model.generation_config.eos_token_id = model.config.eos_token_id = None
    clf = wl.load(model, tokenizer(), prompt=asked({}, template="the film {text} the plot was", shots=(), length=4))
    case = open_case(clf, Text(TEXT))
    row = torch.from_numpy(case.encoded.windows[0].ids)[None]
    with torch.no_grad():
        for _ in range(4):
            row = torch.cat([row, model(input_ids=row).logits[:, -1:].argmax(-1)], dim=1)
    own = case.classifier.network.answers[0].tolist()
    assert own == row[0, -4:].tolist()[: len(own)]
    assert Game in case.classifier.offers


def test_states_that_go_wrong_beyond_some_length_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clf, keep = prompted(), Prefixes.keep

    def wrong(self: Prefixes, ids: Any, cache: Any) -> None:
        keep(self, ids, cache)
        for keys, _ in (states for root in self._roots[:1] if len(root.ids) > 60 for states in root.states):
            keys.mul_(1.5)

    monkeypatch.setattr(Prefixes, "keep", wrong)
    expected = wl.explain(prompted(), LONG, method="occlusion").scores
    wl.explain(clf, TEXT, method="occlusion")
    assert clf.network._prefixes.proven
    assert np.abs(wl.explain(clf, LONG, method="occlusion").scores - expected).max() < 1e-5
    assert not clf.network._prefixes.usable


def test_what_is_taken_off_is_read_without_the_points_of_a_view() -> None:
    clf = prompted(calibration="contextual")
    request = Request(tuple(clf.labels.target(number) for number in range(2)), "logit")
    encoded = clf.encode(Text(TEXT), unit="word", long="refuse")
    view = clf.offers[GradientView](encoded, request)  # nothing has been asked of the model yet
    found = view.scores(1, lambda _indices: view.inputs[None])[0]
    outcomes = prompted(calibration="contextual").outcomes(encoded, removal=bound("neutral"), cache={}, meter=Meter())
    assert np.abs(found.numpy() - outcomes(np.ones((1, encoded.n_features), dtype=bool))[0]).max() < 1e-5


def test_the_receipt_says_how_answers_of_several_tokens_are_scored() -> None:
    said = [
        " ".join(wl.explain(prompted(answers=own), TEXT, method="occlusion").provenance.notes) for own in (ONE, SEVERAL)
    ]
    assert "log-probability" not in said[0]
    assert "mean log-probability of the tokens of its answer (positive: 3, negative: 1, neither: 2)" in said[1]
