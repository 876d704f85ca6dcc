"""The bundled models: what they are called, and what they have seen, for whoever starts from them or measures them.

The classifier is 4 layers of all-MiniLM-L6-v2, trained on the sentences and phrases of the training trees of SST; its
epoch was chosen on SST dev. SST-2 is made of the same trees, and SST of the sentences of Rotten Tomatoes
(`rt_polarity`). The masked language model is 4 layers of the same, trained on film reviews. The coder gives generated
discharge notes their diagnosis codes; it has seen nothing else.
"""

from collections.abc import Mapping
from pathlib import Path

from whylight.core.errors import ModelError, SettingError

BUNDLED = Path(__file__).parent / "bundled" / "sentiment"
BUNDLED_NAME = "whylight/sentiment"
CODER = BUNDLED.with_name("coder")
CODER_NAME = "whylight/coder"
CLASSIFIERS = {BUNDLED_NAME: BUNDLED, CODER_NAME: CODER}
"""Where classifiers lie that the package brings."""
MASKED = BUNDLED.with_name("mlm")
MASKED_NAME = "whylight/mlm"
"""The bundled masked language model."""
OWN = "whylight/"
"""How names of bundled models begin."""
ENCODER, ENCODER_NAME = "encoder", "whylight/encoder"
"""The bundled encoder without its head; the longer name is never that of a folder of one's own."""
SEEN = "4 layers of all-MiniLM-L6-v2, trained on the sentences and phrases of SST train"
TREES = frozenset({"sst", "sst2", "sst-2"})
"""Data sets that are made of the trees of SST, in the same splits."""
SENTENCES = frozenset({"rt_polarity", "rotten_tomatoes"})
"""Data sets that hold the sentences of SST, in splits of their own."""


def named_folder(model: object) -> str:
    """Return where a model lies: the folder of a bundled one, by its name or none, else what the user named."""
    return bundled_folder(BUNDLED_NAME if model is None else str(model), CLASSIFIERS, kind="classifier")


def bundled_folder(name: str, known: Mapping[str, Path], *, kind: str) -> str:
    """Return where the bundled model of a name lies, and another name as it is.

    Args:
        name: What the user named.
        known: The bundled models that could be meant.
        kind: What these are, for the message.

    Raises:
        ModelError: The name is one that only a bundled model has, and none of these has it; it never goes to the hub.
    """
    if name.startswith(OWN) and name not in known and not Path(name).exists():
        raise ModelError(f"no {kind} called '{name}' comes with the package; there is {' and '.join(known)}.")
    return str(known.get(name, name))


def public_name(path: str) -> str:
    """Return what a model is called wherever the package is installed: a bundled one by its name."""
    return next((name for name, folder in CLASSIFIERS.items() if path == str(folder)), path)


def is_bundled(model: object) -> bool:
    """Say whether a name, or none, stands for the bundled classifier of sentiment."""
    return model is None or str(model) in (BUNDLED_NAME, str(BUNDLED))


def is_bundled_encoder(model: object) -> bool:
    """Say whether a name stands for the bundled encoder without its head; a folder of that name makes it unclear."""
    if model == ENCODER and isinstance(model, str) and Path(ENCODER).exists():
        raise SettingError(
            f"'{ENCODER}' is the bundled encoder, and a folder here is called so too; write './{ENCODER}' for the "
            f"folder, or '{ENCODER_NAME}' for the bundled one."
        )
    return isinstance(model, str) and model in (ENCODER, ENCODER_NAME)


def filling_notes(model: str, classifier: str) -> tuple[str, ...]:
    """Say what the bundled masked language model knows, where it writes words for another model than the bundled one.

    Args:
        model: The masked language model.
        classifier: The model that its words are shown to.
    """
    if model != MASKED_NAME or is_bundled(classifier):
        return ()
    return (f"words are written by {MASKED_NAME}, which knows English film reviews; infill.model=FOLDER names another",)


def start_notes(model: object, *, fresh: bool, data: tuple[tuple[str, str], ...]) -> list[str]:
    """Say what a training starts from, if that is the bundled model, and which of its data that has seen.

    Args:
        model: What the user named.
        fresh: Whether its head is new.
        data: Name and split of the data sets.
    """
    headless = is_bundled_encoder(model)
    if not headless and not is_bundled(model):
        return []
    head = "with a new head" if fresh else "with the head that it has: its labels are those of these data"
    other = "" if fresh else f"; --model {ENCODER} starts from it without its head"
    return [f"the training starts from the bundled encoder ({SEEN}), {head}{other}", *seen_notes(data)]


def seen_notes(data: tuple[tuple[str, str], ...]) -> list[str]:
    """Say which data sets, by name and split, the bundled model has seen."""
    return [note for name, split in dict.fromkeys(data) if (note := _seen(name, split))]


def _seen(name: str, split: str) -> str:
    known = name.rpartition("/")[2].lower()
    if known in SENTENCES:
        return f"'{name}' ({split}) holds sentences that the bundled model was trained on"
    if known in TREES and split == "train":
        return f"the bundled model was trained on '{name}' ({split})"
    if known in TREES and split == "dev":
        return f"the epoch of the bundled model was chosen on '{name}' ({split})"
    return ""
