"""Starting without pauses: the garbage collector leaves alone what libraries make while they are imported.

Torch and transformers make some 690,000 objects that stay. Python's collector looks through all of them again and again
while they are made, and finds nothing: a fifth of the time that the first explanation takes. So the first collection
waits for as many objects; what is there by then is set aside for good, and collections go on as usual.
"""

import gc
from typing import Literal

OBJECTS = 720_000
"""About as many as there are once a model has been read."""


def without_pauses(*, objects: int = OBJECTS) -> None:
    """Have the first collection wait for so many objects, and never look at those again.

    It is for a process of our own: the command line calls it, the package does not. A second call does nothing.
    """
    usual = gc.get_threshold()
    if usual[0] >= objects or gc.get_freeze_count():
        return

    def settled(phase: Literal["start", "stop"], _: dict[str, int]) -> None:
        if phase == "start":
            gc.callbacks.remove(settled)
            gc.set_threshold(*usual)
            gc.freeze()

    gc.callbacks.append(settled)
    gc.set_threshold(objects, *usual[1:])
