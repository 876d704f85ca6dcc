"""The commands that the documentation shows are commands that there are: options and names are known."""

import itertools
import re
import shlex
from collections.abc import Iterator

import pytest
from command_pages import commands, options_of
from written_pages import DOCS, ROOT

from whylight.core.registry import METHODS, METRICS, OBJECTIVES, REMOVERS, Registry
from whylight.data.registry import CORPORA

NAMED: dict[str, Registry] = {
    "--method": METHODS,
    "--against": METHODS,
    "--metric": METRICS,
    "--remover": REMOVERS,
    "--metric-remover": REMOVERS,
    "--objective": OBJECTIVES,
}
"""Options that name a plug-in."""
OWN = {"my_method", "limes"}
"""What a page makes up: a plug-in of the reader's, and a slip."""
_BLOCK = re.compile(r"^```(?:bash|text)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(whylight [a-z]+ [^`]*)`")


def shown(text: str) -> Iterator[str]:
    """Yield the commands of a page."""
    for block in _BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            at = re.search(r"(?:^|[|$!] )\s*(whylight [a-z].*)", line)
            if at and "..." not in line:
                yield at[1]
    yield from (one for one in (" ".join(found.split()) for found in _INLINE.findall(text)) if "..." not in one)


def wrong(command: str) -> list[str]:
    """What a command says that there is not."""
    _, name, *arguments = shlex.split(command, comments=True)
    if name not in commands():
        return [name]
    known = {spelling for one in options_of(commands()[name]) for spelling in one.shown.split(", ")}
    found = [one for one in arguments if one.startswith("--") and not {one, one.split("=")[0]} & known]
    for option, value in itertools.pairwise(arguments):
        plug_in = re.split(r"[\[@=]", value)[0]
        if option in NAMED and plug_in not in OWN and plug_in not in {*NAMED[option].names(), *aliases(NAMED[option])}:
            found.append(value)
        if (
            option in ("--data", "--dev")
            and ":" in value
            and "://" not in value
            and value.split(":")[0] not in CORPORA.names()
        ):
            found.append(value)
    return found


def aliases(registry: Registry) -> set[str]:
    return {short for name in registry.names() for short in registry[name].aliases}


PAGES = {path: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *DOCS.rglob("*.md")]}
SHOWN = sorted({(command, str(path.relative_to(ROOT))) for path, text in PAGES.items() for command in shown(text)})


def test_every_command_of_the_documentation_is_one() -> None:
    assert len(SHOWN) > 80
    assert [(path, command, wrong(command)) for command, path in SHOWN if wrong(command)] == []


@pytest.mark.parametrize(
    "slip",
    [
        "whylight explian x",
        "whylight explain x --methods lime",
        "whylight explain x --method limee",
        "whylight evaluate --data ssst:x",
    ],
)
def test_a_slip_would_be_found(slip: str) -> None:
    assert wrong(slip)
