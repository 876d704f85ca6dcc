"""The public corpora, where they lie beside the repository; without them the tests that read them are skipped."""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
needs_shared = pytest.mark.skipif(not DATA.is_dir(), reason=f"the public corpora are not at {DATA}")
