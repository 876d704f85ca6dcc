"""`whylight serve`: the reviewer's workbench, a web page on this machine."""

import secrets
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whylight.cli.completion import complete_methods
from whylight.cli.data import (
    DataSettings,
    DropBroken,
    LabelColumn,
    MapLabel,
    PairColumn,
    RationaleColumn,
    TextColumn,
    read_data,
    say_losses,
)
from whylight.cli.models import AskedBy, Device
from whylight.cli.settings import parse_head
from whylight.core.errors import SettingError
from whylight.explaining.console import say

if TYPE_CHECKING:
    from whylight.workbench.bench import Bench
    from whylight.workbench.run_folder import RunFolder

EXAMPLES = """
[bold]Examples[/bold]

whylight serve --model ./my-model --data notes.jsonl

whylight serve --run runs/notes

whylight serve --data reviews.jsonl --method integrated_gradients --method occlusion --db sqlite:///review.db

whylight serve --model ./my-model --data notes.jsonl --host 0.0.0.0 --name review.example.org:8000
"""
MODULES = ("fastapi", "uvicorn", "sqlalchemy", "alembic")
USUAL_PORT = 80
LOCAL = ("localhost", "127.0.0.1", "[::1]")


def serve(  # noqa: PLR0913  one parameter an option
    *,
    data: Annotated[str | None, typer.Option(help="Documents to review: CORPUS:PATH or a file.")] = None,
    split: Annotated[str, typer.Option(help="Split of the corpus.")] = "test",
    run: Annotated[
        Path | None,
        typer.Option(
            help="Folder of `whylight run` or `evaluate`: its texts, model and methods, unless others are named, and "
            "its explanations where they are what would be made here."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Folder or hub id. [dim]\\[default: that of --run, else the bundled sentiment model][/]"),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Method that explains, may be repeated; the first is shown first. [dim]\\[default: two that work][/]",
            autocompletion=complete_methods,
        ),
    ] = None,
    db: Annotated[
        str, typer.Option(help="Where reviews are kept: a URL of SQLite or PostgreSQL.")
    ] = "sqlite:///review.db",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", help="What browsers call the server, where that is another name."),
    ] = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    rationale_column: RationaleColumn = None,
    map_label: MapLabel = None,
    data_settings: DataSettings = None,
    drop_broken: DropBroken = False,
    prompt: AskedBy = None,
    device: Device = None,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Open a web page on which people check what a model decided, and correct it.

    It listens on this machine alone. With --host it can be reached from others, who need the password that is printed.
    """
    options = locals()
    _require_libraries()
    from whylight.models.load import load  # noqa: PLC0415  torch loads only when it is needed
    from whylight.workbench.app import make_app  # noqa: PLC0415
    from whylight.workbench.bench import make_bench  # noqa: PLC0415
    from whylight.workbench.database import open_database  # noqa: PLC0415
    from whylight.workbench.listening import listen, opened  # noqa: PLC0415
    from whylight.workbench.run_folder import open_run  # noqa: PLC0415

    password = None if is_loopback(host) else secrets.token_urlsafe(16)
    known = None if run is None else open_run(run)
    records = None if data is None else read_data(data, split=split, options=options, labelled=False)
    if records is not None:
        say_losses(records)
    elif known is not None:
        records = known.documents()
    engine = open_database(db)
    classifier = load(
        known.model if model is None and known else model, head=parse_head(head), prompt=prompt, device=device
    )
    methods = method or (known.methods if known else ())
    bench = make_bench(engine, classifier, records, methods=methods, password=password, asked=_asked(head, prompt))
    if known is not None:
        _take_over(known, bench)
    with opened(host, port) as place:
        number = place.getsockname()[1]
        hosts = [*(name or ()), *(one for own in (*LOCAL, host) for one in names_of(own, number))]
        say(f"{bench.journal.count():,} documents; reviews are kept in {engine.url.render_as_string()}")
        say(f"open http://{hosts[0] if name else f'localhost:{number}'} (Ctrl-C stops the server)")
        if password is not None:
            say(f"password: {password}")
        listen(make_app(bench, hosts=hosts), place)


def _asked(head: str | None, prompt: str | None) -> list[str]:
    """Return how a command asks for the same model, beside its name."""
    given = {"--head": head, "--prompt": prompt}
    return [word for name, value in given.items() if value is not None for word in (name, value)]


def _take_over(known: "RunFolder", bench: "Bench") -> None:
    """Use what a run has explained, and say what of it is made anew."""
    taken = known.lend(bench.desk)
    say(f"{taken.explanations:,} explanations of '{known.folder}' are used")
    for method, reason in taken.reasons.items():
        say(f"{f'those of {method}' if method else 'its explanations'} are made anew: {reason}")


def names_of(host: str, port: int) -> list[str]:
    """Return what browsers call a port of a host: the usual port is left out, and addresses of IPv6 are in brackets."""
    own = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return [f"{own}:{port}", *([own] if port == USUAL_PORT else [])]


def is_loopback(host: str) -> bool:
    """Say whether an address is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _require_libraries() -> None:
    if any(find_spec(one) is None for one in MODULES):
        raise SettingError('the workbench needs more packages: pip install "whylight[web]".')


serve.__doc__ = f"{serve.__doc__}\n{EXAMPLES}"
