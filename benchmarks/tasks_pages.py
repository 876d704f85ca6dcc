"""The pages of `docs/coming_from`, from templates, snippets, and what was measured."""

import json
import re
from pathlib import Path
from typing import Any

from snippets import COUNTERPARTS, FOLDER, PEERS, RESULTS, TASKS, Snippet

STORED = Path(__file__).resolve().parent / "tasks.json"
PAGES = Path(__file__).resolve().parents[1] / "docs" / "coming_from"
STAR = r" \*"
"""Stands beside the lines that a user has to write because a package does not offer the task."""
SECONDS = """## Seconds

Each package at its usual settings, beside the method of whylight that does the same: 50 steps for integrated
gradients, 500 samples for LIME. SHAP's explainer of texts takes 500 evaluations and estimates Owen values of a tree
over the tokens; `kernel_shap` takes 500 and estimates Shapley values of the words. Two threads of a CPU, median of
three runs that took turns."""
"""What stands above the seconds."""
Cells = dict[str, dict[str, Any]]


def stored() -> Cells:
    """Return what was measured, by the names of snippets."""
    return json.loads(STORED.read_text(encoding="utf-8")) if STORED.is_file() else {}


def pages() -> dict[str, str]:
    """Return every page, by the name of its file."""
    found = {}
    for template in sorted(FOLDER.glob("*.md")):
        peer = template.stem
        filled = {"lines": line_table(), "seconds": second_table(), "tasks": task_sections(peer)}
        text = template.read_text(encoding="utf-8")
        found[template.name] = re.sub(r"\{\{(\w+)\}\}", lambda mark: filled[mark[1]], text)  # noqa: B023  used at once
    return found


def write_pages() -> None:
    """Write the pages."""
    PAGES.mkdir(exist_ok=True)
    for name, text in pages().items():
        (PAGES / name).write_text(text, encoding="utf-8")


def line_table() -> str:
    """Write how many lines each task takes; a star stands for what a package does not offer."""
    rows = []
    for task, title in TASKS.items():
        cells = [str(Snippet(task, "whylight", "captum").lines)]
        for peer in PEERS:
            one = Snippet(task, peer, peer)
            cells.append(f"{one.lines}{STAR if one.refusal else ''}")
        rows.append([title, *cells])
    return table(["task", "whylight", *PEERS.values()], rows)


def second_table() -> str:
    """Write how long each task takes beside the counterpart of ours; nothing if it was not measured."""
    cells = stored()
    if not cells or not all("seconds" in cell for cell in cells.values()):
        return ""
    rows = []
    for task, title in TASKS.items():
        row = [title]
        for peer in PEERS:
            row += [f"{cells[Snippet(task, one, peer).name]['seconds']:.2f}" for one in ("whylight", peer)]
        rows.append(row)
    head = [one for peer, name in PEERS.items() for one in (f"whylight, `{COUNTERPARTS[peer]}`", name)]
    return f"{SECONDS}\n\n{table(['task', *head], rows)}\n\n"


def task_sections(peer: str) -> str:
    """Write every task as both packages do it."""
    if peer not in PEERS:
        return ""
    return "\n\n".join(_section(task, title, peer) for task, title in TASKS.items())


def _section(task: str, title: str, peer: str) -> str:
    theirs, ours = Snippet(task, peer, peer), Snippet(task, "whylight", peer)
    name, lines = PEERS[peer], _count(theirs.lines)
    lead = f"**{name}** does not offer it. {theirs.refusal} In {lines}:" if theirs.refusal else f"**{name}**, {lines}:"
    parts = [
        f"## {title}",
        RESULTS[task],
        lead,
        f"```python\n{theirs.code}```",
        f"**whylight**, {_count(ours.lines)}:",
        f"```python\n{ours.code}```",
    ]
    return "\n\n".join(parts)


def _count(lines: int) -> str:
    return f"{lines} line" + ("" if lines == 1 else "s")


def table(head: list[str], rows: list[list[str]]) -> str:
    """Write a table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])
