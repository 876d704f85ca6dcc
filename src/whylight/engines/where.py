"""Where work is done: which engine, how many workers."""

from dataclasses import dataclass

from whylight.core.errors import SettingError, unknown
from whylight.engines.engine import Engine, Opening
from whylight.engines.local import Local

ENGINES = ("local", "ray")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where work is done.

    Attributes:
        engine: `local` or `ray`.
        workers: How many workers.
        address: The Ray cluster.
    """

    engine: str = "local"
    workers: int = 1
    address: str | None = None

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        if self.workers < 1:
            raise SettingError(f"there is at least one worker, not {self.workers}.")
        if self.address is not None and self.engine != "ray":
            raise SettingError("an address is that of a Ray cluster; say --engine ray, too.")

    def check(self) -> None:
        """Say what can be said before any work: whether there is such an engine, and whether somebody answers.

        Raises:
            InputError: Ray is not installed.
            SettingError: Nobody answers at the address.
        """
        if self.engine == "ray":
            from whylight.engines.on_ray import check  # noqa: PLC0415  only who asks for it needs it

            check(self.address)

    def workers_of(self, opening: Opening) -> Engine:
        """Return the engine, which has no worker yet.

        Raises:
            InputError: Ray is not installed.
            SettingError: There is no such cluster.
        """
        if self.engine == "local":
            return Local(opening)
        from whylight.engines.on_ray import Ray  # noqa: PLC0415  only who asks for it needs it

        return Ray(opening, self.address)


def elsewhere(engine: str, workers: int | None, address: str | None) -> Where | None:
    """Return where work is done if not in this process: None if nothing is said of it."""
    if workers is None and engine == "local" and address is None:
        return None
    return Where(engine=engine, workers=1 if workers is None else workers, address=address)
