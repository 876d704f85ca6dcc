"""What a user says of a model besides naming it."""

from dataclasses import dataclass
from pathlib import Path

from whylight.core.errors import SettingError
from whylight.core.labels import Head
from whylight.core.prompt import Prompt
from whylight.models.runtimes import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a user says of a model besides naming it; None where nothing is said. `wl.load` explains each."""

    labels: tuple[str, ...] | None = None
    head: Head | None = None
    mask_string: str | None = None
    max_tokens: int | None = None
    prompt: str | Path | Prompt | None = None
    device: str | None = None
    allow_pickle: bool = False
    identity: str | None = None
    accelerate: Engine | None = None

    def refuse_pace(self, what: str) -> None:
        """Refuse to speed up what no copy is made of."""
        if self.accelerate is not None:
            raise SettingError(
                f"accelerate= is for Hugging Face classifiers that read a text at once; {what} runs as it is."
            )

    def refuse_name(self) -> None:
        """Refuse a name for what is known by its weights."""
        if self.identity is not None:
            raise SettingError("identity= is the name of a callable; a model is known by its weights.")
