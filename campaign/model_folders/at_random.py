"""Model folders that are damaged at random."""

import json
import random
from pathlib import Path
from typing import Any

from model_folders.changes import Damage, bytes_of

VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1,
    3,
    10**6,
    10**20,
    0.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "0",
    [],
    {},
    [0],
    {"a": 1},
)


def damaged_at_random(draw: random.Random) -> Damage:
    """Return one to three random changes to the files of a folder."""
    changes = [draw.choice((_random_value, _random_bytes, _random_cut))(draw) for _ in range(draw.randint(1, 3))]

    def damage(folder: Path) -> None:
        for change in changes:
            change(folder)

    return damage


def _random_value(draw: random.Random) -> Damage:
    """Put another value at a random place of a JSON file."""
    name, value, seed = (
        draw.choice(("config.json", "tokenizer_config.json", "tokenizer.json")),
        draw.choice(VALUES),
        draw.random(),
    )

    def damage(folder: Path) -> None:
        try:
            holder = whole = json.loads((folder / name).read_text())
        except ValueError:
            return  # another change was there first
        own, key = random.Random(seed), None
        while isinstance(holder, dict | list) and holder:
            key = own.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
            if not isinstance(holder[key], dict | list) or not holder[key] or own.random() < 0.3:
                holder[key] = value
                break
            holder = holder[key]
        (folder / name).write_text(json.dumps(whole))

    return damage


def _random_bytes(draw: random.Random) -> Damage:
    """Change a few bytes of a file."""
    name = draw.choice(("config.json", "tokenizer_config.json", "tokenizer.json", "model.safetensors"))
    places = [(draw.random(), draw.randrange(256)) for _ in range(draw.randint(1, 8))]

    def change(data: bytes) -> bytes:
        changed = bytearray(data)
        for place, value in places if changed else ():
            # half of the changes to weights go into the header
            span = min(len(changed), 600) if place < 0.5 and name.endswith("safetensors") else len(changed)
            changed[int(place * span)] = value
        return bytes(changed)

    return bytes_of(name, change)


def _random_cut(draw: random.Random) -> Damage:
    """Cut a file, or a piece out of it."""
    name, (start, end) = (
        draw.choice(("config.json", "tokenizer.json", "model.safetensors")),
        sorted((draw.random(), draw.random())),
    )
    return bytes_of(name, lambda data: data[: int(start * len(data))] + data[int(end * len(data)) :])
