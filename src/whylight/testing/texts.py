"""Texts that plug-ins are checked on: an ordinary one, and those that break tools."""

from collections.abc import Mapping

TEXT = "The acting was good, but the plot drags!"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
ODD: Mapping[str, str | tuple[str, str]] = {
    "one word": "good",
    "one piece": "a",
    "punctuation": "?! ... -- '",
    "emoji": f"good {FAMILY} \U0001f600\U0001f3fd film \U0001f1e9\U0001f1ea 1\ufe0f\u20e3",
    "right to left": "הסרט היה good מאוד العربية",
    "combining": "cafe\u0301 नमस्ते good Z\u0351\u036b\u0343a\u0321",
    "nul": "good\x00movie \x00 plot\x00",
    "controls": "good\u200b \u200b plot\u00ad \x07 ending\r\n\t.",
    "html": "<b>good</b> <script>alert('plot')</script> &amp; <br/>",
    "specials": "good [SEP] [MASK] plot [CLS] [PAD] <s> </s> <unk> <mask> ending",
    "pair": ("The plot is good", "The film is not bad"),
    "pair of emoji": ("\U0001f600", "good \U0001f600"),
    "long": " ".join(["the film was never dull, but the plot drags"] * 9),
    "long word": "good" + "x" * 90 + " plot",
    "long pair": ("good plot", " ".join(["the film was never dull"] * 18)),
}
"""Inputs by what is odd about them; the long ones are longer than the tiny network reads at once."""
SHAPES = ("one word", "controls", "pair", "long", "long word")
"""Those that differ in what a method is given: one feature, one without a token, two texts, several windows."""
