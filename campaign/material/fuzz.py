"""Random texts of every kind that has broken somebody's offsets: Unicode of all planes, sequences, controls, blanks."""

import random
from collections.abc import Callable

EMOJI = (
    "😀",
    "👨\u200d👩\u200d👧",
    "👍🏽",
    "❤\ufe0f",
    "1\ufe0f\u20e3",
    "🇩🇪",
    "🇩",
    "🏴\U000e0067\U000e0062\U000e007f",
    "\u200d",
)
MARKS = (
    "e\u0301",
    "n\u0303\u0323",
    "कि",
    "นำ",
    "שָׁ",
    "\u0301",
    "a\u20dd",
    "Z\u0351\u036b\u0343",
    "\u1100\u1161\u11a8",
    "ﷺ",
    "ﬁ",
    "Å",
    "㎏",
)
RIGHT_TO_LEFT = ("שלום", "مرحبا", "\u202eabc\u202c", "\u2067x\u2069", "ـــ", "۱۲۳", "\u200f")
BLANKS = (
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x85",
    "\xa0",
    "\u1680",
    "\u2003",
    "\u2028",
    "\u3000",
)
INVISIBLE = ("\u200b", "\u2060", "\ufeff", "\xad", "\u180e", "\ufffc", "\ufffd", "\U000e0001", "\u061c")
SPECIAL = (
    "[CLS]",
    "[SEP]",
    "[UNK]",
    "[PAD]",
    "[MASK]",
    "<s>",
    "</s>",
    "<unk>",
    "<mask>",
    "<0x0A>",
    "##ing",
    "▁",
    "Ġ",
    "</w>",
    "[sep]",
)
WORDS = (
    "the",
    "film",
    "Don't",
    "state-of-the-art",
    "e.g.",
    "Dr.",
    "3.5",
    "it’s",
    "gripping",
    "schön",
    "фильм",
    "好电影。",
    "É",
    "ß",
    "İ",
)
SIGNS = (".", "...", "!?", '."', "。", "-", "--", "'", "’", "(", "]", "«", "_", "/", "<b>", "&amp;", "\\", "%", "…")
CONTROLS = tuple(map(chr, [*range(32), *range(127, 160)]))
PIECES = (*EMOJI, *MARKS, *RIGHT_TO_LEFT, *BLANKS, *INVISIBLE, *SPECIAL, *WORDS, *SIGNS)


def character(draw: random.Random) -> str:
    """Return any character but a surrogate; every plane alike, so that the rare ones come too."""
    plane = draw.choice((0, 0, 0, 1, 1, 2, 3, 14, 15, 16))
    code = plane * 0x10000 + draw.randrange(0x10000)
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)


def _anything(draw: random.Random) -> str:
    return "".join(character(draw) for _ in range(draw.randint(1, 25)))


def _pieces(draw: random.Random) -> str:
    return "".join(draw.choice(PIECES) for _ in range(draw.randint(1, 20)))


def _sentence(draw: random.Random) -> str:
    return draw.choice((" ", " ", "\n", "\u3000")).join(
        draw.choice((*WORDS, *WORDS, *SIGNS, *PIECES)) for _ in range(draw.randint(2, 30))
    )


def _one_kind(draw: random.Random) -> str:
    kind = draw.choice((EMOJI, MARKS, RIGHT_TO_LEFT, SPECIAL, SIGNS, CONTROLS))
    return "".join(draw.choice(kind) for _ in range(draw.randint(1, 12)))


def _nearly_empty(draw: random.Random) -> str:
    return "".join(draw.choice((*BLANKS, *INVISIBLE, *CONTROLS)) for _ in range(draw.randint(1, 5)))


def _long_word(draw: random.Random) -> str:
    piece = draw.choice(("a", "ab", "é", "e\u0301", "好", "😀", "x-", "a'", "1", "\u0301", "."))
    return piece * draw.randint(20, 150) + draw.choice(("", " end", "!"))


def _noisy(draw: random.Random) -> str:
    found = list(_sentence(draw))
    for _ in range(draw.randint(1, 4)):
        found.insert(draw.randint(0, len(found)), draw.choice((character(draw), *CONTROLS[:3], draw.choice(BLANKS))))
    return "".join(found)


KINDS: tuple[Callable[[random.Random], str], ...] = (
    *(_anything, _pieces, _pieces, _sentence, _sentence),
    *(_one_kind, _nearly_empty, _long_word, _noisy, _noisy),
)


def text(draw: random.Random) -> str:
    """Return a random text, of at most a few hundred characters."""
    return draw.choice(KINDS)(draw)
