"""Explanations made by hand, and their pages read again."""

import io
from html.parser import HTMLParser
from typing import Any

import numpy as np

from whylight.core.explanation import Explanation, Prediction, Provenance
from whylight.core.labels import Target
from whylight.core.segment import words
from whylight.core.text import Span, Text
from whylight.explaining.console import Console
from whylight.report.terminal import render

VOID = {"meta", "br", "wbr", "hr", "img", "input", "link"}


NASTY = 'He said <script>alert(1)</script> & "quoted" it\'s\n\n  fine   {{ 7*7 }} </p></style> &amp; [red]x[/red]'


class Document(HTMLParser):
    """The elements of a document, its highlighted texts and its words."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.spans: list[list[tuple[str, str, str]]] = []
        self.visible = ""
        self._open: list[str] = []
        self._words_at: int | None = None
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        self.tags.append((tag, own))
        if self._words_at is not None:
            assert tag in {"span", "mark", "a"}
            self.spans[-1].append((str(own["title"] if tag == "span" else ""), own.get("class") or "", ""))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "p" and "words" in str(own.get("class", "")).split():
            self._words_at = len(self._open)
            self.texts.append("")
            self.spans.append([])

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if self._words_at is not None and len(self._open) < self._words_at:
            self._words_at = None

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.visible += data
        if self._words_at is not None:
            self.texts[-1] += data
            if len(self._open) > self._words_at:
                title, shade, text = self.spans[-1][-1]
                self.spans[-1][-1] = (title, shade, text + data)

    def with_class(self, name: str) -> list[dict[str, str | None]]:
        return [own for _, own in self.tags if name in str(own.get("class", "")).split()]


def explanation(
    text: str = "A gripping film, though the ending drags.",
    scores: Any = None,
    *,
    pair: str | None = None,
    labels: tuple[str, ...] = ("negative", "positive"),
    targets: tuple[int, ...] = (1,),
    **receipt: Any,
) -> Explanation:
    example = Text(text, pair)
    spans = tuple(Span(n, *offsets) for n, part in enumerate(example.parts) for offsets in words(part))
    facts: dict[str, Any] = {
        "model": "tiny",
        "method": "occlusion",
        "settings": {"window": 1},
        "unit": "word",
        "remover": "mask",
        "score": "logit",
        "signed": True,
        "class_specific": True,
        "forward_passes": 9,
        "backward_passes": 0,
        "seconds": 0.25,
        **receipt,
    }
    rows = len(targets) if facts["class_specific"] else 1
    if scores is None:
        scores = np.tile(np.linspace(1.25, -0.5, len(spans)), (rows, 1))
    probabilities = tuple((1 + i) / sum(range(1, len(labels) + 1)) for i in range(len(labels)))
    return Explanation(
        example,
        spans,
        tuple(Target(i, labels[i]) for i in targets),
        np.atleast_2d(np.asarray(scores, dtype=np.float64)),
        Prediction(len(labels) - 1, labels[-1], probabilities[-1], probabilities, predicted=(len(labels) - 1,)),
        Provenance(**facts),
    )


def terminal(*explanations: Explanation, colour: bool = False, width: int = 100) -> str:
    file = io.StringIO()
    color_system: Any = "truecolor" if colour else None
    console = Console(file=file, width=width, force_terminal=colour, color_system=color_system, no_color=not colour)
    render(explanations, console=console)
    return file.getvalue()
