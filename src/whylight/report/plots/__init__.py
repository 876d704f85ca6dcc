"""Pictures of results, drawn with matplotlib.

It is optional, and slow to import: nothing imports the modules here before `check_matplotlib` has been asked.
"""

from importlib.metadata import PackageNotFoundError, version

from whylight.core.errors import WhylightError

LEAST = (3, 11)
"""The first version of matplotlib that shapes and orders letters of every script."""


def check_matplotlib() -> None:
    """Say in one sentence that there is no matplotlib, or one that writes Arabic and Hebrew the wrong way round.

    Raises:
        WhylightError: So it is.
    """
    try:
        found = version("matplotlib")
    except PackageNotFoundError:
        raise WhylightError("pictures need matplotlib: pip install 'whylight[plot]'.") from None
    if tuple(int(part) for part in found.split(".")[:2]) < LEAST:
        least = ".".join(map(str, LEAST))
        raise WhylightError(f"pictures need matplotlib {least}, not {found}: pip install 'whylight[plot]'.")
