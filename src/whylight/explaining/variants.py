"""What a method is run as: its settings, and with `layer=all` one variant for each layer of the model.

A method may be asked for several times with other settings, `lime[samples=200]` and `lime[samples=2000]`; tables then
have a row for each, under that name. A remover may be asked for in the same way, `infill[mode=top1]`, and a method with
a remover of its own, `occlusion[remover=infill]` or `lime[samples=200,remover=infill[mode=top1]]`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from whylight.core.errors import IncompatibleError, SettingError, unknown
from whylight.core.inputs import JsonValue, Settings
from whylight.core.registry import METHODS, Registry, Spec
from whylight.views.classifier import Classifier, Layered

LAYER, ALL, REMOVER = "layer", "all", "remover"
_BRACKETS = re.compile(r"(?P<name>[^\[\]]+)\[(?P<settings>.*)\]", re.DOTALL)
_OWN_NAME = re.compile(r"[^\[\]@]+")
"""A method's own name, before its settings and its layer."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A method, metric or remover as somebody asked for it.

    Attributes:
        name: What tables call it: the full name, with the settings that it was asked for with.
        spec: The plug-in.
        own: Settings that stand in its name.
        remover: What "removed" means to a method that names a remover of its own.
    """

    name: str
    spec: Spec
    own: Mapping[str, str] = field(default_factory=dict)
    remover: str | None = None


def asked_methods(names: Iterable[str]) -> list[Asked]:
    """Return the methods of some names, `lime`, `lime[samples=200,seed=1]` or an alias (`ig`), each method once."""
    return list({one.name: one for one in (asked_plugin(name, METHODS) for name in each_name(names))}.values())


def each_name(names: str | Iterable[str]) -> list[str]:
    """Return the names that a user gives; one alone needs no list, and is not its letters."""
    return [names] if isinstance(names, str) else list(names)


def table_name(name: str) -> str:
    """Return what tables call a method that is asked for: an alias before settings or a layer gives way to its name."""
    own = _OWN_NAME.match(name)
    return name if own is None else METHODS.full_name(own.group()) + name[own.end() :]


def asked_plugin(name: str, registry: Registry) -> Asked:
    """Return the plug-in that a name stands for, which may carry settings: `NAME[SETTING=VALUE,SETTING=VALUE]`."""
    parts = _BRACKETS.fullmatch(name)
    if parts is None:
        spec = registry[name]
        return Asked(spec.name, spec)
    spec, own = registry[parts["name"]], dict[str, str]()
    for pair in _outside_brackets(parts["settings"]):
        setting, equals, value = pair.partition("=")
        if not equals or setting.strip() in own:
            raise SettingError(
                f"a {spec.kind} with settings is {spec.name}[NAME=VALUE,NAME=VALUE], each once, not '{name}'."
            )
        own[setting.strip()] = value.strip()
    remover = own.pop(REMOVER, None) if registry is METHODS and removes(spec) else None
    for setting in own:
        if setting not in spec.settings:
            raise unknown(f"setting of '{spec.name}'", setting, spec.settings)
    return Asked(f"{spec.name}[{parts['settings']}]", spec, own, remover)


def _outside_brackets(text: str) -> list[str]:
    """Divide a text at its commas, but for those within brackets."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def removes(spec: Spec) -> bool:
    """Say whether a method looks at inputs with features removed."""
    return bool(spec.consumes[0].removes)


def plugin_name(name: str) -> str:
    """Return the name of a plug-in without the settings that stand in it."""
    parts = _BRACKETS.fullmatch(name)
    return name if parts is None else parts["name"]


@dataclass(frozen=True, slots=True)
class Variant:
    """A method with complete settings.

    Attributes:
        name: What tables call it: the name it was asked for by, or `NAME@LAYER` where it is one of all layers.
        spec: The method.
        settings: Its settings.
        remover: What "removed" means to it, if it names a remover of its own.
    """

    name: str
    spec: Spec
    settings: Settings
    remover: str | None = None


def variants(classifier: Classifier, asked: Sequence[Asked], given: Mapping[str, object]) -> list[list[Variant]]:
    """Give each method its settings; one that has a layer becomes a variant a layer, the first first, if all are asked.

    Args:
        classifier: The classifier, which says how many layers it has.
        asked: Methods, and metrics where they are given settings together.
        given: Settings as in `share_settings`; those in the name of a method win.
    """
    made = []
    for one, shared in zip(asked, _given_to_each([one.spec for one in asked], given), strict=True):
        spec, own = one.spec, {**shared, **one.own}
        if str(own.get(LAYER)) == ALL:
            settings = spec.complete_settings({**own, LAYER: None})
            layers = range(1, _layer_count(classifier) + 1)
            named = [(f"{one.name}@{layer}", {**settings, LAYER: layer}) for layer in layers]
        else:
            named = [(one.name, spec.complete_settings(own))]
        made.append([Variant(name, spec, settings, one.remover) for name, settings in named])
    return made


def asks_for_layers(methods: Iterable[str], given: Mapping[str, object]) -> bool:
    """Say whether settings ask for every layer, of all methods or of one."""
    own = [pair for one in asked_methods(methods) for pair in one.own.items()]
    return any(name.rpartition(".")[2] == LAYER and str(value) == ALL for name, value in (*own, *given.items()))


def share_settings(specs: Sequence[Spec], given: Mapping[str, object]) -> list[dict[str, JsonValue]]:
    """Give each method those of the settings that it knows, and complete them; a name that none knows is refused.

    Args:
        specs: Methods, metrics or objectives.
        given: Values by `NAME`, for each that has such a setting, if all of these are methods or all are metrics, or by
            `OWNER.NAME`, for one, before the former; the owner may be an alias.
    """
    return [spec.complete_settings(own) for spec, own in zip(specs, _given_to_each(specs, given), strict=True)]


def _given_to_each(specs: Sequence[Spec], given: Mapping[str, object]) -> list[dict[str, object]]:
    """Return what is given to each: what is said to all, and then what is said to it alone."""
    by_name = {spec.name: spec for spec in specs}
    general: dict[str, object] = {}
    specific: dict[str, dict[str, object]] = {name: {} for name in by_name}
    known = sorted({name for spec in specs for name in spec.settings})
    for name, value in given.items():
        owner, dot, setting = name.rpartition(".")
        owner = METHODS.full_name(owner) if dot and owner not in by_name else owner
        if not dot:
            if name not in known:
                raise unknown(f"setting of {' or '.join(map(repr, by_name))}", name, known)
            _check_one_meaning(name, specs)
            general[name] = value
        elif owner not in by_name:
            raise SettingError(f"'{name}' is about '{owner}', which is not asked for; asked for: {', '.join(by_name)}.")
        elif setting not in by_name[owner].settings:
            raise unknown(f"setting of '{owner}'", setting, by_name[owner].settings)
        else:
            specific[owner][setting] = value
    return [
        {name: value for name, value in general.items() if name in spec.settings} | specific[spec.name]
        for spec in specs
    ]


def _check_one_meaning(name: str, specs: Sequence[Spec]) -> None:
    """Refuse a setting of a method that is one of a metric too: it would change what is measured, unasked."""
    owners = {spec.kind: spec for spec in specs if name in spec.settings}
    if len(owners) > 1:
        said = " and ".join(f"the {kind} '{spec.name}'" for kind, spec in owners.items())
        examples = " or ".join(f"{spec.name}.{name}=..." for spec in owners.values())
        raise SettingError(f"'{name}' is a setting of {said}: say which, {examples}")


def _layer_count(classifier: Classifier) -> int:
    if not isinstance(classifier, Layered):
        raise IncompatibleError(
            f"layer=all needs to know how many layers there are, which {classifier.kind} does not say; "
            "name one, e.g. layer=1."
        )
    return classifier.n_layers
