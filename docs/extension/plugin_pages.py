"""Pages of the plug-ins, one each, from the registries: signatures, docstrings and what decorators declare."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from usage import guides_with
from written import contents, escaped, fact_list, facts_of, sentence, table, told, told_settings

from whylight.core.marked import is_corpus_metric
from whylight.core.registry import METHODS, METRICS, OBJECTIVES, REMOVERS, Registry, Setting, Spec
from whylight.data.registry import CORPORA

BIBLIOGRAPHY = Path(__file__).parents[1] / "reference" / "bibliography.md"
LOOKS_AT = {
    "Game": "presence of words: what the model says of texts with words removed",
    "SoftGame": "how far words are present, as a share that can be optimised",
    "GradientView": "gradient: how the score moves with each word's embedding",
    "TraceView": "what one pass computed: attention, and what each layer did",
    "ActivationView": "maps of a late layer of a network on pictures, and their gradients",
    "SoftPicture": "how far parts of a picture are present, as a share that can be optimised",
    "AttributedView": "a network that was fitted to the model beforehand",
}
"""Views, in the words of someone who reads an explanation; a view that is missing here is told by its own docstring."""
EVIDENCE = {
    "Game": "the model: faithfulness",
    "Rationale": "what people marked: plausibility",
    "Explanation": "another explanation: agreement",
}
"""What a metric holds an explanation against."""
IN_TABLE = ("Cost", "Reference")
"""What the table at the head of a page says, so that the prose below does not."""
TYPES = {bool: "true or false", int: "whole number", float: "number", str: "text", NoneType: "none"}
Facts = Callable[[Spec], Mapping[str, str]]


@dataclass(frozen=True)
class Kind:
    """One kind of plug-ins, and how its pages are made.

    Attributes:
        folder: Folder of the pages below `reference/`.
        title: Title of the list.
        registry: Where they are registered.
        lead: What the list says first.
        facts: What the table at the head of a page says.
        columns: Facts that the list shows.
        use: How one is used, as Markdown.
    """

    folder: str
    title: str
    registry: Registry
    lead: str
    facts: Facts
    columns: tuple[str, ...]
    use: Callable[[Spec], str]


def plugin_pages() -> dict[str, str]:
    """Return all pages of plug-ins, by their path below `reference/`."""
    found = {}
    for kind in KINDS:
        specs = [kind.registry[name] for name in kind.registry.names()]
        found[f"{kind.folder}/index.md"] = _list(kind, specs)
        found |= {f"{kind.folder}/{spec.name}.md": _page(kind, spec) for spec in specs}
    return found


def _list(kind: Kind, specs: list[Spec]) -> str:
    rows = []
    for spec in specs:
        facts = kind.facts(spec)
        rows.append((f"[`{spec.name}`]({spec.name}.md)", escaped(spec.summary), *(facts[one] for one in kind.columns)))
    head = (kind.registry.kind, "what it does", *kind.columns)
    return "\n\n".join([f"# {kind.title}", kind.lead, table(head, rows), contents(spec.name for spec in specs)]) + "\n"


def _page(kind: Kind, spec: Spec) -> str:
    module = import_module(spec.function.__module__).__doc__
    parts = [f"# {spec.name}", told(spec.function.__doc__, without=IN_TABLE), fact_list(_all_facts(kind, spec))]
    parts += ["## How it is defined", told(module, without=IN_TABLE)]
    parts += ["## Settings", _settings(spec), "## Use", kind.use(spec)]
    entry = citation(spec.facts.get("cite", ""))
    parts += ["## Citation", entry] if entry else []
    guides = guides_with(spec.name, kind=kind.registry.kind)
    parts += ["## Guides that use it", "\n".join(f"- {one}" for one in guides)] if guides else []
    return "\n\n".join(parts) + "\n"


def _all_facts(kind: Kind, spec: Spec) -> dict[str, str]:
    """Return what decorators declare, and what docstrings say of cost and reference."""
    module = import_module(spec.function.__module__).__doc__
    said = facts_of(module) | facts_of(spec.function.__doc__)
    return {**kind.facts(spec), **{one.lower(): escaped(sentence(said[one])) for one in IN_TABLE if one in said}}


def _settings(spec: Spec) -> str:
    if not spec.settings:
        return "It has none."
    said = told_settings(spec.function.__doc__)
    rows = [
        (f"`{one.name}`", kind_of(one.type), _default(spec, one), escaped(said.get(one.name, "")))
        for one in spec.settings.values()
    ]
    head = ("name", "type", "default", "")
    return table(head, rows) if any(row[-1] for row in rows) else table(head[:3], [row[:3] for row in rows])


def _default(spec: Spec, one: Setting) -> str:
    return "must be given" if one.name in spec.facts.get("given", {}) else f"`{one.default}`"


def kind_of(hint: Any) -> str:  # noqa: ANN401  a type, a union or a Literal
    """Say in words which values a setting takes."""
    if hint in TYPES:
        return TYPES[hint]
    if get_origin(hint) is Literal:
        return ", ".join(f"`{one}`" for one in get_args(hint))
    return " or ".join(kind_of(one) for one in get_args(hint)) or str(getattr(hint, "__name__", hint))


def citation(key: str) -> str:
    """Return the paper that a key stands for, with a link to the bibliography, or the bare key."""
    if not key:
        return ""
    entries = dict(
        re.findall(r"^\((\w+)\)=\n(.*?)(?=\n\n|\Z)", BIBLIOGRAPHY.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    )
    if key not in entries:
        return f"`{key}`"
    return f"{' '.join(entries[key].split())} ([in the bibliography](../bibliography.md#{key}))"


def _names(spec: Spec, words: Mapping[str, str], *, skip: int = 0) -> str:
    told_types = []
    for one in spec.consumes[skip:]:
        summary = (inspect.getdoc(one) or "").split("\n", 1)[0]
        told_types.append(words.get(one.__name__) or escaped(summary))
    return "; ".join(told_types)


def _method_facts(spec: Spec) -> dict[str, str]:
    facts = spec.facts
    sign = (
        "yes: negative scores speak against the label" if facts["signed"] else "no: scores say how much a word matters"
    )
    found = {"good for": escaped(facts["good_for"]), "looks at": _names(spec, LOOKS_AT), "sign": sign}
    if spec.aliases:
        found["short name"] = ", ".join(f"`{one}`" for one in spec.aliases)
    found["cost for n words, one label"] = escaped(facts["cost"])
    found["one row per label"] = "yes" if facts["class_specific"] else "no: one row holds for all labels"
    if facts["scores"]:
        found["explains"] = ", ".join(f"`{one}`" for one in facts["scores"])
    if facts["complete"]:
        found["sum"] = "scores are meant to add up; the receipt has the gap (`completeness_gap`)"
    if facts["given"]:
        found["needs"] = "; ".join(escaped(one) for one in facts["given"].values())
    return found


def _method_use(spec: Spec) -> str:
    given = "".join(f" --set {name}=./fitted" for name in spec.facts["given"])
    named = "".join(f', {name}="./fitted"' for name in spec.facts["given"])
    return (
        f'```bash\nwhylight explain "A gripping film." --method {spec.name}{given}\n```\n\n'
        f'```python\nwl.explain(clf, "A gripping film.", method="{spec.name}"{named})\n```'
    )


def _metric_facts(spec: Spec) -> dict[str, str]:
    better = "higher" if spec.facts["higher_is_better"] else "lower"
    if is_corpus_metric(spec):
        against = "what people marked in all texts together: plausibility"
    else:
        against = _names(spec, EVIDENCE, skip=1) or "nothing: a property of the explanation alone"
    found = {"better": better, "held against": against}
    if spec.facts["signed"]:
        found["needs"] = "scores with a sign"
    return found


def _metric_use(spec: Spec) -> str:
    tuned = " --tune dev" if "boundary" in spec.settings and spec.settings["boundary"].default is None else ""
    tuned += " --tune dev" if "leave_one_out" in spec.settings else ""
    return f"```bash\nwhylight evaluate --data reviews.jsonl --method lime --metric {spec.name}{tuned}\n```"


def _remover_facts(spec: Spec) -> dict[str, str]:
    windows = spec.consumes[0]
    names = {one.__name__ for one in (get_args(windows) or (windows,))}
    works = {"TokenWindow": "Hugging Face models", "TextWindow": "callables and plain texts"}
    found = {"works on": ", ".join(what for name, what in works.items() if name in names) or ", ".join(names)}
    replacement = spec.facts["replacement"]
    found["the model must have"] = f"a replacement called `{replacement}`" if replacement else "nothing in particular"
    found["draws"] = (
        "several weighted texts per removal; probabilities are averaged" if spec.facts["draws"] else "one text"
    )
    return found


def _remover_use(spec: Spec) -> str:
    return (
        f'```bash\nwhylight explain "A gripping film." --method occlusion --remover {spec.name}\n'
        f"whylight evaluate --data reviews.jsonl --method lime --metric-remover {spec.name}\n```"
    )


def _objective_facts(spec: Spec) -> dict[str, str]:
    needs = ", ".join(need.replace("_", " ") for need in spec.facts["needs"]) or "nothing more"
    teaches = "yes" if spec.facts["classifies"] else "no: `classification` is added"
    return {"weight": f"`{spec.facts['weight']:g}`", "needs": needs, "teaches the labels": teaches}


def _objective_use(spec: Spec) -> str:
    return (
        f"```bash\nwhylight train --data reviews.jsonl --dev more.jsonl --objective {spec.name} --out ./mine\n```\n\n"
        f'```python\nwl.train(None, data, dev, objectives=["{spec.name}={spec.facts["weight"]:g}"], out="mine")\n```'
    )


def _corpus_facts(spec: Spec) -> dict[str, str]:
    splits = ", ".join(f"`{one}`" for one in spec.facts["splits"]) or "what its files say"
    return {"splits": splits, "read from": "a path" if spec.facts["needs_path"] else "nowhere: it is generated"}


def _corpus_use(spec: Spec) -> str:
    if spec.name == "files":
        return 'A path without a corpus name is read this way: `--data reviews.jsonl`, `wl.dataset("reviews.jsonl")`.'
    source = f"{spec.name}:{'path/to/data' if spec.facts['needs_path'] else ''}"
    split = (spec.facts["splits"] or ("test",))[-1]
    return (
        f"```bash\nwhylight evaluate --data {source} --split {split} --sample 100 --method lime\n```\n\n"
        f'```python\ndata = wl.dataset("{source}", split="{split}")\n```'
    )


KINDS = (
    Kind(
        "methods",
        "Methods",
        METHODS,
        "A method gives each word a score. What each looks at, and why it costs what it does: "
        "[](../../explanation/costs.md). Which of them work with your model: `whylight methods --model ./my-model`.",
        _method_facts,
        ("good for", "cost for n words, one label"),
        _method_use,
    ),
    Kind(
        "metrics",
        "Metrics",
        METRICS,
        "A metric says how good an explanation is. *Faithfulness* asks the model whether the words that were named "
        "really matter to it; *plausibility* compares with what people marked; *agreement* compares two explanations.",
        _metric_facts,
        ("better", "held against"),
        _metric_use,
    ),
    Kind(
        "removers",
        "Removers",
        REMOVERS,
        'A remover says what "removed" means. Methods and metrics use the same ones. How to choose: '
        "[](../../howto/removers.md).",
        _remover_facts,
        ("works on", "draws"),
        _remover_use,
    ),
    Kind(
        "objectives",
        "Objectives",
        OBJECTIVES,
        "An objective is one term of a training loss. How to train with them: [](../../howto/train_for_reasons.md).",
        _objective_facts,
        ("weight", "needs"),
        _objective_use,
    ),
    Kind(
        "corpora",
        "Corpora",
        CORPORA,
        "A corpus reads a data set in its own layout. Nothing is downloaded: you give the path. Files of your own: "
        "[](../../howto/own_data.md).",
        _corpus_facts,
        ("splits", "read from"),
        _corpus_use,
    ),
)
