"""The scripts of the campaign are run by the tests too, in a short form."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "campaign"))
