"""Which features are signs: punctuation and whatever else has no Unicode letter or digit."""

import numpy as np

from whylight.core.arrays import Bools
from whylight.core.explanation import Explanation


def non_alphanumeric(explanation: Explanation) -> Bools:
    """Mark the features without a letter or digit, `[features]`."""
    texts = [explanation.example.show(place) for place in explanation.places]
    return np.asarray([not any(character.isalnum() for character in text) for text in texts], dtype=bool)
