"""`_SUCCESS`: the file that is there if all that was asked of a run is done, with counts and a hash of everything.

The hash is of all commits, in their order. A commit has the hashes of its parts, so that two runs with the same hash
have the same bytes in every file but those of times.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whylight.store import files, parts

SUCCESS = "_SUCCESS"


def read_success(folder: Path) -> dict[str, Any] | None:
    """Return what a folder says of its end; None if it has not come to one, or says something else."""
    path = folder / SUCCESS
    with files.said(path, doing="read"):
        content = path.read_bytes() if path.exists() else b"null"
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def forget_success(folder: Path) -> None:
    """Take back that all is done, because more is to come.

    Raises:
        InputError: It cannot be removed.
    """
    with files.said(folder / SUCCESS):
        (folder / SUCCESS).unlink(missing_ok=True)


def write_success(folder: Path) -> Mapping[str, Any]:
    """Write that all that was asked is done; what is written.

    Raises:
        InputError: It cannot be written there, or a commit cannot be read.
    """
    sums, counts, texts = hashlib.sha256(), Counter[str](), 0
    for stem in parts.stems_in(folder):
        one = parts.read_commit(folder, stem)
        if one is not None:
            sums.update(f"{stem} {parts.commit_sum(folder, stem)}\n".encode())
            counts.update(one.rows)
            counts.update({"commits": 1, "failed": len(one.failed)})
            texts = texts if one.tuning else max(texts, one.numbers.stop)
    content = {"texts": texts, **counts, "sha256": sums.hexdigest()}
    files.write(folder / SUCCESS, json.dumps(content, indent=1, sort_keys=True).encode())
    return content
