"""Changes to the files of a model folder, each a function of the folder."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from model_folders.tiny import save_tiny
from safetensors.torch import load_file, save_file

Damage = Callable[[Path], None]
ABSENT = object()
CODE = "import pathlib\npathlib.Path(__file__).resolve().parents[1].joinpath('canary').touch()\nclass C: pass\n"


def _ignore(_value: object) -> None:
    return None


def edit(name: str, changes: dict[str, Any], folder: Path) -> None:
    """Change keys of a JSON file; a key that is to be ABSENT goes."""
    content = json.loads((folder / name).read_text())
    content = {key: value for key, value in {**content, **changes}.items() if value is not ABSENT}
    (folder / name).write_text(json.dumps(content))


def config(**changes: Any) -> Damage:
    """Change the configuration."""
    return partial(edit, "config.json", changes)


def words(**changes: Any) -> Damage:
    """Change the configuration of the tokenizer."""
    return partial(edit, "tokenizer_config.json", changes)


def backend(**changes: Any) -> Damage:
    """Change the tokenizer itself."""
    return partial(edit, "tokenizer.json", changes)


def content(name: str, data: bytes) -> Damage:
    """Write something else into a file."""
    return lambda folder: _ignore((folder / name).write_bytes(data))


def without(*names: str) -> Damage:
    """Remove files."""

    def damage(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return damage


def weights(change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> Damage:
    """Change the weights."""

    def damage(folder: Path) -> None:
        file = folder / "model.safetensors"
        changed = {name: tensor.contiguous() for name, tensor in change(load_file(file)).items()}
        save_file(changed, file, metadata={"format": "pt"})

    return damage


def every(change: Callable[[torch.Tensor], torch.Tensor]) -> Damage:
    """Change every weight."""
    return weights(lambda state: {name: change(tensor) for name, tensor in state.items()})


def bytes_of(name: str, change: Callable[[bytes], bytes]) -> Damage:
    """Change the bytes of a file."""
    return lambda folder: _ignore((folder / name).write_bytes(change((folder / name).read_bytes())))


def link(name: str, target: str | None = None) -> Damage:
    """Put a link in the place of a file: to a copy of it outside the folder, or to something else."""

    def damage(folder: Path) -> None:
        outside = folder.parent / f"outside-{name}"
        shutil.move(folder / name, outside)
        (folder / name).symlink_to(outside if target is None else target)

    return damage


def directory(name: str) -> Damage:
    """Put a folder in the place of a file."""

    def damage(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return damage


def code(**maps: Any) -> Damage:
    """Name code of the folder in its configuration and its tokenizer's."""

    def damage(folder: Path) -> None:
        (folder / "custom.py").write_text(CODE)
        auto = {"AutoConfig": "custom.C", "AutoModelForSequenceClassification": "custom.C"}
        edit("config.json", {"auto_map": auto, **maps}, folder)
        edit("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["custom.C", "custom.C"]}}, folder)

    return damage


def sharded(change: Callable[[dict[str, Any], Path], object]) -> Damage:
    """Cut the weights into several files, and change their index."""

    def damage(folder: Path) -> None:
        shutil.rmtree(folder)
        save_tiny(folder, shards=True)
        file = folder / "model.safetensors.index.json"
        index = json.loads(file.read_text())
        change(index, folder)
        file.write_text(json.dumps(index))

    return damage


def moved_shard(name: str) -> Damage:
    """Move one of several files of weights elsewhere, and name its new place."""

    def change(index: dict[str, Any], folder: Path) -> None:
        first = min(index["weight_map"].values())
        place = Path(name) if Path(name).is_absolute() else folder / name
        place = Path(str(place).replace("PARENT", str(folder.parent)))
        place.parent.mkdir(exist_ok=True, parents=True)
        shutil.move(folder / first, place)
        new = name.replace("PARENT", str(folder.parent))
        index["weight_map"] = {k: new if v == first else v for k, v in index["weight_map"].items()}

    return sharded(change)


def pickled(folder: Path) -> None:
    """Keep the weights as a pickle only, one that runs code."""

    class Payload:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (folder.parent / "canary",)

    (folder / "model.safetensors").unlink()
    torch.save({"classifier.weight": Payload()}, folder / "pytorch_model.bin")


def adapter(**settings: Any) -> Damage:
    """Leave an adapter only, with settings that cannot be met."""

    def damage(folder: Path) -> None:
        (folder / "config.json").unlink()
        (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
        (folder / "evil.py").write_text(CODE)
        (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 2, **settings}))

    return damage
