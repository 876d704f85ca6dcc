"""`whylight explain`: explain texts from the command line."""

from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import Annotated, cast

import typer

from whylight.cli.completion import complete_methods, complete_removers
from whylight.cli.data import DropBroken, PairColumn, TextColumn
from whylight.cli.inputs import read_inputs
from whylight.cli.limits import Budget, MaxMemory
from whylight.cli.models import Accelerate, AskedBy, Device, EndpointModel, EndpointSettings, EndpointUrl, named_model
from whylight.cli.settings import parse_head, parse_settings
from whylight.core import evidence as evidence_rule, printable
from whylight.core.errors import InputError
from whylight.core.explanation import Explanation
from whylight.core.interruption import Interrupted
from whylight.core.limits import limited
from whylight.explaining.console import Console, put, say_written
from whylight.store import files

PLAIN_WIDTH = 100


class Format(StrEnum):
    """How explanations are printed."""

    text = "text"
    json = "json"
    html = "html"
    png = "png"


ENDINGS = {".html": Format.html, ".htm": Format.html, ".json": Format.json, ".jsonl": Format.json, ".png": Format.png}
"""What a file holds that ends so, if nobody says otherwise."""
EXAMPLES = """
[bold]Examples[/bold]

whylight explain "A gripping, moving film, though the ending drags."

whylight explain "A gripping film." --method lime --method kernel_shap --set samples=1000 --set lime.samples=200

whylight explain --file note.txt --model ./my-model --target all --format html --out note.html

whylight explain --file reviews.csv --text-column review --method ig --set ig.steps=20 --format json --out reviews.json

whylight explain "A gripping film." --method attention_rollout --set layer=all --format html --out layers.html

whylight explain --image photo.jpg --model ./my-image-model --method occlusion --format html --out photo.html

whylight explain --image photo.jpg --model ./my-image-model --method grad_cam --format png --out photo.png

whylight explain "A gripping film." --endpoint http://127.0.0.1:8000/v1 --endpoint-model my-llm --prompt sentiment

whylight explain "A man sleeps." --pair "A person rests." --model ./my-nli-model --format json

whylight explain --file context.txt --pair "Who sleeps?" --model ./my-llm --prompt question --unit sentence
--target generated
"""


def explain(  # noqa: PLR0913  one parameter an option
    *,
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Texts to explain.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            help="Read one text from this file ('-': standard input), or one per row of a .csv, .tsv, .jsonl or "
            ".parquet file."
        ),
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="With --file: every line that is not blank is a text.")
    ] = False,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    drop_broken: DropBroken = False,
    pair: Annotated[str | None, typer.Option(help="Second text of a pair task, e.g. the hypothesis.")] = None,
    image: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Picture to explain, may be repeated; with --model.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Folder or hub id of a classifier, or an ONNX file; whylight/coder is a bundled model of codes. "
            "[dim]\\[default: the bundled sentiment model][/]"
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Method, may be repeated; `whylight methods` lists them, and short names (ig, shap, ixg, sig).",
            autocompletion=complete_methods,
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="predicted, all, a label or an index; of a language model that writes, generated or a text; may be "
            "repeated. [dim]\\[default: predicted][/]"
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="word (default), token or sentence; of pictures pixel (default), patch, superpixel."),
    ] = None,
    remover: Annotated[
        str | None,
        typer.Option(
            help="mask, unk, delete, pad, zero or infill; of prompts also neutral; of pictures blur, mean, black, "
            "white, noise or backgrounds. [dim]\\[default: what suits the model][/]",
            autocompletion=complete_removers,
        ),
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
        Format | None,
        typer.Option(
            "--format",
            help="text, json (one object per line), html, or png with --out. "
            "[dim]\\[default: as --out ends, else text][/]",
        ),
    ] = None,
    evidence: Annotated[
        int, typer.Option(metavar="N", help="List at most N stretches of text that carry each label; 0 for none.")
    ] = evidence_rule.SPANS,
    evidence_sign: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="Method that says which words speak for a label, beside methods without a sign (attention, saliency): "
            "auto (decompx_linear or input_x_gradient), a method with a sign, or none.",
        ),
    ] = "auto",
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
    budget: Budget = None,
    max_memory: MaxMemory = None,
    prompt: AskedBy = None,
    endpoint: EndpointUrl = None,
    endpoint_model: EndpointModel = None,
    endpoint_settings: EndpointSettings = None,
    device: Device = None,
    accelerate: Accelerate = None,
    head: Annotated[
        str | None, typer.Option(help="softmax, sigmoid, binary or regression, where the model does not say which.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Read at most this many tokens at once.")] = None,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights; they can run code.")
    ] = False,
) -> None:
    """Say which words made a classifier decide."""
    inputs = read_inputs(locals())
    given = parse_settings(settings or [])
    subject = named_model(model, endpoint, endpoint_model, endpoint_settings)
    evidence_rule.check_evidence(spans=evidence)
    _refuse_missing_folder(out)
    form = output_format or _form_of(out)
    if form is Format.png and out is None:
        raise InputError("--format png writes a file; say which by --out, e.g. --out picture.png.")
    from whylight.explaining.explain import explain_all  # noqa: PLC0415  torch loads only when it is needed
    from whylight.explaining.options import Options  # noqa: PLC0415
    from whylight.models.load import load  # noqa: PLC0415

    options = Options.parse(
        target=_target(target or []), unit=unit, remover=remover, score=score, long=long, pieces=pieces
    )
    classifier = load(
        subject,
        head=parse_head(head),
        max_tokens=max_tokens,
        prompt=prompt,
        device=device,
        allow_pickle=allow_pickle,
        accelerate=accelerate,
    )
    try:
        with limited(budget=budget, max_memory=max_memory):
            explanations = explain_all(
                classifier,
                inputs,
                methods=method or None,
                options=options,
                settings=given,
                evidence_sign=evidence_sign if evidence else "none",
            )
    except Interrupted as stopped:  # what was found is shown, and the exit code is that of an interrupt
        _show(stopped.found, form, out, evidence=evidence)
        raise
    except KeyboardInterrupt:
        if file is None:
            raise
        raise KeyboardInterrupt("nothing was kept: `whylight run --out FOLDER` keeps texts as they are done") from None
    _show(explanations, form, out, evidence=evidence)


explain.__doc__ = f"{explain.__doc__}\n{EXAMPLES}"


def _form_of(out: Path | None) -> Format:
    """Return the format that the ending of a file stands for; text, where it stands for none."""
    ending = "" if out is None else out.suffix.lower()
    return ENDINGS.get(ending, Format.text)


def _target(names: list[str]) -> str | list[str]:
    return names if len(names) > 1 else names[0] if names else "predicted"


def _refuse_missing_folder(out: Path | None) -> None:
    """Say before the work, not after it, that its result has no place to go."""
    if out is not None:
        with files.said(out):
            if not out.parent.is_dir():
                raise InputError(f"cannot write '{out}': there is no folder '{out.parent}'.")
            if out.is_dir():
                raise InputError(f"cannot write '{out}': it is a folder, not a file.")


def _show(explanations: list[Explanation], output_format: Format, out: Path | None, *, evidence: int) -> None:
    from whylight.report import page, terminal  # noqa: PLC0415  a sixth of the time that `--help` would take

    if output_format is Format.text and out is None:
        terminal.render(explanations, console=Console(), evidence=evidence)
        return
    if output_format is Format.png and out is not None:
        from whylight.report.displays.explanations import one_picture  # noqa: PLC0415  matplotlib is slow to import

        one_picture(explanations).savefig(out, format="png")
        say_written(out)
        return
    content = _content(explanations, output_format, evidence=evidence)
    if out is None:
        put(content)
    else:
        page.write_page(out, content)
        say_written(out)


def _content(explanations: list[Explanation], output_format: Format, *, evidence: int) -> str:
    from whylight.report import page, terminal  # noqa: PLC0415  as above
    from whylight.report.renderers import with_evidence  # noqa: PLC0415

    if output_format is Format.json:
        objects = (one for each in explanations for one in with_evidence(each, spans=evidence))
        return "".join(f"{printable.to_json(one)}\n" for one in objects)
    if output_format is Format.html:
        return page.page(explanations, evidence=evidence)
    plain = Console(file=StringIO(), width=PLAIN_WIDTH)
    terminal.render(explanations, console=plain, evidence=evidence)
    return cast("StringIO", plain.file).getvalue()
