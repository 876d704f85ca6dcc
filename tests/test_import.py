"""`import whylight` is light, and the public names are there when they are asked for."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import whylight
from whylight import testing

SOURCE = Path(whylight.__file__).parent


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import whylight", "import whylight.core.registry", "import whylight; dir(whylight)"]
)
def test_importing_needs_no_deep_learning_library(statement: str) -> None:
    found = loaded_by(statement)
    assert not found & {"torch", "transformers", "pandas", "captum", "sklearn", "ray", "fastapi", "matplotlib"}
    assert "whylight" in found


def test_the_checks_of_plug_ins_are_imported_by_those_who_ask_for_them_alone() -> None:
    others = [path for path in SOURCE.rglob("*.py") if "testing" not in path.parts]
    assert len(others) > 100
    assert [path for path in others if "whylight.testing" in path.read_text(encoding="utf-8")] == []
    for name in testing.__all__:
        assert getattr(testing, name) is not None


def test_every_public_name_is_there() -> None:
    for name in whylight.__all__:
        assert getattr(whylight, name) is not None
        assert name in dir(whylight)


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert whylight.__version__ == project["version"]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'explian'"):
        whylight.explian  # noqa: B018  the access is what is tested
