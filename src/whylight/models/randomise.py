"""A twin of a classifier whose weights are drawn anew, from the head downwards: what a model is without its training.

    level 1: the head, that is every module outside the base model, and the pooler
    level 2: the top layer as well, with what stands between it and the head (a final norm)
    ...
    last level: everything, embeddings included

Layers are the entries of the base model's outermost module lists, whatever the architecture calls them. Where layers
share their weights (ALBERT) they are one level, because one cannot be drawn anew without the others.

Weights are drawn by the model's own initialiser, on the CPU, from the seed alone: the same seed gives an upper level
the same new weights however far down the cascade goes. The initialiser skips what is marked as loaded from a
checkpoint, so that the marks are taken off the copy. Its weights are emptied before, so that one that the initialiser
does not reach is seen, and refused.
Reference: Adebayo et al. 2018 (cascading randomisation). Cost: a copy of the model; no passes.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import nn
from transformers import PreTrainedModel

from whylight.core.errors import IncompatibleError, SettingError
from whylight.core.setting import SEEDS
from whylight.models.holding import held
from whylight.views.classifier import Classifier

Initialiser = Literal["library", "xavier"]
HEAD, EMBEDDINGS = "head", "embeddings"
_LOADED_FLAG = "_is_hf_initialized"


@dataclass(frozen=True, slots=True)
class CascadeLevel:
    """One step of the cascade.

    Attributes:
        name: `head`, `layer 12` and so on down to `layer 1`, `embeddings`; `shared layers` where all are one.
        parameters: Names of the weights that it draws anew, beyond those of the levels above it.
    """

    name: str
    parameters: tuple[str, ...]


@runtime_checkable
class OnModel(Classifier, Protocol):
    """A classifier on a model of transformers, which can be put on another one.

    Attributes:
        model: The model.
    """

    model: Any

    def with_model(self, model: Any, *, identity: str) -> "OnModel":  # noqa: ANN401  transformers' own type
        """Return the same classifier on another model of the same shape.

        Args:
            model: The model.
            identity: A name for receipts.
        """
        ...


def levels_of(classifier: Classifier) -> tuple[CascadeLevel, ...]:
    """Return the levels of a classifier from the head down; every weight is in one of them."""
    model = _with_weights(classifier).model
    base = _base(model)
    in_base, layers = set(_module_ids([base])), _layers(base)
    pooler = getattr(base, "pooler", None)
    outside = [id(parameter) for parameter in model.parameters() if id(parameter) not in in_base]
    groups = [(HEAD, [*outside, *_module_ids([pooler] if isinstance(pooler, nn.Module) else [])])]
    names = _layer_names(base, len(layers))
    groups += [(name, _module_ids(modules)) for name, modules in zip(names, reversed(layers), strict=True)]
    groups.append((EMBEDDINGS, _module_ids([base])))
    named = {id(parameter): name for name, parameter in model.named_parameters()}
    found: list[CascadeLevel] = []
    for name, own in groups:
        fresh = tuple(named.pop(one) for one in own if one in named)
        if fresh:
            found.append(CascadeLevel(name, fresh))
    return tuple(found)


def randomise(classifier: Classifier, *, depth: int, seed: int = 0, initialiser: Initialiser = "library") -> OnModel:
    """Return a twin with new weights in the uppermost levels; the classifier itself stays as it is.

    Args:
        classifier: What `wl.load` returned for a Hugging Face model.
        depth: How many levels get new weights; 1 is the head alone.
        seed: Same seed, same weights.
        initialiser: `library` draws all weights of the levels as the library does; `xavier` those of the last linear
            layer of the head alone, uniformly after Glorot and Bengio 2010, as Pham et al. 2022 do.
    """
    if initialiser == "xavier":
        return _with_new_matrix(_with_weights(classifier), depth=depth, seed=seed)
    own, levels = _with_weights(classifier), levels_of(classifier)
    if not 1 <= depth <= len(levels):
        raise SettingError(f"this model has {len(levels)} levels of weights; 'depth' must lie in 1 to {len(levels)}.")
    check_seed(seed)
    twin = _copied(own.model)
    _draw_weights(twin, seed=seed)
    _put_back(twin, own.model, new={name for level in levels[:depth] for name in level.parameters})
    name = f"{own.identity} (weights of seed {seed} down to {levels[depth - 1].name})"
    return own.with_model(twin.to(own.model.device), identity=name)


def _with_new_matrix(own: OnModel, *, depth: int, seed: int) -> OnModel:
    """Return a twin whose last linear layer has another matrix; its bias and all else stay."""
    if depth != 1:
        raise SettingError("the initialiser 'xavier' draws the last linear layer of the head alone: use depth 1.")
    check_seed(seed)
    twin, head = _copied(own.model), {name for level in levels_of(own)[:1] for name in level.parameters}
    last = [m for name, m in twin.named_modules() if isinstance(m, nn.Linear) and f"{name}.weight" in head]
    if not last:
        raise IncompatibleError(f"the head of '{type(own.model).__name__}' has no linear layer to draw anew.")
    with torch.no_grad():
        nn.init.xavier_uniform_(last[-1].weight, generator=torch.Generator().manual_seed(seed))
    return own.with_model(twin.to(own.model.device), identity=f"{own.identity} (last matrix of seed {seed}, Xavier)")


def check_seed(seed: int) -> None:
    """Refuse a seed that random generators do not take."""
    if not 0 <= seed < SEEDS:
        raise SettingError(f"the setting 'seed' must lie between 0 and {SEEDS - 1}, not {seed}.")


def _with_weights(classifier: Classifier) -> OnModel:
    if not isinstance(classifier, OnModel) or not isinstance(classifier.model, PreTrainedModel):
        raise IncompatibleError(
            f"{classifier.kind} has no weights that could be randomised; load a Hugging Face classifier."
        )
    return classifier


def _base(model: PreTrainedModel) -> PreTrainedModel:
    """Return the part of a model that is below its head."""
    base = model.base_model
    inside = [child for child in model.children() if isinstance(child, PreTrainedModel)]
    if base is not model:
        return base
    if len(inside) == 1:  # a network of one's own around an encoder
        return inside[0]
    raise IncompatibleError(
        f"the head of '{type(model).__name__}' cannot be told from the rest, so that it cannot be randomised alone."
    )


def _layers(base: nn.Module) -> list[list[nn.Module]]:
    """Return the modules of each layer from the bottom up; what follows the layers belongs to the uppermost one."""
    outermost: list[str] = []
    stacks: dict[str, list[nn.ModuleList]] = {}
    for name, module in base.named_modules():
        within = any(name.startswith(f"{one}.") for one in outermost)
        if isinstance(module, nn.ModuleList) and not within and _module_ids([module]):
            outermost.append(name)
            stacks.setdefault(name.rpartition(".")[0], []).append(module)
    layers: list[list[nn.Module]] = []
    for side_by_side in stacks.values():  # XLM keeps the attentions and the feed-forward parts of its layers apart
        most = max(len(one) for one in side_by_side)
        layers += [list(parts) for parts in zip(*(one for one in side_by_side if len(one) == most), strict=True)]
    if layers:
        children = dict(base.named_children())
        last = max(list(children).index(name.partition(".")[0]) for name in outermost)
        layers[-1] += list(children.values())[last + 1 :]
    return layers


def _layer_names(base: PreTrainedModel, count: int) -> list[str]:
    """Name layers from the top down; fewer of them than the model counts are groups that share weights."""
    if count >= getattr(base.config.get_text_config(), "num_hidden_layers", 0):
        return [f"layer {number}" for number in range(count, 0, -1)]
    return ["shared layers"] if count == 1 else [f"layer group {number}" for number in range(count, 0, -1)]


def _module_ids(modules: Iterable[nn.Module]) -> list[int]:
    return [id(parameter) for module in modules for parameter in module.parameters()]


def _copied(model: PreTrainedModel) -> PreTrainedModel:
    try:
        with held(model):  # hooks of another thread would be copied too
            return copy.deepcopy(model).to("cpu")
    except (RuntimeError, TypeError, ValueError) as error:
        raise IncompatibleError(
            f"'{type(model).__name__}' cannot be copied, and only a copy is randomised: {error}"
        ) from error


@torch.no_grad()
def _draw_weights(twin: PreTrainedModel, *, seed: int) -> None:
    """Draw every weight of a copy anew; one that the initialiser does not reach is left without a value."""
    for part in (*twin.modules(), *twin.parameters(), *twin.buffers()):
        vars(part).pop(_LOADED_FLAG, None)
    for parameter in twin.parameters():
        if parameter.is_floating_point():
            parameter.fill_(torch.nan)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        twin.initialize_weights()


@torch.no_grad()
def _put_back(twin: PreTrainedModel, model: PreTrainedModel, *, new: set[str]) -> None:
    """Give a copy the model's own weights again, but for the new ones."""
    originals = dict(model.named_parameters())
    for name, parameter in twin.named_parameters():
        if name not in new:
            parameter.copy_(originals[name])
        elif not (parameter.is_floating_point() and bool(parameter.isfinite().all())):
            raise IncompatibleError(
                f"the initialiser of '{type(model).__name__}' does not draw '{name}', so that it cannot be randomised."
            )
    for buffer, original in zip(twin.buffers(), model.buffers(), strict=True):
        buffer.copy_(original)
