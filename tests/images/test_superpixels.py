"""Superpixels: regions of about one colour are features like any others. Needs scikit-image."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import ViTImageProcessorPil

import whylight as wl
from images.pictures import SIDE, classifier, weights
from images.test_image_peers import classifier as of_hugging_face
from whylight.core.errors import SettingError
from whylight.core.image import Image
from whylight.models.divisions import superpixels

HALVES = np.where(np.arange(SIDE) < 12, 40, 220)[None, :, None].repeat(SIDE, 0).repeat(3, 2).astype(np.uint8)
"""A dark and a light half."""


def test_without_its_package_it_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(SettingError, match=r"superpixels need scikit-image: pip install 'whylight\[superpixels\]'"):
        wl.explain(classifier(), wl.image(HALVES), unit="superpixel", progress=False)


@pytest.mark.vision
def test_regions_follow_colours_and_every_pixel_is_in_one() -> None:
    labels = superpixels(HALVES)
    assert set(labels.ravel()) == set(range(labels.max() + 1))
    assert labels.max() > 20
    assert not set(labels[:, :12].ravel()) & set(labels[:, 12:].ravel())


@pytest.mark.vision
def test_a_linear_model_is_explained_exactly_region_by_region() -> None:
    clf, shown = classifier(), wl.image(HALVES)
    parts = (weights(clf, 1) * HALVES / 255).sum(-1)  # over black
    for method in ("occlusion", "shapley_sampling", "integrated_gradients"):
        asked = {"baseline": "black"} if method == "integrated_gradients" else {}
        found = wl.explain(
            clf, shown, method=method, unit="superpixel", target="dog", remover="black", progress=False, **asked
        )
        assert isinstance(found, wl.Explanation)
        assert isinstance(found.example, Image)
        labels = found.example.labels
        assert len(found.places) == labels.max() + 1
        np.testing.assert_allclose(found.scores[0], np.bincount(labels.ravel(), parts.ravel()), atol=1e-4)


@pytest.mark.vision
@pytest.mark.parametrize("method", ["marc", "meaningful_perturbation", "grad_cam", "attention_rollout", "lime"])
def test_methods_work_on_regions(method: str) -> None:
    clf = of_hugging_face("vit", large=True)
    asked = {"steps": 3} if method in ("marc", "meaningful_perturbation") else {}
    shown = wl.image(np.random.default_rng(0).integers(0, 256, (7, 7, 3), dtype=np.uint8).repeat(4, 0).repeat(4, 1))
    found = wl.explain(clf, shown, method=method, unit="superpixel", target=0, progress=False, **asked)
    assert isinstance(found, wl.Explanation)
    assert np.isfinite(found.scores).all()
    assert found.scores.any()
    if method == "marc":  # regions have no neighbours
        assert found.provenance.settings["neighbours"] == 0
        with pytest.raises(SettingError, match="'neighbours' is for features on a grid"):
            wl.explain(clf, shown, method=method, unit="superpixel", neighbours=1.0, progress=False)


@pytest.mark.vision
def test_the_command_explains_regions_and_measures_them(tmp_path: Path, cli: Any) -> None:
    from PIL import Image as Pillow  # noqa: PLC0415

    of_hugging_face("vit", large=True).model.save_pretrained(tmp_path / "model")
    ViTImageProcessorPil(size={"height": 28, "width": 28}).save_pretrained(tmp_path / "model")
    (tmp_path / "photos" / "LABEL_0").mkdir(parents=True)
    Pillow.fromarray(HALVES).save(tmp_path / "photos" / "LABEL_0" / "halves.png")
    asked = ["--model", str(tmp_path / "model"), "--unit", "superpixel", "--method", "occlusion"]
    picture = str(tmp_path / "photos" / "LABEL_0" / "halves.png")
    code, out, said = cli("explain", "--image", picture, *asked, "--format", "json")
    assert code == 0, said
    written = json.loads(out)
    assert written["unit"] == "superpixel"
    assert len(written["features"]) == superpixels(HALVES).max() + 1
    metrics = ["--metric", "aopc_comprehensiveness", "--out", str(tmp_path / "run")]
    code, _, said = cli("evaluate", "--data", f"images:{tmp_path / 'photos'}", *asked, *metrics)
    assert code == 0, said
    code, _, said = cli("report", str(tmp_path / "run"))
    assert code == 0, said
