"""Pages of the Python names: those of `whylight`, what comes back from them, and what plug-ins are written with."""

import dataclasses
import inspect
import typing
from collections.abc import Iterable, Iterator
from typing import Any, get_args, get_type_hints

from plugin_pages import KINDS
from usage import guides_calling
from written import contents, escaped, table

import whylight as wl
from whylight import testing
from whylight.core import registry
from whylight.core.scores import Scores
from whylight.data.registry import corpus
from whylight.views.batch import Variants

LEAD = (
    "`import whylight as wl` is all that is needed; it is quick, because nothing is loaded before it is used. "
    "Everything after the subject of a call is keyword-only."
)
BACK = "Classes that the functions of `whylight` return, or that those hold. All are plain records with attributes."
AUTHORS = (registry.method, registry.metric, registry.remover, registry.objective, corpus, Scores, Variants)
"""What plug-ins are written with, besides the views that they consume."""


def name_pages() -> dict[str, str]:
    """Return all pages of Python names, by their path below `reference/`."""
    public = {name: getattr(wl, name) for name in wl.__all__}
    back = [one for one in returned(public.values()) if one not in public.values()]
    pages = {f"python/{name}.md": _page(f"whylight.{name}", value, name) for name, value in public.items()}
    pages |= {f"results/{one.__name__}.md": _page(_address(one), one, one.__name__) for one in back}
    pages["python/index.md"] = _index("Python", LEAD, {f"wl.{name}": value for name, value in public.items()})
    pages["results/index.md"] = _index("What comes back", BACK, {one.__name__: one for one in back})
    pages["authors/index.md"] = _authors()
    return pages


def _index(title: str, lead: str, values: dict[str, Any]) -> str:
    names = {shown: shown.removeprefix("wl.") for shown in values}
    rows = [(f"[`{shown}`]({names[shown]}.md)", _summary(value)) for shown, value in values.items()]
    return "\n\n".join([f"# {title}", lead, table(("name", "what it is"), rows), contents(names.values())]) + "\n"


def _authors() -> str:
    views = sorted({view for kind in KINDS for view in consumed(kind.registry)}, key=lambda one: one.__name__)
    checks = [getattr(testing, name) for name in testing.__all__]
    parts = [
        "# For authors of plug-ins",
        "How to write one: [](../../howto/own_plugin.md).",
        "## Decorators, and what a plug-in may return",
        *(_documented(_address(one), one) for one in AUTHORS),
        "## What a plug-in is given",
        *(_documented(_address(one), one) for one in views if one not in AUTHORS),
        "## Checks: whylight.testing",
        *(_documented(f"whylight.testing.{one.__name__}", one) for one in checks),
    ]
    return "\n\n".join(parts) + "\n"


def consumed(registered: registry.Registry) -> Iterator[type]:
    """Yield the types of this package that plug-ins of a kind take, but for those that have pages of their own."""
    own = {id(getattr(wl, name)) for name in wl.__all__} | {id(one) for one in returned_publicly()}
    for name in registered.names():
        for hint in registered[name].consumes:
            yield from (one for one in _classes(hint) if id(one) not in own)


def returned_publicly() -> list[type]:
    """Return the classes that the public names give back."""
    return returned(getattr(wl, name) for name in wl.__all__)


def returned(values: Iterable[Any]) -> list[type]:
    """Return classes of this package that functions return, or that attributes of public classes hold, all the way."""
    found: dict[type, None] = {}
    waiting = list(values)
    while waiting:
        value = waiting.pop(0)
        hints = _hints(value)
        for hint in hints:
            for one in _classes(hint):
                if one not in found:
                    found[one] = None
                    waiting.append(one)
    return sorted(found, key=lambda one: one.__name__)


def _hints(value: Any) -> list[Any]:  # noqa: ANN401
    if inspect.isfunction(value):
        return [_types(value).get("return")]
    if not inspect.isclass(value):
        return []
    fields = _types(value) if dataclasses.is_dataclass(value) else {}
    hints = [hint for name, hint in fields.items() if not name.startswith("_")]
    properties = (one for name, one in vars(value).items() if isinstance(one, property) and not name.startswith("_"))
    return hints + [_types(one.fget).get("return") for one in properties if one.fget is not None]


def _types(value: Any) -> dict[str, Any]:  # noqa: ANN401
    try:
        return get_type_hints(value)
    except NameError:  # a type that only type checkers import: nothing is said of those that need it
        return {name: one for name, one in inspect.get_annotations(value).items() if not isinstance(one, str)}


def _classes(hint: Any) -> Iterator[type]:  # noqa: ANN401
    if inspect.isclass(hint) and hint.__module__.startswith("whylight.") and not typing.get_args(hint):
        yield hint
    for part in get_args(hint):
        yield from _classes(part)


def _page(address: str, value: Any, name: str) -> str:  # noqa: ANN401
    parts = [f"# {'wl.' if address == f'whylight.{name}' else ''}{name}", _documented(address, value)]
    used = guides_calling(name)
    if used:
        parts += ["## Guides that use it", "\n".join(f"- {one}" for one in used)]
    return "\n\n".join(parts) + "\n"


def _documented(address: str, value: Any) -> str:  # noqa: ANN401
    if inspect.ismodule(value):
        body = f".. automodule:: {address}\n   :members:\n"
    elif inspect.isclass(value):
        module, _, name = address.rpartition(".")
        members = "   :members:\n" if not issubclass(value, Exception) else ""
        body = f".. autoclass:: {module}.{name}\n{members}"
    else:
        body = f".. autofunction:: {address}{_plain_signature(value)}\n"
    return f"```{{eval-rst}}\n{body}```"


def _plain_signature(function: Any) -> str:  # noqa: ANN401
    """Write a signature without types, which the list of parameters has."""
    signature = inspect.signature(function)
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _address(value: Any) -> str:  # noqa: ANN401
    return f"{value.__module__}.{value.__qualname__}"


def _summary(value: Any) -> str:  # noqa: ANN401
    return escaped((inspect.getdoc(value) or "").split("\n", 1)[0])
