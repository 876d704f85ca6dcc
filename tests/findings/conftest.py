"""The document of the findings is rendered by the tests too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "findings"))
