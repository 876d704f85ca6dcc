"""What several commands read alike from their arguments: settings and the head of a model."""

from whylight.core.errors import SettingError, unknown
from whylight.core.labels import HEADS, Head


def parse_settings(given: list[str]) -> dict[str, str]:
    """Turn NAME=VALUE and OWNER.NAME=VALUE arguments into settings."""
    settings = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise SettingError(f"--set takes NAME=VALUE, e.g. --set samples=500, not '{one}'.")
        settings[name.strip().replace("-", "_")] = value.strip()
    return settings


def parse_head(name: str | None) -> Head | None:
    """Return the head that a name stands for, or raise the error that lists them."""
    for head in HEADS:
        if name == head:
            return head
    if name is not None:
        raise unknown("head", name, HEADS)
    return None
