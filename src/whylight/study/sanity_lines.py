"""What a sanity check found: a line for each method and level; `sanity.py` does the work."""

from dataclasses import dataclass, field

from whylight.core import showing
from whylight.core.arrays import Floats
from whylight.core.inputs import INPUTS, Noun
from whylight.run.summary import Cell
from whylight.store.tables import Row

MEASURES = ("sign_change", "mean_change", "spearman")


@dataclass(frozen=True, slots=True)
class SanityLevel:
    """One step of the cascade.

    Attributes:
        name: The lowest part with new weights; all above it have new ones too.
        flips: Share of texts whose predicted labels are others than those of the untouched model.
    """

    name: str
    flips: Cell


@dataclass(frozen=True, slots=True)
class SanityLine:
    """One method at one level.

    Attributes:
        method: The method.
        level: The level.
        cells: A cell per measure; `sign_change` is missing where scores have no sign.
        values: By measure: what each text has, in the order of the texts, nan where it has no value, `[texts]`.
    """

    method: str
    level: str
    cells: dict[str, Cell]
    values: dict[str, Floats] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SanitySummary:
    """How far explanations change with the weights.

    Attributes:
        levels: From the head down.
        lines: All methods at the first level, `random` last, then those at the next.
        noun: What the inputs are called.
    """

    levels: tuple[SanityLevel, ...]
    lines: tuple[SanityLine, ...]
    noun: Noun = field(default=INPUTS, compare=False)

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    def records(self) -> list[Row]:
        """Return one flat record for each level, method and measure; where there is no value, numbers are None."""
        flips = {level.name: level.flips.mean for level in self.levels}
        return [
            {
                "level": line.level,
                "method": line.method,
                "metric": name,
                "mean": None if cell is None else cell.mean,
                "low": None if cell is None else cell.low,
                "high": None if cell is None else cell.high,
                "texts": 0 if cell is None else cell.texts,
                "flips": flips[line.level],
            }
            for line in self.lines
            for name, cell in ((measure, line.cells.get(measure)) for measure in MEASURES)
        ]
