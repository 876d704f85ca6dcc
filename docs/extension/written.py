"""Docstrings as the Markdown of a page: paragraphs, formulas, lists, and what is said of settings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from inspect import cleandoc

SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Example", "Yields")
"""What a section of a docstring is called; its lines are indented below the name."""
_SECTION = re.compile(rf"^({'|'.join(SECTIONS)}):\s*$", re.MULTILINE)
_CODE = re.compile(r"(`[^`\n]*(?:\n[^`\n]+)?`)")
_FACT = re.compile(r"(?:^|(?<=[.;)]\s))(Reference|Cost|Memory|Layout|Counts): ", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\**\w+): (.*(?:\n {8,}.*)*)", re.MULTILINE)


def told(docstring: str | None, *, without: Sequence[str] = ()) -> str:
    """Return the prose of a docstring as Markdown, without its sections: indented blocks are formulas.

    Args:
        docstring: The docstring.
        without: Facts that are left out, because a table has them.
    """
    prose = _SECTION.split(cleandoc(docstring or ""), maxsplit=1)[0].strip()
    blocks = [_block(one, without) for one in re.split(r"\n\s*\n", prose) if one.strip()]
    return "\n\n".join(one for one in blocks if one)


def told_settings(docstring: str | None) -> dict[str, str]:
    """Return what a docstring says of each parameter, by name."""
    parts = _SECTION.split(cleandoc(docstring or ""))
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {name: " ".join(text.split()) for name, text in _ENTRY.findall(sections.get("Args", ""))}


def facts_of(docstring: str | None) -> dict[str, str]:
    """Return what a docstring says after `Reference:`, `Cost:` and the like, in one line each."""
    found = {}
    for block in re.split(r"\n\s*\n", cleandoc(docstring or "")):
        for part in _facts(block):
            match = _FACT.match(part)
            if match:
                found.setdefault(match[1], " ".join(part[match.end() :].split()))
    return found


def _block(block: str, without: Sequence[str]) -> str:
    lines = block.splitlines()
    if all(line.startswith("    ") for line in lines if line.strip()):
        return "```text\n" + "\n".join(line[4:] for line in lines) + "\n```"
    if lines[0].lstrip().startswith("- "):
        return escaped(block)
    parts = [part for part in _facts(block) if not part.startswith(tuple(f"{name}: " for name in without))]
    return "\n\n".join(_named(part) for part in parts)


def _facts(block: str) -> list[str]:
    """Divide a paragraph before each fact, and after one where a line ends with a full stop."""
    starts = [match.start() for match in _FACT.finditer(block)]
    parts = [block[start:end] for start, end in zip([0, *starts], [*starts, len(block)], strict=True)]
    divided = []
    for part in parts:
        first, stop, rest = part.partition(".\n") if _FACT.match(part) else (part, "", "")
        divided += [first + stop.strip(), rest]
    return [one.strip() for one in divided if one.strip()]


def _named(paragraph: str) -> str:
    match = _FACT.match(paragraph)
    if match is None:
        return escaped(paragraph)
    return f"**{match[1]}.** {escaped(sentence(paragraph[match.end() :]))}"


def escaped(text: str) -> str:
    """Keep Markdown from reading marks into prose; code between backticks stays as it is."""
    parts = _CODE.split(text)
    return "".join(part if number % 2 else re.sub(r"([*<\[\]|$])", r"\\\1", part) for number, part in enumerate(parts))


def sentence(text: str) -> str:
    """Begin with a capital letter, and end with a full stop."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; cells are one line each."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def fact_list(facts: Mapping[str, str]) -> str:
    """Write names and what is said of each, as a table without a head."""
    rows = [f"* - {name}\n  - {' '.join(what.split())}" for name, what in facts.items()]
    return "\n".join(["```{list-table}", ":class: facts", ":widths: 22 78", "", *rows, "```"])


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def contents(names: Iterable[str], *, depth: int = 1) -> str:
    """Write a table of contents that the side bar shows and the page does not."""
    return "\n".join(["```{toctree}", ":hidden:", f":maxdepth: {depth}", "", *names, "```"])
