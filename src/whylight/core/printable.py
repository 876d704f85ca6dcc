"""Text that cannot steer what shows it.

Labels, ids, file names and messages are other people's text. A terminal takes some characters for commands: escapes
move the cursor, rewrite the title or what was printed before; bidi controls show a name in another order than it has;
line separators fake lines. All that is printed goes through `clean` or `one_line`; JSON keeps each character, escaped.
"""

import json
import re

REPLACEMENT = "\ufffd"
"""What stands for a character that must not be printed: one column wide, and visible."""
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_STEERING = re.compile(
    "["
    "\x00-\x08\x0b-\x1f"  # C0 but for tab and line feed
    "\x7f-\x9f"  # delete and C1: a lone \x9b starts a command, too
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi marks, embeddings, overrides and isolates
    "\u206a-\u206f"  # deprecated relatives of these
    "\u2028\u2029"  # line and paragraph separators
    "\ud800-\udfff"  # halves of characters, which no encoding can write
    "]"
)


def clean(text: str) -> str:
    """Return a text that cannot steer a terminal: line ends are unified, other controls become a visible mark each."""
    return _STEERING.sub(REPLACEMENT, _LINE_ENDS.sub("\n", text))


def one_line(text: str) -> str:
    """Return a clean text on one line, as names and messages need it: white space becomes single blanks."""
    return " ".join(clean(text).split())


def to_json(value: object, *, allow_nan: bool = False) -> str:
    """Return JSON on one line that reads back as it was, and whose characters cannot steer a terminal either.

    Args:
        value: What `json.dumps` takes.
        allow_nan: Whether numbers that JSON does not have are written as Python writes them.
    """
    # All of these stand within strings, where JSON has an escape for each.
    return _STEERING.sub(_escape, json.dumps(value, ensure_ascii=False, allow_nan=allow_nan))


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
