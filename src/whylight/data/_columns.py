"""Which columns (keys) a record of one's own may have, which of them the user calls otherwise, and which are slips.

- A column that the user names (`text_column=review`) is read as what it is to hold; a column of that usual name is then
  one that is not read. A label that is a list is read as `labels`, a rationale that is an object as `rationales`.
- A column that is not read is named in the notes, once: `id`, `source`, `date` and the like stop nobody.
- A column that is spelt almost like one that is read (`rational`, `Label`, `splits`), in a record that lacks that one,
  is refused: it would be lost in silence. The setting `ignore` lists columns that are meant to be left alone.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any

from whylight.core.errors import SettingError, unknown
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
_MOST_KNOWN = 50
"""Columns that a message lists."""


@dataclass(frozen=True, slots=True)
class Named:
    """The columns that the user calls by name, by what they hold; None is called as it is here."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    rationale: str | None = None

    def __post_init__(self) -> None:
        asked = [one.name for one in fields(self) if getattr(self, one.name) is not None]
        if len(self.roles) < len(asked):
            raise SettingError(f"one column cannot hold both the {' and the '.join(asked)}; name one for each.")

    @property
    def roles(self) -> dict[str, str]:
        """What each named column holds, by the name of the column."""
        return {str(getattr(self, one.name)): one.name for one in fields(self) if getattr(self, one.name) is not None}

    def check(self, columns: Iterable[str], where: object) -> None:
        """Refuse a column that is not there, with those that are."""
        known = list(columns)
        for column in self.roles:
            if column not in known:
                names = map(quotable, known)
                raise unknown(f"column of '{quotable(where)}'", quotable(column), names, most=_MOST_KNOWN)


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
        named: Columns that the user calls by name.
        needed: What a record must have in a column that is named, e.g. `"text"`.
        unread: Those that are not read, in the order of the file.
        found: All that there are, where the user calls some by name.
    """

    ignored: frozenset[str]
    named: Named = field(default_factory=Named)
    needed: tuple[str, ...] = ("text",)
    unread: dict[str, None] = field(default_factory=dict)
    found: dict[str, None] = field(default_factory=dict)
    _seen: set[tuple[str, ...]] = field(default_factory=set)

    def read(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a row by what its columns hold, without what is absent in it, or is to be left alone."""
        row = self._by_role(row) if self.named.roles else row
        self._check(row)
        kept = ((key, value) for key, value in row.items() if key not in self.ignored)
        return {key: value for key, value in kept if value is not None and (value != "" or key == "text")}

    def _by_role(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Call columns that the user names by what they hold; those that are usually called so are not read."""
        self.found |= dict.fromkeys(row) if len(self.found) <= _MOST_KNOWN else {}
        roles = self.named.roles
        for column, role in roles.items():
            if role in self.needed and row.get(column) in (None, ""):
                others = "" if column in row else f"; it has {', '.join(quotable(one) for one in [*row][:_MOST_KNOWN])}"
                raise Flaw(f"has nothing in '{quotable(column)}', which is to hold the {role}{others}")
        displaced = {name for role in roles.values() for name in _group(role)} - {*roles}
        self.unread |= dict.fromkeys(name for name in row if name in displaced)
        kept = {name: value for name, value in row.items() if name not in displaced}
        return {_key(name, roles[name], value) if name in roles else name: value for name, value in kept.items()}

    def _check(self, row: Mapping[str, Any]) -> None:
        """Refuse a record with a column that is probably a slip; remember those that are not read."""
        if (names := tuple(row)) in self._seen:
            return
        for name in names:
            if name in KNOWN or name in self.ignored:
                continue
            meant = meant_by(name)
            if meant and meant not in self.ignored and not any(one in row for one in _group(meant)):
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


def _key(column: str, role: str, value: object) -> str:
    """Return what a named column is read as: one label or several, one rationale or one per label."""
    start = value.lstrip()[:1] if isinstance(value, str) else ""
    if role == "label" and (isinstance(value, list | tuple) or (start == "[" and _is_list(str(value)))):
        return "labels"
    if role == "rationale" and (isinstance(value, Mapping) or start == "{"):
        return "rationales"
    return column if column in _group(role) else role


def _is_list(cell: str) -> bool:
    """Say whether a cell is meant as a list of labels; "[SPAM]" is a label."""
    try:
        return isinstance(json.loads(cell), list)
    except (ValueError, RecursionError):
        return cell.lstrip("[ ")[:1] == '"'  # a list with a slip, which is refused where it is read


def _group(name: str) -> tuple[str, ...]:
    return next(group for group in _GROUPS if name in group)
