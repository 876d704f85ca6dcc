"""Finding plug-ins: every module of a package is imported once, and other packages may add theirs by entry point."""

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points


@cache
def load_all(package: str) -> None:
    """Import every public module of a package, and every module that an installed package offers for it.

    Args:
        package: Dotted name, e.g. `"whylight.methods"`; also the name of the entry-point group.
    """
    found = importlib.import_module(package)
    for module in pkgutil.iter_modules(found.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package}.{module.name}")
    for entry in entry_points(group=package):
        entry.load()
