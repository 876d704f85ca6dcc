"""What makes the pages of the documentation is looked at by the tests too."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
for folder in ("docs/extension", "benchmarks", "scripts"):
    sys.path.insert(0, str(ROOT / folder))
