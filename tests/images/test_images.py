"""Pictures are explained, measured, stored and drawn by what texts are; answers are known from formulas."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter

import whylight as wl
from images.pictures import SIDE, Curved, Linear, classifier, normalise, picture, prepare, weights
from whylight.core.errors import IncompatibleError, InputError, ModelError, SettingError
from whylight.core.explanation import Explanation
from whylight.core.image import Box, Division, Image
from whylight.core.rationale import Rationale
from whylight.data.dataset import Dataset, Record
from whylight.explaining.removing import chosen_removal
from whylight.methods._pull import grid_of
from whylight.models.images import ImageClassifier
from whylight.store import runs
from whylight.store.explanations import explanation_of, row_of
from whylight.views.meter import Meter

PIXELS = SIDE * SIDE
BACKGROUNDS = ("blur", "mean", "black", "white")


def background(clf: ImageClassifier, shown: Image, name: str) -> np.ndarray:
    """Return a background, written once more."""
    frame = shown.array / 255
    plain = {"mean": clf.preparation.colours.mean, "black": np.zeros(3), "white": np.ones(3)}
    return (
        gaussian_filter(frame, (10, 10, 0), mode="nearest")
        if name == "blur"
        else np.broadcast_to(plain[name], frame.shape)
    )


@pytest.mark.parametrize("name", BACKGROUNDS)
def test_a_linear_model_is_explained_exactly(name: str) -> None:
    clf, shown = classifier(), picture()
    parts = (weights(clf, 1) * (shown.array / 255 - background(clf, shown, name))).sum(-1)
    patches = parts.reshape(14, 2, 14, 2).sum(axis=(1, 3)).ravel()
    for method in ("occlusion", "shapley_sampling"):
        found = wl.explain(clf, shown, method=method, unit="patch", target="dog", remover=name, progress=False)
        np.testing.assert_allclose(found.scores[0], patches, atol=1e-4)
    each = np.repeat(np.repeat(patches.reshape(14, 14), 2, axis=0), 2, axis=1).ravel() / 4
    found = wl.explain(clf, shown, method="occlusion", target="dog", remover=name, progress=False)
    assert found.provenance.unit == "pixel"
    np.testing.assert_allclose(found.scores[0], each, atol=1e-4)
    found = wl.explain(clf, shown, method="integrated_gradients", target="dog", baseline=name, steps=2, progress=False)
    np.testing.assert_allclose(found.scores[0], parts.ravel(), atol=1e-4)


def test_coalitions_are_answered_as_the_model_answers_such_pictures() -> None:
    clf, shown = classifier(Curved()), picture()
    encoded = clf.encode(shown, unit="patch", long="window")
    keep = np.random.default_rng(0).random((5, 196)) < 0.5
    for name in BACKGROUNDS:
        game = clf.outcomes(encoded, removal=chosen_removal(clf, name), cache={}, meter=Meter())
        found = game(keep)
        inside = keep.reshape(-1, 14, 14).repeat(2, axis=1).repeat(2, axis=2)[..., None]
        frames = np.where(inside, shown.array / 255, background(clf, shown, name))
        inputs = torch.as_tensor((frames - [0.5, 0.25, 0.75]) / [0.5, 0.25, 0.25]).permute(0, 3, 1, 2).float()
        with torch.no_grad():
            np.testing.assert_allclose(found, clf.model(inputs).numpy(), atol=1e-4)


def test_several_backgrounds_are_averaged_as_probabilities() -> None:
    clf, shown = classifier(Curved()), picture()
    encoded = clf.encode(shown, unit="patch", long="window")
    keep = np.random.default_rng(1).random((3, 196)) < 0.5
    each = [
        clf.labels.probabilities(
            clf.outcomes(encoded, removal=chosen_removal(clf, name), cache={}, meter=Meter())(keep)
        )
        for name in BACKGROUNDS
    ]
    both = clf.outcomes(encoded, removal=chosen_removal(clf, "backgrounds"), cache={}, meter=Meter())(keep)
    np.testing.assert_allclose(clf.labels.probabilities(both), np.mean(each, axis=0), atol=1e-6)
    with pytest.raises(SettingError, match="whose probabilities are averaged"):
        wl.explain(clf, shown, method="occlusion", unit="patch", remover="backgrounds", score="logit", progress=False)


def test_gradients_are_those_of_the_model() -> None:
    clf, shown = classifier(Curved()), picture()
    colours = torch.as_tensor(shown.array / 255, dtype=torch.float32).requires_grad_()
    inputs = ((colours - torch.tensor([0.5, 0.25, 0.75])) / torch.tensor([0.5, 0.25, 0.25])).permute(2, 0, 1)
    clf.model(inputs[None])[0, 0].backward()
    assert colours.grad is not None
    expected = colours.grad.norm(dim=-1).flatten().double()
    found = wl.explain(clf, shown, method="saliency", target=0, pooling="l2", progress=False)
    np.testing.assert_allclose(found.scores[0], expected, rtol=1e-4, atol=1e-7)


def test_soft_masks_of_zero_and_one_are_the_game() -> None:
    clf, shown = classifier(Curved()), picture()
    for method in ("marc",):
        found = wl.explain(clf, shown, method=method, unit="patch", steps=10, progress=False)
        assert found.scores.shape == (1, 196)
        assert ((found.scores > 0) & (found.scores < 1)).all()
        assert found.provenance.settings["background"] == "white,black,mean"


def test_an_explanation_is_the_same_after_a_dictionary_and_a_row_and_places_are_not_written() -> None:
    clf = classifier(preparation=prepare)
    for unit in ("pixel", "patch"):
        one = wl.explain(clf, picture(40, 60), method="integrated_gradients", target=0, unit=unit, progress=False)
        written = one.to_dict()
        assert written["places"] == []
        for again in (Explanation.from_dict(json.loads(json.dumps(written))), explanation_of(row_of(one))):
            assert (again.example, again.places) == (one.example, one.places)
            assert again.to_dict() == written
    assert one.places[1] == Box(0, 2, 2, 4)


def test_a_picture_that_was_seen_is_explained_as_before() -> None:
    clf = classifier(Curved(), preparation=prepare)
    one = wl.explain(clf, picture(40, 60), method="saliency", target=0, progress=False)
    two = wl.explain(clf, one.example, method="saliency", target=0, progress=False)
    np.testing.assert_array_equal(one.scores, two.scores)
    assert one.example == two.example


def test_pictures_are_evaluated_stored_and_read_back(tmp_path: Path) -> None:
    gold = {"dog": Rationale((Box(5, 5, 30, 40),))}
    records = tuple(Record(str(i), picture(40, 60, seed=i), ("dog",), gold) for i in range(3))
    data = Dataset("pictures", "test", ("cat", "dog"), records)
    found = wl.evaluate(
        classifier(Curved(), preparation=prepare),
        data,
        methods=["occlusion", "saliency"],
        metrics=["aopc_comprehensiveness", "aopc_sufficiency", "average_precision", "iou"],
        progress=False,
        out=tmp_path,
    )
    measured = {(row["method"], row["metric"]) for row in found.scores}
    assert {("occlusion", "aopc_comprehensiveness"), ("saliency", "iou"), ("human", "average_precision")} <= measured
    assert {row["value"] for row in found.scores if (row["method"], row["metric"]) == ("human", "iou")} == {1.0}
    again = [explanation_of(row) for row in runs.read(tmp_path).explanations]
    assert {len(one.places) for one in again} == {PIXELS}


def test_faithfulness_is_measured_over_nineteen_shares_and_four_backgrounds() -> None:
    clf, shown = classifier(Curved()), picture()
    found = wl.evaluate(
        clf,
        Dataset("one", "test", ("cat", "dog"), (Record("0", shown, ("dog",)),)),
        methods=["saliency"],
        metrics=["aopc_comprehensiveness", "aopc_sufficiency"],
        settings={"aopc_comprehensiveness.steps": 19, "aopc_sufficiency.steps": 19},
        remover="backgrounds",
        options=wl.Options(target="gold", score="probability"),
        progress=False,
    )
    measured = {row["metric"]: row["value"] for row in found.scores if row["method"] == "saliency"}
    ranked = wl.explain(clf, shown, method="saliency", target="dog", score="probability", progress=False).scores[0]
    order, full = np.argsort(-ranked, kind="stable"), probability_of_dog(clf, shown.array[None] / 255)[0]
    drops: dict[str, list[float]] = {"aopc_comprehensiveness": [], "aopc_sufficiency": []}
    for share in range(5, 100, 5):
        top = np.zeros(PIXELS, dtype=bool)
        top[order[: round(share / 100 * PIXELS)]] = True
        for name, keep in (("aopc_comprehensiveness", ~top), ("aopc_sufficiency", top)):
            inside = keep.reshape(SIDE, SIDE, 1)
            frames = [np.where(inside, shown.array / 255, background(clf, shown, one)) for one in BACKGROUNDS]
            drops[name].append(full - probability_of_dog(clf, np.stack(frames)).mean())
    for name, values in drops.items():
        assert measured[name] == pytest.approx(np.mean(values), abs=1e-4)


def probability_of_dog(clf: ImageClassifier, frames: np.ndarray) -> np.ndarray:
    """Return probabilities of colours, without this package."""
    inputs = torch.as_tensor((frames - [0.5, 0.25, 0.75]) / [0.5, 0.25, 0.25]).permute(0, 3, 1, 2).float()
    with torch.no_grad():
        made: np.ndarray = clf.model(inputs).double().softmax(-1)[:, 1].numpy()
    return made


def test_units_of_texts_and_pictures_are_not_mixed_up() -> None:
    with pytest.raises(IncompatibleError, match="no features that are words; use pixel, patch, superpixel"):
        wl.explain(classifier(), picture(), unit="word", progress=False)
    with pytest.raises(IncompatibleError, match="no features that are pixels; use word, token, sentence"):
        wl.explain(wl.load(), "a good film", unit="pixel", progress=False)
    with pytest.raises(InputError, match="reads inputs of the kind 'image', not 'text'"):
        wl.explain(classifier(), "a good film", progress=False)


def test_any_network_is_loaded_with_its_preparation_and_what_is_none_is_refused() -> None:
    clf = wl.load(Linear(), normalise, labels=["cat", "dog"])
    assert clf.labels.names == ("cat", "dog")
    with pytest.raises(ModelError, match="needs the names of its labels"):
        wl.load(Linear(), normalise)
    with pytest.raises(ModelError, match=r"logits \[pictures, 3\], one column per label, not \[1, 2\]"):
        wl.load(Linear(), prepare, labels=["a", "b", "c"])
    with pytest.raises(ModelError, match="cannot be run on a picture"):
        wl.load(Linear(side=9), prepare, labels=["cat", "dog"])


def test_the_model_is_unchanged() -> None:
    clf = classifier(Curved())
    clf.model.train()
    clf.model.bend.requires_grad_(requires_grad=False)
    before = {name: one.clone() for name, one in clf.model.state_dict().items()}
    wl.explain(clf, picture(), method=["occlusion", "saliency", "deeplift"], unit="patch", progress=False)
    assert clf.model.training
    assert [one.requires_grad for one in clf.model.parameters()] == [True, False, False]
    assert all(torch.equal(one, before[name]) for name, one in clf.model.state_dict().items())


@pytest.mark.parametrize(("height", "width"), [(28, 28), (32, 32), (40, 60), (384, 384), (10, 300)])
def test_cells_of_a_grid_are_neighbours_though_they_divide_no_picture_evenly(height: int, width: int) -> None:
    rows, columns = min(14, height), min(14, width)
    shown = Image(b"", height, width, division=Division(rows, columns))
    places = shown.coordinates(shown.own_places or ())
    assert grid_of(places) == (rows, columns)
    np.testing.assert_array_equal(places[:2], [[0.5, 0.5], [0.5, 1.5]])
    pixels = Image(b"", 6, 9, division=Division(6, 9))
    np.testing.assert_array_equal(pixels.coordinates(pixels.own_places or ())[[1, 9]], [[0.5, 1.5], [1.5, 0.5]])


def test_masks_of_uneven_patches_are_even_too() -> None:
    clf = classifier(Linear(side=32))
    found = wl.explain(clf, picture(32, 32), method="marc", unit="patch", steps=2, progress=False)
    assert found.provenance.settings["neighbours"] == 10.0
