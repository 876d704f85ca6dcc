"""Pictures: figures that no global state knows of, with what they show in words; no text is a formula."""

import io
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

import whylight as wl
from balanced import parsed
from pages import explanation
from shown import EVIL, dataset, evaluation, evil_explanation, layered
from whylight.core.explanation import Explanations
from whylight.report.plots.cells import BLANK, shade_of
from whylight.report.plots.directions import LEFT, RIGHT, base_direction, mirrored, visual_order
from whylight.report.plots.fonts import short_label
from whylight.report.plots.layered import draw_layers
from whylight.report.word_sums import methods_of, word_sums

ODD = (
    "I \U0001f600 love $x^2 and $\\frac it \U0001f44d\U0001f3fd \u65e5\u672c\u8a9e\u306e\u6620\u753b",
    "\u05e1\u05e8\u05d8 \u05e0\u05e4\u05dc\u05d0 very good (\u05d5\u05d8\u05d5\u05d1) \u0645\u0631\u062d\u0628\u0627",
    "a" * 300 + " short\n\ntwo \u202e lines\x1b[2J",
)


def pair() -> Any:
    return explanation("A man sleeps.", pair="He rests.", notes=())


PICTURES: dict[str, Any] = {
    "bar": lambda: wl.plot.bar(evil_explanation()),
    "bar of labels": lambda: wl.plot.bar(explanation(labels=tuple("abcdefgh"), targets=(0, 3))),
    "bar of a pair": lambda: wl.plot.bar(pair()),
    "text": lambda: wl.plot.text(evil_explanation()),
    "text of a pair": lambda: wl.plot.text(pair()),
    "compare": lambda: wl.plot.compare([explanation(method=f"method {n}", signed=n % 2 == 0) for n in range(12)]),
    "layers": lambda: wl.plot.layers(layered([0.1, 0.2, 0.3], [1.0, -1.0, 0.0])),
    "curves": lambda: wl.plot.curves(evaluation((EVIL, "lime"))),
    "summary": lambda: wl.plot.summary(evaluation(label=EVIL)),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_a_figure_that_says_in_words_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylight.report.plots.canvas.DPI", 40)
    figure = PICTURES[name]()
    words = wl.plot.alt_text(figure)
    assert isinstance(figure, Figure)
    assert figure.canvas.manager is None  # pyplot, which never forgets a figure, does not know it
    assert len(words) > 20
    figure.savefig(tmp_path / "x.png")
    with Image.open(tmp_path / "x.png") as image:
        assert image.info["Description"] == words
        assert len(set(image.convert("RGB").getdata())) > 2
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg")
    svg = buffer.getvalue().decode()
    seen = [tag for tag, _ in parsed(re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)).seen]
    assert seen[:3] == ["svg", "title", "desc"]
    assert "script" not in seen


def test_a_notebook_shows_a_picture_with_its_words() -> None:
    figure = wl.plot.text(evil_explanation())
    ((tag, attrs),) = parsed(figure._repr_html_().replace("<img", "<wbr")).seen
    assert (tag, attrs["alt"]) == ("wbr", wl.plot.alt_text(figure).replace("\x1b", "\ufffd"))


def test_the_same_picture_is_the_same_file() -> None:
    first, second = (io.BytesIO() for _ in range(2))
    for buffer in (first, second):
        wl.plot.text(evil_explanation()).savefig(buffer, format="svg")
    assert first.getvalue() == second.getvalue()


@pytest.mark.parametrize("text", ODD)
def test_no_letters_break_a_picture_or_stand_outside_of_it(text: str) -> None:
    one = explanation(text, labels=("no", text[:60]), model=text)
    with mpl.rc_context({"text.usetex": True}):  # which would take texts for programs
        figures = [wl.plot.bar(one, top=4), wl.plot.text(one)]
        figures.append(wl.plot.layers([explanation(text, settings={"layer": n}) for n in (1, 2)]))
        figures += [wl.plot.compare([one, one], top=4), wl.plot.summary([one], top=4)] if text == ODD[-1] else []
    for figure in figures:
        figure.canvas.draw()
        wide, tall = figure.get_size_inches() * figure.dpi
        for axes in figure.axes:
            ticks = {*axes.get_xticklabels(), *axes.get_xticklabels(minor=True)}  # those outside are not drawn
            drawn = [words for words in axes.findobj(mpl.text.Text) if words.get_text().strip() and words not in ticks]
            boxes = [words.get_window_extent() for words in drawn]
            assert boxes
            assert min(box.x0 for box in boxes) >= -2
            assert max(box.x1 for box in boxes) <= wide + 2
            assert min(box.y0 for box in boxes) >= -2
            assert max(box.y1 for box in boxes) <= tall + 2


def test_dollars_are_dollars() -> None:
    one = explanation("$x$ costs $5", [[2.0, -1.0, 1.0, 0.5, 0.25, 0.1]])
    for figure in (wl.plot.bar(one), wl.plot.text(one), wl.plot.compare([one, one])):
        assert not any(words.get_parse_math() for words in figure.findobj(mpl.text.Text) if "$" in words.get_text())


def test_bars_are_the_scores_strongest_first_and_the_rest_is_summed() -> None:
    scores = np.asarray([[0.5, -2.0, 1.0, 0.25, -0.125, 0.0625]])
    figure = wl.plot.bar(explanation("one two three four five six", scores), top=3)
    (axes,) = figure.axes
    assert [bar.get_width() for bar in axes.patches] == [-2.0, 1.0, 0.5, 0.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["two", "three", "one", "3 others"]
    assert "+0.19 in sum" in {words.get_text() for words in axes.texts}  # 0.25 - 0.125 + 0.0625
    assert "For: three +1.00, one +0.50, four +0.25, six +0.06. Against: two -2.00, five -0.12." in figure.alt_text


def test_a_summary_is_what_numpy_computes() -> None:
    generator, texts = np.random.default_rng(3), ["good Good film", "a good day", "film film film", "a dull film"]
    labels = ("no", "yes")
    every = [explanation(t, generator.normal(size=(2, 3)), labels=labels, targets=(0, 1)) for t in texts]
    found = word_sums(every)
    assert set(found) == set(labels)
    for place, label in enumerate(labels):
        plain: dict[str, list[float]] = defaultdict(list)
        for one in every:
            for word, score in zip(one.example.key.lower().split(), one.scores[place], strict=True):
                plain[word].append(score)
        own = {one.word.lower(): one for one in found[label]}
        assert set(own) == set(plain)
        for word, scores in plain.items():
            assert own[word].count == len(scores)
            assert own[word].mean == pytest.approx(np.mean(scores))
            assert own[word].spread == pytest.approx(np.std(scores))
            assert own[word].total == pytest.approx(np.abs(scores).sum())
        totals = [one.total for one in found[label]]
        assert totals == sorted(totals, reverse=True)
    figure = wl.plot.summary(every, label="yes", top=2)
    best = found["yes"][0]
    assert f"{best.word} {best.mean:+.2f}, standard deviation {best.spread:.2f}, {best.count} times" in figure.alt_text


def test_a_summary_of_a_run_is_that_of_its_explanations() -> None:
    run = evaluation(("lime", "occlusion"), texts=4)
    figure = wl.plot.summary(run, method="occlusion")
    (axes,) = figure.axes
    # the last word has 2.0 in each text; the first 0.0, 0.1, 0.2 and 0.3
    assert [label.get_text() for label in axes.get_yticklabels()] == ["with", "plain", "film", "a"]
    assert "with +2.00, standard deviation 0.00, 4 times" in figure.alt_text
    assert "by lime" in wl.plot.summary(run).alt_text


def test_layers_and_settings_of_a_method_are_not_added_up() -> None:
    stack = [*layered([0.1, 0.2, 0.3], [1.0, -1.0, 0.0]), *layered([0.2] * 3, [3.0] * 3, text="a bad film")]
    assert "Words over 2 texts, by decompx (layer 1). positive: film +0.250" in wl.plot.summary(stack).alt_text
    second = wl.plot.summary(stack, method="decompx (layer 2)").alt_text
    assert "a +2.00, standard deviation 1.00, 2 times" in second
    with pytest.raises(wl.WhylightError, match="2 texts by 2 methods have no one picture"):
        Explanations(stack).save("x.png")
    few, many = ({"method": "lime", "settings": {"samples": number}} for number in (2, 3))
    lime = Explanations([explanation(**few), explanation(**many)])
    assert "by lime (samples 2)" in wl.plot.summary(lime).alt_text
    assert list(lime.to_frame()["variant"].unique()) == ["samples 2", "samples 3"]
    assert "variant" not in Explanations(stack).to_frame()
    beside = explanation("a bad film", **few)  # it is the same variant, though nothing stands beside it
    assert "Words over 2 texts, by lime (samples 2)" in wl.plot.summary([*lime, beside]).alt_text
    assert methods_of([*lime, beside]) == ["lime (samples 2)", "lime (samples 3)"]


def cell_colours(figure: Figure) -> list[list[str]]:
    """The colours of the cells of a picture of layers, row by row from the top."""
    mesh = figure.findobj(mpl.collections.QuadMesh)[0]
    colours = np.asarray(mesh.get_array())
    return [[to_hex(cell) for cell in row] for row in colours]


def test_layers_have_one_scale_unless_each_is_to_have_its_own() -> None:
    stack = layered([0.004, 0.0, -0.002], [1.37, 0.0, -0.685])
    full, half = (shade_of(value, signed=True).background for value in (1.0, -0.5))
    blank = BLANK.background
    assert cell_colours(wl.plot.layers(stack)) == [[full, blank, half], [blank, blank, blank]]
    assert cell_colours(wl.plot.layers(stack, scale="own")) == [[full, blank, half], [full, blank, half]]
    texts = {words.get_text() for words in wl.plot.layers(stack).axes[0].texts}
    assert {"speaks against \u22121.37", "+1.37 speaks for"} <= texts
    own = {words.get_text() for words in wl.plot.layers(stack, scale="own").axes[0].texts}
    assert {"+1.37", "+0.00400"} <= own


def test_a_comparison_scales_each_method_by_itself_unless_told_otherwise() -> None:
    both = [explanation("one two", [scores], method=name) for name, scores in (("a", [4.0, 2.0]), ("b", [1.0, -0.5]))]
    strong, weak = (shade_of(value, signed=True).background for value in (1.0, 0.25))
    for scale, last in (("own", strong), ("shared", weak)):
        meshes = wl.plot.compare(both, scale=scale).findobj(mpl.collections.QuadMesh)
        assert [to_hex(np.asarray(mesh.get_array())[0, 0]) for mesh in meshes] == [strong, last]


def test_curves_are_the_means_over_texts() -> None:
    figure = wl.plot.curves(evaluation(("lime", "occlusion")), methods=["occlusion"])
    left, right = figure.axes
    (line,), (other,) = left.get_lines(), right.get_lines()
    assert np.allclose(line.get_ydata(), [0.9, 0.7, 0.4, 0.2])
    assert np.allclose(other.get_ydata(), [0.2, 0.4, 0.7, 0.9])
    with pytest.raises(wl.WhylightError, match="unknown remover of this run 'delte'"):
        wl.plot.curves(evaluation(), remover="delte")


def test_axes_of_ones_own_are_drawn_in() -> None:
    figure = Figure(figsize=(8, 4))
    first, second = figure.subplots(1, 2)
    assert wl.plot.bar(explanation(), ax=first) is figure
    assert wl.plot.text(explanation(), ax=second) is figure
    assert first.patches
    assert second.texts
    assert wl.plot.alt_text(figure).count("gripping +") == 2
    with pytest.raises(wl.WhylightError, match="say which target"):
        wl.plot.bar(explanation(targets=(0, 1)), ax=first)


one, two = explanation(), explanation("another film")
REFUSED: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
    ("bar", ([one, one],), {}, "is of one explanation, not of a list"),
    ("text", (Explanations([one]),), {}, "is of one explanation, not of a list"),
    ("bar", ("a film",), {}, "is of an explanation, not of str"),
    ("bar", (one,), {"top": 0}, "top is at least 1, not 0"),
    ("bar", (one,), {"target": "nobody"}, "unknown target of this explanation 'nobody'"),
    ("text", (explanation(targets=(0, 1)),), {}, "say which target you mean"),
    ("compare", (one,), {}, "is of several explanations, in a list"),
    ("compare", ([one],), {}, "2 explanations or more, not of 1"),
    ("compare", ([one, two],), {}, "explanations of one input"),
    ("compare", ([one, explanation(targets=(0,))],), {}, "different labels"),
    ("compare", ([one, one],), {"scale": "log"}, "unknown scale 'log'"),
    ("layers", ([one, one],), {}, "one method at several layers"),
    ("layers", ([one, "film"],), {}, "not of str"),
    ("curves", (one,), {}, "of what wl.evaluate returns, not of Explanation"),
    ("summary", (one,), {}, "wl.plot.bar takes one explanation"),
    ("summary", (dataset(),), {}, "of what wl.evaluate returns, not of Dataset"),
    ("summary", (["a film"],), {}, "of what wl.evaluate returns, not of list"),
    ("summary", ([one],), {"label": "nobody"}, "unknown label 'nobody'"),
    ("summary", ([one],), {"method": "lmie"}, "unknown method 'lmie'"),
]


@pytest.mark.parametrize(("name", "given", "named", "said"), REFUSED)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(name: str, given: Any, named: Any, said: str) -> None:
    with pytest.raises(wl.WhylightError, match=re.escape(said)) as refused:
        getattr(wl.plot, name)(*given, **named)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("found", ["", "3.10.8"])
def test_without_a_matplotlib_that_writes_every_script_a_sentence_says_what_to_install(
    found: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from importlib.metadata import PackageNotFoundError  # noqa: PLC0415

    def version(name: str) -> str:
        if found:
            return found
        raise PackageNotFoundError(name)

    monkeypatch.setattr("whylight.report.plots.version", version)
    for draw in (lambda: wl.plot.bar(one), lambda: one.save(tmp_path / "x.png"), lambda: wl.plot.curves(evaluation())):
        with pytest.raises(wl.WhylightError, match=r"pictures need matplotlib.*pip install 'whylight\[plot\]'"):
            draw()


def test_a_result_saves_the_picture_that_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whylight.report.plots.canvas.DPI", 40)
    stack = layered([0.1, 0.2, 0.3], [1.0, -1.0, 0.0])
    methods = Explanations([one, explanation(method="lime")])
    expected = {
        "one": (one, "Words by occlusion"),
        "list of one": (Explanations([one]), "Words by occlusion"),
        "layers": (stack, "decompx at 2 layers"),
        "methods": (methods, "2 explanations of one text"),
        "texts": (Explanations([one, two]), "Words over 2 texts"),
        "run": (evaluation(), "Score while the top words"),
    }
    for thing, said in expected.values():
        thing.save(tmp_path / "x.png")
        assert said.encode() in (tmp_path / "x.png").read_bytes()
    one.save(tmp_path / "x.svg")
    assert b"<desc>Words by occlusion" in (tmp_path / "x.svg").read_bytes()
    with pytest.raises(wl.WhylightError, match="no explanation to draw"):
        Explanations().save(tmp_path / "y.png")
    with pytest.raises(wl.WhylightError, match="have no one picture"):
        Explanations([one, two, explanation(method="lime")]).save(tmp_path / "y.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.png", "x.svg"]


def test_words_of_both_directions_stand_in_their_order() -> None:
    hebrew, arabic = "\u05d0\u05d1", "\u0645\u0627"
    assert base_direction(f"12 {hebrew} good") == RIGHT
    assert base_direction(f"good {hebrew}") == LEFT
    words = ["good", " ", hebrew, " ", "5", " ", arabic, " ", "day"]
    assert visual_order(words, LEFT) == [0, 1, 6, 5, 4, 3, 2, 7, 8]  # what is read from the right is turned as a whole
    assert visual_order(words, RIGHT) == [8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert visual_order([hebrew, " ", "very", " ", "good"], RIGHT) == [2, 3, 4, 1, 0]
    assert mirrored("(", RIGHT) == ")"
    assert mirrored("(a", RIGHT) == "(a"
    assert mirrored("(", LEFT) == "("


def test_a_word_is_cut_to_the_columns_that_it_may_take() -> None:
    assert short_label("film") == "film"
    assert short_label("x" * 100, widest=10) == "xxxxx\u2026xxxx"
    assert short_label("\u65e5" * 100, widest=10) == "\u65e5" * 2 + "\u2026" + "\u65e5" * 2
    assert short_label("disease of the heart, number 7", widest=17) == "disease\u2026number 7"
    assert short_label("a\nb\x1b[2J") == "a b\ufffd[2J"


def test_titles_of_labels_that_begin_alike_are_told_apart() -> None:
    names = tuple(f"a disease of the {'very ' * 12}long kind, number {n}" for n in range(3))
    figure = wl.plot.bar(explanation(labels=names, targets=(0, 1, 2)))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert len({*titles}) == len(names)
    assert all(re.fullmatch(r"a disease.*\u2026.*number \d .*%", title) for title in titles)


def test_layers_of_a_long_text_are_cut_and_say_so() -> None:
    text = " ".join(f"word{n}" for n in range(400))
    figure = draw_layers([explanation(text, settings={"layer": n}) for n in (1, 2)])
    assert any("words of a long text are not shown" in words.get_text() for words in figure.axes[0].texts)
    assert figure.get_size_inches()[1] < 12
