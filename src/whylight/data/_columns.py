"""Which columns (keys) a record of one's own may have, and which are taken for a slip.

- A column that is not read is named in the notes, once: `id`, `source`, `date` and the like stop nobody.
- A column that is spelt almost like one that is read (`rational`, `Label`, `splits`), in a record that lacks that one,
  is refused: it would be lost in silence. The setting `ignore` lists columns that are meant to be left alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from whylight.data._checks import Flaw, quotable

TEXTS = ("text", "words", "tokens")
"""Columns of which a record has at least one."""
_GROUPS = (("rationale", "rationales"), ("label", "labels"), ("text",), ("pair",), ("split",))
"""Columns whose loss would change what the record says; those of a group stand for each other."""
KNOWN = (*(name for group in _GROUPS for name in group), "id", "words", "tokens", "pair_words", "pair_tokens")
PLAIN = ("text", "pair", "label", "split", "id")
"""Columns that hold one value each."""
_CLOSE = 0.8
_LONGEST = 40
"""Longer names are slips of nothing."""
_LISTED = 10
"""Columns that are named in the notes."""


def meant_by(name: str) -> str | None:
    """Return the column that a name is probably a slip of, if any."""
    if name in KNOWN or len(name) > _LONGEST:
        return None
    plain = name.strip().casefold().replace("-", "_").replace(" ", "_")
    names = [one for group in _GROUPS for one in group]
    return next(iter(get_close_matches(plain, names, n=1, cutoff=_CLOSE)), None)


@dataclass(slots=True)
class Columns:
    """The columns that the records of a file have had so far.

    Attributes:
        ignored: Columns that are left alone, as the user said.
        unread: Those that are not read, in the order of the file.
    """

    ignored: frozenset[str]
    unread: dict[str, None] = field(default_factory=dict)
    _seen: set[tuple[str, ...]] = field(default_factory=set)

    def read(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a row without what is absent in it, or is to be left alone."""
        self._check(row)
        kept = ((key, value) for key, value in row.items() if key not in self.ignored)
        return {key: value for key, value in kept if value is not None and (value != "" or key == "text")}

    def _check(self, row: Mapping[str, Any]) -> None:
        """Refuse a record with a column that is probably a slip; remember those that are not read."""
        if (names := tuple(row)) in self._seen:
            return
        for name in names:
            if name in KNOWN or name in self.ignored:
                continue
            if (meant := meant_by(name)) and not any(one in row for one in _group(meant)):
                raise Flaw(
                    f"has '{quotable(name)}', which is not read; rename it to '{meant}', or leave it alone with the "
                    f"setting ignore={quotable(name)}"
                )
            if len(self.unread) <= _LISTED:
                self.unread[name] = None
        if len(self._seen) <= _LISTED:
            self._seen.add(names)

    @property
    def note(self) -> str | None:
        """What is not read, as a note."""
        listed = ", ".join(quotable(name) or "one without a name" for name in [*self.unread][:_LISTED])
        more = " and more" if len(self.unread) > _LISTED else ""
        return f"the columns {listed}{more}" if self.unread else None


def _group(name: str) -> tuple[str, ...]:
    return next(group for group in _GROUPS if name in group)
