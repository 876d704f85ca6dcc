"""fAML: the fitted network is finetuned on one instance, and the map that a metric likes best is kept.

Steps are AdamW's, without dropout, at a rate that falls linearly to half of itself, as in the published code; the
paper does not say. The maps before the first step and after each are measured; the published code leaves out the last.

`all` changes the encoder and the head, text by text. `head` changes the head alone: states of the encoder are computed
once, each text has a head of its own, and the texts of a batch take their steps together. AdamW works on each number by
itself, so that heads that lie side by side are trained as each would be alone. What is left of a step are the passes of
the model, two rows forward and backward, which bound the gain: about a third of the time of `all` on a CPU.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whylight.core import progress
from whylight.methods._dual_mask import Item, classes_of, terms_of
from whylight.views.attributed import Measure
from whylight.views.attributor import Attributor, aligned
from whylight.views.joint import fits

ROWS = 2
"""Rows of the model in a step: the text under the map, and under its inverse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finetuning:
    """How an instance is finetuned."""

    steps: int
    rate: float
    measure: Measure

    def schedule(self, optimiser: torch.optim.Optimizer) -> Iterator[int]:
        """Yield the numbers of the steps, with the rate of each set."""
        for step in range(self.steps):
            for group in optimiser.param_groups:
                group["lr"] = self.rate * (1 - step / (2 * self.steps))
            yield step


class Best:
    """The best map of an item so far.

    Args:
        item: The item.
        values: Its first map.
        measure: What maps are measured by.
    """

    def __init__(self, item: Item, values: Tensor, measure: Measure) -> None:
        self.item, self.values, self._measure = item, values, measure
        self._value: float | None = None
        self.step = 0

    def consider(self, values: Tensor, step: int) -> None:
        """Keep a map if it is better than all before."""
        view, number = self.item.view, self.item.number
        if self._value is None:
            self._value = view.measure(self._measure, view.to_features(self.values), number)
        value = view.measure(self._measure, view.to_features(values), number)
        if value > self._value:
            self.values, self._value, self.step = values.detach(), value, step


def finetune_all(best: Sequence[Best], network: Attributor, how: Finetuning) -> None:
    """Finetune encoder and head on each item by itself."""
    own = network.copy()
    for one in best:
        own.restore(network)
        optimiser = _optimiser(own.parameters(), how.rate)
        item, told = one.item, classes_of([one.item])
        for step in how.schedule(optimiser):
            with torch.enable_grad():
                (values,) = own.maps([item.reading], told)
                if step:
                    one.consider(values.detach(), step)
                loss = terms_of([item], [values], own).total(own.mask).sum()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            item.view.meter.backward += ROWS + len(item.reading.rows)
            item.view.meter.forward += len(item.reading.rows)
            progress.tell("loss", float(loss.detach()))
            progress.advance(1)
        with torch.no_grad():
            one.consider(own.maps([item.reading], told)[0], how.steps)
        item.view.meter.forward += len(item.reading.rows)


def finetune_heads(best: Sequence[Best], network: Attributor, how: Finetuning) -> None:
    """Finetune a head for each item; those of a batch together."""
    for group in _groups(best):
        items = [one.item for one in group]
        with torch.no_grad():
            states = network.hidden([item.reading for item in items], classes_of(items))
        for item in items:
            item.view.meter.forward += len(item.reading.rows)
        hidden = torch.nn.utils.rnn.pad_sequence(states, batch_first=True)
        heads = {
            name: value.detach().expand(len(items), *value.shape).clone().requires_grad_(True)  # noqa: FBT003  torch's own
            for name, value in network.head().items()
        }
        optimiser = _optimiser(list(heads.values()), how.rate)
        for step in how.schedule(optimiser):
            with torch.enable_grad():
                maps = _maps(items, network.scored(hidden, heads), network)
                _consider(group, maps, step)
                loss = terms_of(items, maps, network).total(network.mask).sum()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            for item in items:
                item.view.meter.backward += ROWS
            progress.tell("loss", float(loss.detach()) / len(items))
            progress.advance(len(items))
        with torch.no_grad():
            _consider(group, _maps(items, network.scored(hidden, heads), network), how.steps)


def _optimiser(weights: list[torch.nn.Parameter] | list[Tensor], rate: float) -> torch.optim.AdamW:
    """Return AdamW, in one piece where torch has it: else a step takes as long as the passes do."""
    fused = all(one.device.type in ("cpu", "cuda") for one in weights)
    return torch.optim.AdamW(weights, lr=rate, fused=fused)


def _maps(items: Sequence[Item], scores: Tensor, network: Attributor) -> list[Tensor]:
    """Turn scores of padded tokens `[items, tokens]` into maps `[positions]`."""
    return [aligned(own, item.reading, network.mask.merge) for item, own in zip(items, scores, strict=True)]


def _consider(group: Sequence[Best], maps: Sequence[Tensor], step: int) -> None:
    for one, values in zip(group, maps, strict=True):
        if step:
            one.consider(values.detach(), step)


def _groups(best: Sequence[Best]) -> Iterator[list[Best]]:
    """Divide items into batches that fit through the model at once; such that cannot share one stand alone.

    Texts of similar length stand together, so that little is padded.
    """
    group: list[Best] = []
    for one in sorted(best, key=lambda one: len(one.item.view.token)):
        if group and not fits([other.item.view.soft for other in (*group, one)], ROWS):
            yield group
            group = []
        group.append(one)
    if group:
        yield group
