"""`whylight datasets`: the corpora that can be read, from their signatures."""

from rich.table import Table

from whylight.explaining.console import Console, say


def datasets() -> None:
    """List the corpora, their splits and settings."""
    from whylight.data.registry import CORPORA  # noqa: PLC0415  loads only when it is needed

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("corpus", "splits", "settings and defaults", "what it is"):
        table.add_column(column)
    for name in CORPORA.names():
        spec = CORPORA[name]
        settings = ", ".join(f"{one.name}={one.default}" for one in spec.settings.values())
        table.add_row(name, " ".join(spec.facts["splits"]) or "its files", settings, spec.summary)
    Console().print(table)
    say("Use: --data CORPUS:PATH, or the path of a file of your own.", style="dim")
