"""The snippets of `docs/coming_from`: their code, what they start from, and how many lines a user writes."""

import ast
import hashlib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "coming_from"
TASKS = {
    "load": "Load a model",
    "explain_one": "Explain one text",
    "explain_many": "Explain many texts",
    "all_labels": "All labels of a multi-label model",
    "plot": "A picture",
    "share": "A page to share",
    "long_document": "A document longer than the model reads",
    "pair": "A pair of texts",
    "compare": "Compare two methods by a metric",
    "sanity": "Check that explanations depend on the model",
}
"""What the tasks are called."""
RESULTS = {
    "load": "A folder that `save_pretrained` wrote becomes something that can be explained.",
    "explain_one": "Words, or tokens, with their scores for the predicted label.",
    "explain_many": "One data frame for a list of texts.",
    "all_labels": "Scores for each of five labels that do not exclude each other.",
    "plot": "A file `why.png`, of the text explained above.",
    "share": "A file `why.html`, of the text explained above.",
    "long_document": "Scores for all words of a document, up to its end.",
    "pair": "Scores for the words of both texts.",
    "compare": "How far does the probability fall without the top words of each method? The mean over texts.",
    "sanity": "How far do explanations change when the head of the model is drawn anew, three times?",
}
"""What each of them is to give."""
PEERS = {"shap": "SHAP", "captum": "Captum", "lime": "LIME"}
COUNTERPARTS = {"shap": "kernel_shap", "captum": "integrated_gradients", "lime": "lime"}
"""The method of ours that does what each package is used for."""
WRITTEN = "integrated_gradients"
"""The method that stands in the files; a page shows, and a run takes, the counterpart of its package."""
REFUSAL = "# Not offered: "


@dataclass(frozen=True)
class Snippet:
    """How a task is done.

    Attributes:
        task: The task.
        package: Who does it.
        peer: Whose page it is shown on.
    """

    task: str
    package: str
    peer: str

    @property
    def name(self) -> str:
        """What it is stored under."""
        return f"{self.task}/{self.package}" + (f"/{self.peer}" if self.package != self.peer else "")

    @property
    def refusal(self) -> str:
        """Why the package does not offer it, and what has to be written; empty if it does."""
        first = next((line for line in self._file().splitlines() if line.startswith(REFUSAL)), "")
        return first.removeprefix(REFUSAL)

    @property
    def code(self) -> str:
        """What a user writes."""
        lines = [line for line in self._file().splitlines() if not line.startswith(REFUSAL)]
        return "\n".join(lines).strip().replace(WRITTEN, COUNTERPARTS[self.peer]) + "\n"

    @property
    def lines(self) -> int:
        """How many lines of it are neither blank nor an import nor a comment."""
        statements = [one for one in ast.walk(ast.parse(self.code)) if isinstance(one, ast.Import | ast.ImportFrom)]
        imports = {line for one in statements for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
        own = (line.strip() for number, line in enumerate(self.code.splitlines(), 1) if number not in imports)
        return sum(bool(line) and not line.startswith("#") for line in own)

    @property
    def before(self) -> "tuple[Snippet, ...]":
        """What has run when it starts."""
        first = tuple(Snippet(task, self.package, self.peer) for task in ("load", "explain_one"))
        return first[: list(TASKS).index(self.task)]

    @property
    def digest(self) -> str:
        """What tells this code, and what it starts from, from any other."""
        whole = "\0".join(one.code for one in (*self.before, self))
        return hashlib.sha256(whole.encode()).hexdigest()[:16]

    def _file(self) -> str:
        return (FOLDER / self.package / f"{self.task}.py").read_text(encoding="utf-8")
