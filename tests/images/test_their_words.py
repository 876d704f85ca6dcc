"""Every command in front of pictures: it works and speaks of pictures, or says in a sentence that it is for texts."""

import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow
from transformers import ViTImageProcessorPil

import whylight as wl
from images.test_image_peers import classifier
from whylight.core.errors import InputError

OF_TEXTS = re.compile(r"\b(texts?|words?|sentences?|documents?)\b", re.IGNORECASE)
COUNT = 11
"""Pictures: enough for verdicts."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model as a folder, and pictures with labels and masks."""
    folder = tmp_path_factory.mktemp("pictures")
    classifier("vit", large=True).model.save_pretrained(folder / "model")
    ViTImageProcessorPil(size={"height": 28, "width": 28}).save_pretrained(folder / "model")
    for split in ("test", "train", "dev"):
        own = folder / "photos" / split
        own.mkdir(parents=True)
        rows = ["file,label,mask"]
        for number in range(COUNT):
            pixels = drawn(split, number)
            Pillow.fromarray(pixels).save(own / f"p{number}.png")
            Pillow.fromarray((np.indices((28, 28)).max(axis=0) < 14).astype(np.uint8) * 255).save(own / "mask.png")
            rows.append(f"p{number}.png,LABEL_{number % 3},mask.png")
        (own / "labels.csv").write_text("\n".join(rows), encoding="utf-8")
    return folder


@cache
def drawn(split: str, number: int) -> np.ndarray:
    seed = [number, *split.encode()]
    coarse = np.random.default_rng(seed).integers(0, 256, (7, 7, 3), dtype=np.uint8)
    return coarse.repeat(4, axis=0).repeat(4, axis=1)


def options(place: Path) -> list[str]:
    return ["--data", f"images:{place / 'photos'}", "--model", str(place / "model")]


def run_of(model: Any, place: Path, name: str) -> Any:
    data = f"images:{place / 'photos'}"
    return wl.run_corpus(model, data, methods=["saliency"], out=place / name, progress=False)


def told(said: str) -> str:
    """What is said, without paths and names of columns."""
    return " ".join(said.split())


def told_by_page(file: Path) -> str:
    html = re.sub(r"<style>.*?</style>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    attributes = " ".join(re.findall(r'(?:alt|title|aria-label)="([^"]*)"', html))
    return told(f"{unescape(re.sub(r'<[^>]*>', ' ', html))} {unescape(attributes)}")


def test_commands_say_pictures_and_regions(place: Path, cli: Any) -> None:
    run = place / "run"
    metrics = ["--metric", "aopc_comprehensiveness", "--metric", "iou"]
    methods = ["--method", "occlusion", "--method", "saliency"]
    explain = ["explain", "--image", str(place / "photos" / "test" / "p0.png"), *options(place)[2:], *methods]
    ran = run_of(wl.load(place / "model"), place, "corpus")
    assert ran.noun.count(ran.texts) == "11 pictures"
    asked = [
        (["evaluate", *options(place), *methods, *metrics, "--out", str(run), "--unit", "patch"], "test, 11 pictures"),
        (["compare", str(run), "--method", "occlusion", "--against", "saliency"], "over 11 pictures"),
        (["report", str(run)], "wrote"),
        (["sanity", *options(place), *methods, "--sample", "2", "--draws", "1", "--levels", "head"], "2 pictures"),
        (["run", *options(place), *methods, "--out", str(place / "dry"), "--dry-run"], "11 pictures: "),
        (["verify", str(place / "corpus"), "--rows", "2"], "2 pictures, "),
        (explain, "why LABEL_"),
        ([*explain, "--format", "html", "--out", str(place / "page.html")], "wrote"),
    ]
    for arguments, expected in asked:
        code, out, said = cli(*arguments)
        assert code == 0, said
        assert expected in told(out + said), arguments[0]
        assert not OF_TEXTS.search(told(out + said)), arguments[0]
    for page, expected in (
        (run / "report.html", "2 methods on 11 pictures"),
        (place / "page.html", "strongest region"),
    ):
        assert expected in told_by_page(page)
        assert not OF_TEXTS.search(told_by_page(page)), page.name


def test_a_recommendation_is_made_on_pictures(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "whylight.study.recommend.compatible", lambda _: dict.fromkeys(["saliency", "input_x_gradient"])
    )
    data = wl.dataset(f"images:{place / 'photos'}")
    found = wl.recommend(classifier("vit", large=True), data, budget=60)
    assert found.texts == 11
    assert set(found.rankings) == {"blur", "black"}
    said = " ".join(found.findings)
    assert "11 pictures" in said
    assert not OF_TEXTS.search(said)


def test_commands_for_texts_refuse_pictures_in_a_sentence(place: Path, cli: Any) -> None:
    run_of(classifier("vit", large=True), place, "x")
    new = str(place / "new")
    refused = [
        (["audit", *options(place)], "an audit is made for texts, and this model reads pictures"),
        (["serve", *options(place), "--db", f"sqlite:///{place / 'r.db'}"], "a review is made for texts"),
        (["mcp", "--model", str(place / "model")], "a tool for agents is made for texts"),
        (
            ["export", str(place / "x"), "--to", "jsonl", "--out", new],
            "the run is of pictures; `whylight query` reads it",
        ),
        (
            ["train", "--data", f"images:{place / 'photos'}", "--model", str(place / "model"), "--out", new],
            "holds pictures",
        ),
        (["fit", "aml", *options(place), "--out", new], "a fit is made for texts, and 'photos' (train) holds pictures"),
        (["roar", *options(place), "--encoder", "none", "--method", "saliency", "--out", new], "holds pictures"),
        (["explain", "a text", "--model", str(place / "model")], "reads inputs of the kind 'image', not 'text'"),
    ]
    for arguments, expected in refused:
        code, _, said = cli(*arguments)
        assert code == 2, arguments[0]
        assert expected in told(said), arguments[0]
        assert "Traceback" not in said


def test_drawings_speak_of_regions(place: Path) -> None:
    shown = wl.image(drawn("test", 0), name="p0.png")
    found = wl.explain(classifier("vit", large=True), shown, method=["occlusion", "saliency"], target=0, progress=False)
    for figure in (wl.plot.bar(found[0]), wl.plot.compare(found)):
        said = wl.plot.alt_text(figure)
        assert not OF_TEXTS.search(said)
        # of pixels, cells are named
        assert "x 0-1, y 0-1" not in said
        assert said.count("x ") >= 4
    with pytest.raises(InputError, match="only texts have words to add up"):
        wl.plot.summary(list(found))
    data = wl.dataset(f"images:{place / 'photos'}")
    assert not OF_TEXTS.search(repr(data))
    assert "p1.png, 28 x 28 pixels" in repr(data)
    assert not OF_TEXTS.search(repr(found))
