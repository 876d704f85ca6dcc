"""`whylight explain`: explain texts from the command line."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import Annotated, cast

import typer

from whylight.cli.limits import Budget, MaxMemory
from whylight.core import evidence as evidence_rule, printable
from whylight.core.errors import InputError, SettingError, unknown
from whylight.core.explanation import Explanation
from whylight.core.interruption import Interrupted
from whylight.core.labels import HEADS, Head
from whylight.core.limits import limited
from whylight.explaining.console import Console, put
from whylight.report import page, terminal
from whylight.report.renderers import with_evidence
from whylight.store import files

PLAIN_WIDTH = 100
MAX_FILE_BYTES = 64 * 2**20
"""As long as a record of a data set may be: ten million words."""


class Format(StrEnum):
    """How explanations are printed."""

    text = "text"
    json = "json"
    html = "html"


EXAMPLES = """
[bold]Examples[/bold]

whylight explain "A gripping, moving film, though the ending drags."

whylight explain "A gripping film." --method lime --method kernel_shap --set samples=1000 --set lime.samples=200

whylight explain --file note.txt --model ./my-model --target all --format html --out note.html

whylight explain "A gripping film." --method attention_rollout --set layer=all --format html --out layers.html

whylight explain "A man sleeps." --pair "A person rests." --model ./my-nli-model --format json
"""


def explain(  # noqa: PLR0913  one parameter an option
    *,
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Texts to explain.")] = None,
    file: Annotated[Path | None, typer.Option(help="Read one text from this file ('-': standard input).")] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="With --file: every line that is not blank is a text.")
    ] = False,
    pair: Annotated[str | None, typer.Option(help="Second text of a pair task, e.g. the hypothesis.")] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Folder or hub id of a classifier. [dim]\\[default: the bundled sentiment model][/]"),
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Method, may be repeated; `whylight methods` lists them.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(help="predicted, all, a label or an index; may be repeated. [dim]\\[default: predicted][/]"),
    ] = None,
    unit: Annotated[str, typer.Option(help="word, token or sentence.")] = "word",
    remover: Annotated[
        str | None, typer.Option(help="mask, unk, delete, pad or zero. [dim]\\[default: what suits the model][/]")
    ] = None,
    score: Annotated[
        str | None, typer.Option(help="logit, probability, log_odds or log_probability. [dim]\\[default: logit][/]")
    ] = None,
    long: Annotated[
        str, typer.Option(help="For texts the model cannot read at once: window, segments, truncate, refuse.")
    ] = "window",
    pieces: Annotated[str, typer.Option(help="A word's score from its tokens': sum, max or mean.")] = "sum",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Setting of a method, may be repeated; lime.samples=200 is for one alone.",
        ),
    ] = None,
    output_format: Annotated[
        Format, typer.Option("--format", help="text, json (one object per line) or html.")
    ] = Format.text,
    evidence: Annotated[
        int, typer.Option(metavar="N", help="List at most N stretches of text that carry each label; 0 for none.")
    ] = evidence_rule.SPANS,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
    budget: Budget = None,
    max_memory: MaxMemory = None,
    head: Annotated[
        str | None, typer.Option(help="softmax, sigmoid or binary, where the model does not say which.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Read at most this many tokens at once.")] = None,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights; they can run code.")
    ] = False,
) -> None:
    """Say which words made a classifier decide."""
    inputs = _with_pair(_texts(texts or [], file, lines=lines), pair)
    given = parse_settings(settings or [])
    evidence_rule.check_evidence(spans=evidence)
    _refuse_missing_folder(out)
    from whylight.explaining.explain import explain_all  # noqa: PLC0415  torch loads only when it is needed
    from whylight.explaining.options import Options  # noqa: PLC0415
    from whylight.models.load import load  # noqa: PLC0415

    options = Options.parse(
        target=_target(target or []), unit=unit, remover=remover, score=score, long=long, pieces=pieces
    )
    classifier = load(model, head=parse_head(head), max_tokens=max_tokens, allow_pickle=allow_pickle)
    try:
        with limited(budget=budget, max_memory=max_memory):
            explanations = explain_all(classifier, inputs, methods=method or None, options=options, settings=given)
    except Interrupted as stopped:  # what was found is shown, and the exit code is that of an interrupt
        _show(stopped.found, output_format, out, evidence=evidence)
        raise
    _show(explanations, output_format, out, evidence=evidence)


explain.__doc__ = f"{explain.__doc__}\n{EXAMPLES}"


def _texts(texts: list[str], file: Path | None, *, lines: bool) -> list[str]:
    """Collect the texts from the arguments and the file."""
    if file is None:
        if not texts:
            raise InputError(
                'there is nothing to explain; give a text or --file, e.g. whylight explain "A gripping film."'
            )
        return texts
    content = _read_bounded(file)
    # `splitlines` would also cut at characters that occur inside texts, such as U+2028
    found = [line.rstrip("\r") for line in content.split("\n") if line.strip()] if lines else [content]
    if not any(one.strip() for one in found):
        raise InputError(f"'{file}' is empty; there is no word to explain.")
    return [*texts, *found]


def _read_bounded(file: Path) -> str:
    """Read a file, or standard input, within a bound: a device may have no end."""
    try:
        with nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read '{file}': {error.strerror}.") from None
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"'{file}' is longer than {MAX_FILE_BYTES:,} bytes; cut it into several files.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"'{file}' is not UTF-8 (byte {error.start}); convert it first, e.g. with iconv.") from None


def _with_pair(texts: list[str], pair: str | None) -> Sequence[str | tuple[str, str]]:
    return texts if pair is None else [(text, pair) for text in texts]


def parse_settings(given: list[str]) -> dict[str, str]:
    """Turn NAME=VALUE and OWNER.NAME=VALUE arguments into settings."""
    settings = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise SettingError(f"--set takes NAME=VALUE, e.g. --set samples=500, not '{one}'.")
        settings[name.strip().replace("-", "_")] = value.strip()
    return settings


def _target(names: list[str]) -> str | list[str]:
    return names if len(names) > 1 else names[0] if names else "predicted"


def parse_head(name: str | None) -> Head | None:
    """Return the head that a name stands for, or raise the error that lists them."""
    for head in HEADS:
        if name == head:
            return head
    if name is not None:
        raise unknown("head", name, HEADS)
    return None


def _refuse_missing_folder(out: Path | None) -> None:
    """Say before the work, not after it, that its result has no place to go."""
    if out is not None:
        with files.said(out):
            if not out.parent.is_dir():
                raise InputError(f"cannot write '{out}': there is no folder '{out.parent}'.")
            if out.is_dir():
                raise InputError(f"cannot write '{out}': it is a folder, not a file.")


def _show(explanations: list[Explanation], output_format: Format, out: Path | None, *, evidence: int) -> None:
    if output_format is Format.text and out is None:
        terminal.render(explanations, console=Console(), evidence=evidence)
        return
    content = _content(explanations, output_format, evidence=evidence)
    if out is None:
        put(content)
    else:
        page.write_page(out, content)


def _content(explanations: list[Explanation], output_format: Format, *, evidence: int) -> str:
    if output_format is Format.json:
        objects = (one for each in explanations for one in with_evidence(each, spans=evidence))
        return "".join(f"{printable.to_json(one)}\n" for one in objects)
    if output_format is Format.html:
        return page.page(explanations, evidence=evidence)
    plain = Console(file=StringIO(), width=PLAIN_WIDTH)
    terminal.render(explanations, console=plain, evidence=evidence)
    return cast("StringIO", plain.file).getvalue()
