"""What a method gives back where it has more to say than numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from whylight.core.arrays import Floats
from whylight.core.inputs import JsonValue


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores, and what the receipt has to say about them.

    Attributes:
        values: `[targets, features]`, or one row where the targets share it.
        gap: By how much the rows miss what they should sum to, `[rows]`; None where they promise no sum.
        signed: Whether negative scores mean evidence against the target; None for what the method declares.
        notes: What happened on the way, in sentences.
        resolved: What settings stood for, by name, where the method itself finds that out.
        interrupted: Whether Ctrl-C ended the work early, and these are the best scores so far.
    """

    values: Floats
    gap: Floats | None = None
    signed: bool | None = None
    notes: tuple[str, ...] = ()
    resolved: Mapping[str, JsonValue] = field(default_factory=dict)
    interrupted: bool = False
