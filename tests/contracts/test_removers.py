"""Laws of removing, for every remover of every architecture."""

import copy
from typing import Any

import numpy as np
import pytest

import masked
import quick
import tiny
from whylight.core.arrays import Bools
from whylight.core.registry import REMOVERS
from whylight.models.load import load
from whylight.perturb.binding import bound
from whylight.testing import Untouched, check_remover, remover_checks
from whylight.views.meter import Meter
from whylight.views.tokens import TokenBatch, TokenWindow

BOTH = [(architecture, remover) for architecture in tiny.EVERY for remover in quick.removers(architecture)]
CHECKS = [(name, title) for name in REMOVERS.names() for title, _ in remover_checks(name)]
every_remover = pytest.mark.parametrize(("architecture", "remover"), BOTH)
TEXT, PAIR = "films, the plot drags nevers", "good acting"


def windows(architecture: str) -> list[tuple[TokenWindow, int]]:
    clf = quick.classifier(architecture)
    encodings = [quick.encode(clf, TEXT), quick.encode(clf, TEXT, PAIR), quick.encode(clf, f"{TEXT} " * 9)]
    return [(window, encoded.n_features) for encoded in encodings for window in encoded.windows]


def remove(remover: str, window: TokenWindow, keep: Bools) -> TokenBatch:
    found = bound(remover)(window, keep)
    assert found.weights is None
    assert isinstance(found.batch, TokenBatch)
    return found.batch


def coalitions(n: int) -> Bools:
    return np.random.default_rng(0).random((12, n)) < 0.5


@pytest.mark.parametrize(("remover", "title"), CHECKS)
def test_it_keeps_its_promise(remover: str, title: str) -> None:
    dict(remover_checks(remover, settings=masked.given(remover)))[title]()


@every_remover
def test_it_keeps_its_promises_on_windows_of_every_architecture(architecture: str, remover: str) -> None:
    check_remover(remover, windows=[Untouched(one, n, one.rows(one.ids[None])) for one, n in windows(architecture)])


@pytest.mark.parametrize("architecture", tiny.EVERY)
def test_an_architecture_has_the_removers_that_its_tokens_allow_and_the_first_is_mask_else_unk(
    architecture: str,
) -> None:
    assert quick.classifier(architecture).removers == (*quick.removers(architecture), "infill")
    assert quick.removers(architecture)[0] == ("unk" if architecture == "llama" else "mask")


@every_remover
def test_keeping_none_leaves_no_content(architecture: str, remover: str) -> None:
    for window, n in windows(architecture):
        content = window.feature >= 0
        rows = remove(remover, window, np.zeros((1, n), dtype=bool))
        length = rows.lengths[0]
        if remover == "delete":
            assert rows.ids[0, :length].tolist() == window.ids[~content].tolist()
        elif remover == "zero":
            assert rows.zeroed is not None
            assert rows.zeroed[0].tolist() == content.tolist()
        else:
            token = getattr(quick.classifier(architecture).tokenizer, f"{remover}_token_id")
            assert set(rows.ids[0, content].tolist()) == {token}
            assert length == len(window.ids)


@every_remover
def test_what_stays_is_untouched_and_special_tokens_always_stay(architecture: str, remover: str) -> None:
    for window, n in windows(architecture):
        keep = coalitions(n)
        rows = remove(remover, window, keep)
        for row, mask in enumerate(keep):
            kept = np.asarray([owner < 0 or mask[owner] for owner in window.feature])
            length = rows.lengths[row]
            if remover == "delete":
                assert length == kept.sum()
                assert rows.ids[row, :length].tolist() == window.ids[kept].tolist()
                assert rows.types[row, :length].tolist() == window.types[kept].tolist()
                continue
            assert length == len(window.ids)
            assert (rows.ids[row] == window.ids)[kept].all()
            assert (rows.types[row] == window.types).all()
            if remover == "zero":
                assert rows.zeroed is not None
                assert rows.zeroed[row].tolist() == (~kept).tolist()
            else:
                assert len(set(rows.ids[row][~kept].tolist())) <= 1


def test_deleting_shortens_by_the_tokens_of_the_word() -> None:
    (window,) = quick.encode(quick.classifier("bert"), "films drags").windows
    rows = remove("delete", window, ~np.eye(2, dtype=bool))
    assert (len(window.ids) - rows.lengths).tolist() == [2, 1]


def test_zero_means_an_embedding_of_zero() -> None:
    clf = quick.classifier("bert")
    encoded = quick.encode(clf, "good plot drags")
    view = clf.gradient_view(encoded, quick.request(clf))
    point = view.inputs.clone()
    point[2] = 0
    found = clf.outcomes(encoded, removal=bound("zero"), cache={}, meter=Meter())(np.asarray([[True, False, True]]))[0]
    np.testing.assert_allclose(found, view.score(point), rtol=1e-5)


def test_a_model_without_any_replacement_token_deletes() -> None:
    tokenizer = copy.deepcopy(tiny.tokenizer("llama"))
    tokenizer.unk_token = None
    clf = load(tiny.model("llama"), tokenizer)
    assert clf.removers == ("delete", "zero", "infill")
    assert quick.run(clf, quick.TEXT, "integrated_gradients").provenance.settings["baseline"] == "zero"


def count_rows(clf: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    quick.tried(clf, "occlusion", "kernel_shap")
    forward, sizes = clf.engine._forward, list[int]()

    def counted(rows: TokenBatch) -> Any:
        sizes.append(len(rows))
        return forward(rows)

    monkeypatch.setattr(clf.engine, "_forward", counted)
    return sizes


@pytest.mark.parametrize("remover", ["mask", "delete", "zero"])
def test_each_distinct_row_is_computed_once(remover: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clf = quick.warm(tiny.classifier("bert"))
    sizes = count_rows(clf, monkeypatch)
    encoded = quick.encode(clf, "good plot drags")
    cache: dict[bytes, Any] = {}
    meter = Meter()
    outcomes = clf.outcomes(encoded, removal=bound(remover), cache=cache, meter=meter)
    keep = np.asarray([[1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 0]], dtype=bool)
    first = outcomes(keep)
    assert sum(sizes) == 2
    assert meter.forward_passes == 2
    assert (first[0] == first[1]).all()
    assert (first[0] == first[3]).all()
    outcomes(keep[::-1])
    assert sum(sizes) == 2


def test_deleting_either_of_two_equal_neighbours_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = quick.warm(tiny.classifier("bert"))
    sizes = count_rows(clf, monkeypatch)
    explanation = quick.run(clf, "very very good", "occlusion", remover="delete")
    assert sum(sizes) == 3
    assert explanation.provenance.forward_passes == 3
    assert explanation.scores[0, 0] == explanation.scores[0, 1]


def test_methods_of_one_text_share_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = quick.warm(tiny.classifier("bert"))
    sizes = count_rows(clf, monkeypatch)
    found = tiny_explain(clf, "good plot drags", ["occlusion", "kernel_shap"])
    assert sum(sizes) == 2**3
    assert [e.provenance.forward_passes for e in found] == [4, 8]


def test_batches_hold_at_most_the_token_budget_and_no_padding_beyond_the_longest() -> None:
    clf = tiny.classifier("bert")
    clf.engine.budget = 40
    forward, shapes = clf.engine._forward, []

    def recorded(rows: TokenBatch) -> Any:
        shapes.append(rows.ids.shape)
        assert rows.ids.shape[1] == rows.lengths.max()
        return forward(rows)

    clf.engine._forward = recorded
    quick.run(clf, "good plot but the ending drags", "kernel_shap", remover="delete")
    assert max(rows * width for rows, width in shapes) <= 40
    assert max(rows for rows, _ in shapes) > 5


def tiny_explain(clf: Any, text: str, methods: list[str]) -> Any:
    from whylight.explaining.explain import explain  # noqa: PLC0415

    return explain(clf, text, method=methods)
