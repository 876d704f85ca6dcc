"""Does it matter that infill averages over ten words only? Occlusion under infill with ten words, and with all.

All words are those with a probability of at least `threshold`, which is what Kim et al. 2020 average over, and at most
`most` of them. Both are measured by the area under the probability while the top words go, under every remover, and
held against each other by Pearson's correlation of their scores.
Reference: Pham et al. 2022, table A4 and appendix D. Cost: one forward pass for every likely word of every place, which
may be thousands.
"""

from collections.abc import Mapping
from dataclasses import replace

from whylight.core.registry import METHODS, METRICS
from whylight.data.dataset import Record
from whylight.explaining import provide
from whylight.explaining.case import Case
from whylight.explaining.receipts import explain_case
from whylight.study.figures import FigureTable, Place, finite_mean
from whylight.study.removal_ranking import measured
from whylight.study.subject import SCORE, Subject
from whylight.views.cache import BoundedCache
from whylight.views.classifier import Request

FEW, EVERY = "likeliest words", "all words"
BOTH = ("both", "pearson")


def marginal_words(
    subject: Subject, *, remover: str = "infill", threshold: float = 1e-5, most: int = 3000
) -> FigureTable:
    """Compare occlusion under infill with the usual number of words and with all of them.

    Args:
        subject: The model, texts and removers.
        remover: The remover that infills.
        threshold: The least probability of a word that counts among all.
        most: The most words for a place.
    """
    usual = {**subject.removals[remover].settings, "mode": "marginal"}
    asked = {EVERY: {**usual, "top": most, "threshold": threshold}, FEW: usual}  # what is slow first, for the estimate

    def look(record: Record, case: Case) -> Mapping[Place, float]:
        del record
        own = replace(case, cache=BoundedCache())  # answers to so many words are not worth keeping
        request = Request(case.targets("predicted")[0], "probability")
        games = {name: provide.game(case, request, removal) for name, removal in subject.measuring.items()}
        options = subject.options(case, remover, SCORE)
        explained = {
            row: explain_case(own, METHODS["occlusion"], {"window": 1}, replace(options, remover_settings=settings))
            for row, settings in asked.items()
        }
        found = {(row, name): v for row in (FEW, EVERY) for name, v in measured(explained[row], games).items()}
        return {
            **found,
            BOTH: finite_mean(METRICS["pearson"].function(explained[FEW], explained[EVERY], sign="signed")),
        }

    return subject.figures("all words", look, notes=(f"{FEW}: {usual['top']}; {EVERY}: those from {threshold:g} on",))
