"""Make the pictures of the gallery: pages that the package writes for texts of our own, photographed by Chromium.

    python scripts/make_pictures.py              all of them
    python scripts/make_pictures.py layers       one of them
    python scripts/make_pictures.py --again      of the pages that are there

Needs Chromium (`CHROMIUM` names another program) and what the extras `docs` and `train` bring. Pages stay in
`build/pictures`; pictures go to `docs/images/gallery`. Nothing is fetched: every page is self-contained.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from small_pictures import in_few_colours

import whylight as wl
from whylight.explaining.console import Console
from whylight.report import audit_page, page, run_page, terminal

ROOT = Path(__file__).resolve().parents[1]
WORK, PICTURES = ROOT / "build" / "pictures", ROOT / "docs" / "images" / "gallery"
TEXT = "A gripping, moving film, though the ending drags."
OFFLINE = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """A page, and how much of it is photographed.

    Attributes:
        write: Writes the page.
        width: Width of the window.
        height: Height of the window; what is below is cut off.
        sections: Titles of the sections that are shown; all if there are none.
    """

    write: Callable[[Path], None]
    width: int
    height: int
    sections: tuple[str, ...] = ()


def explanation(out: Path) -> None:
    """Write one text, explained by several methods."""
    methods = ["integrated_gradients", "lime", "attingrad"]
    page.write_page(out, page.page(wl.explain(wl.load(), [TEXT], method=methods), title="Why?"))


def labels(out: Path) -> None:
    """Write a letter with several codes, each with its evidence."""
    letter = wl.dataset("discharge:", split="test", size=4)[3]
    found = wl.explain(
        wl.load("whylight/coder"), [letter.example], method="attingrad", target=["I10", "I50.21", "E11.40"]
    )
    page.write_page(out, page.page(found, title="Discharge letter"))


def layers(out: Path) -> None:
    """Write one text, explained at every layer."""
    page.write_page(out, page.page(wl.explain(wl.load(), [TEXT], method="decompx", layer="all"), title="Layers"))


def report(out: Path) -> None:
    """Write the report of a run."""
    _report(out, methods=["occlusion", "lime[samples=200]", "decompx_linear", "attention"])


def layers_report(out: Path) -> None:
    """Write the report of a run whose methods are read at every layer."""
    _report(out, methods=["attention_rollout"], settings={"layer": "all"})


def _report(out: Path, **asked: object) -> None:
    data = wl.dataset(ROOT / "examples" / "reviews.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        wl.evaluate(wl.load(), data, out=folder, **asked)  # type: ignore[arg-type]
        page.write_page(out, run_page.run_page(Path(folder)))


def audit(out: Path) -> None:
    """Write an audit of removers."""
    data = wl.dataset(ROOT / "examples" / "reviews.jsonl")
    command = "whylight audit --data examples/reviews.jsonl --budget 240"
    page.write_page(out, audit_page.audit_page(wl.audit(wl.load(), data, budget=240), command=command))


def sanity(out: Path) -> None:
    """Write a sanity check."""
    data = wl.dataset(ROOT / "examples" / "reviews.jsonl").sample(10, seed=0)
    wl.sanity_check(wl.load(), data, methods=["occlusion", "attention"], levels="head").save(out)


def comparison(out: Path) -> None:
    """Write a paired comparison of two methods."""
    data = wl.dataset(ROOT / "examples" / "reviews.jsonl")
    found = wl.evaluate(wl.load(), data, methods=["decompx_linear", "attention"])
    wl.compare(found, "decompx_linear", against="attention").save(out)


def curves(out: Path) -> None:
    """Write the curves of a training."""
    data, dev = (
        wl.dataset("planted:", split=one, size=n, variant="negated") for one, n in (("train", 120), ("dev", 40))
    )
    with tempfile.TemporaryDirectory() as folder:
        wl.train(None, data, dev, out=folder, objectives=["rationale_attention=100"], epochs=5, learning_rate=2e-4)
        drawn = (Path(folder) / "curves.svg").read_text(encoding="utf-8")
    out.write_text(
        f'<body style="margin:16px;background:white">{drawn[drawn.index("<svg") :]}</body>', encoding="utf-8"
    )


def on_a_terminal(out: Path) -> None:
    """Write what a terminal with colours shows."""
    console = Console(record=True, width=92, color_system="truecolor", force_terminal=True, file=open(os.devnull, "w"))  # noqa: PTH123, SIM115  a console closes nothing
    methods = ["integrated_gradients", "lime", "attention"]
    terminal.render(wl.explain(wl.load(), [TEXT], method=methods), console=console)
    shown = console.export_html(inline_styles=True, code_format='<pre style="font:15px/1.5 monospace">{code}</pre>')
    out.write_text(f'<meta charset="utf-8"><body style="margin:20px;background:white">{shown}</body>', encoding="utf-8")


ALL = {
    "explanation": Picture(explanation, 1000, 1200),
    "labels": Picture(labels, 1000, 1500),
    "layers": Picture(layers, 1000, 640),
    "report": Picture(report, 1000, 1330),
    "report_charts": Picture(
        report, 1000, 1560, ("Cost against quality", "While the top words go", "Who agrees with whom")
    ),
    "report_texts": Picture(report, 1000, 1250, ("Best and worst texts",)),
    "report_layers": Picture(layers_report, 1000, 460, ("Layer by layer",)),
    "audit": Picture(audit, 1000, 970),
    "sanity": Picture(sanity, 1000, 420),
    "comparison": Picture(comparison, 1000, 520),
    "curves": Picture(curves, 760, 640),
    "terminal": Picture(on_a_terminal, 860, 450),
}


def shortened(written: str, sections: tuple[str, ...]) -> str:
    """Leave out the sections of a page that are not named."""

    def kept(section: re.Match[str]) -> str:
        return section[0] if any(f"<h2>{title}</h2>" in section[0] for title in sections) else ""

    return re.sub(r"<section class=\"card.*?</section>", kept, written, flags=re.DOTALL) if sections else written


def photograph(source: Path, out: Path, *, width: int, height: int) -> None:
    """Take a picture of a page, in few colours."""
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("there is no Chromium; install it, or name it: CHROMIUM=/path/to/it")
    with tempfile.TemporaryDirectory() as profile:
        size, where = f"--window-size={width},{height}", f"--user-data-dir={profile}"
        command = [browser, *OFFLINE, where, size, f"--screenshot={out}", source.as_uri()]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603  a program that the caller chose
    in_few_colours(out)


def main() -> None:
    """Make the pictures that are named, or all."""
    WORK.mkdir(parents=True, exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    written = set[Path]()
    again = "--again" in sys.argv  # photograph the pages that are there
    for name in [one for one in sys.argv[1:] if one != "--again"] or ALL:
        one = ALL[name]
        whole, source = WORK / f"{one.write.__name__}.html", WORK / f"{name}.part.html"
        if not (again and whole.is_file()) and whole not in written:
            one.write(whole)
            written.add(whole)
        source.write_text(shortened(whole.read_text(encoding="utf-8"), one.sections), encoding="utf-8")
        photograph(source, PICTURES / f"{name}.png", width=one.width, height=one.height)
        print(f"{name}: {(PICTURES / f'{name}.png').stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
