"""What a method gives back where it has more to say than numbers."""

from dataclasses import dataclass

from whylight.core.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores, and what the receipt has to say about them.

    Attributes:
        values: `[targets, features]`, or one row where the targets share it.
        gap: By how much the rows miss what they should sum to, `[rows]`; None where they promise no sum.
        signed: Whether negative scores mean evidence against the target; None for what the method declares.
        notes: What happened on the way, in sentences.
    """

    values: Floats
    gap: Floats | None = None
    signed: bool | None = None
    notes: tuple[str, ...] = ()
