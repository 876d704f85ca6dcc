"""Plausibility without a boundary: where the gold features stand when features are ranked by score.

Signed scores lose their negative part first (`sign="absolute"`: their sign). Each value is that of one pair (text,
label); over the features of all pairs there are `corpus_auprc`, `corpus_average_precision` and `micro_f1_at_k`.
"""

from typing import Literal

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Sign, best, best_positive, feature_agreement, one_value, pair, ratio
from whylight.metrics._thresholds import area_under_precision_recall, average_precision_of, roc_auc_of


@metric(cite="davis2006", higher_is_better=True)
def auprc(explanation: Explanation, rationale: Rationale, *, sign: Sign = "positive") -> Floats:
    """Measure the area under the precision-recall curve (nan without gold features).

        auprc = integral of precision over recall, by trapezoids, from recall 0 and precision 1 on

    The curve has a point at every distinct score; tied features come in together. Higher is better.
    Reference: Davis and Goadrich 2006. Cost: none.
    """
    scores, gold = pair(explanation, rationale, sign=sign)
    return one_value(area_under_precision_recall(scores, gold), gold)


@metric(cite="atanasova2020", higher_is_better=True)
def average_precision(explanation: Explanation, rationale: Rationale, *, sign: Sign = "positive") -> Floats:
    """Measure how early gold features come in the ranking (nan without gold features).

        ap = sum over thresholds of (recall - previous recall) * precision

    Tied features come in together, so that their order does not matter. Higher is better; scores without any
    information reach the share of gold features.
    Reference: Atanasova et al. 2020; DeYoung et al. 2020. Cost: none.
    """
    scores, gold = pair(explanation, rationale, sign=sign)
    return one_value(average_precision_of(scores, gold), gold)


@metric(cite="ferreira2025", higher_is_better=True)
def roc_auc(explanation: Explanation, rationale: Rationale, *, sign: Sign = "positive") -> Floats:
    """Measure how often a gold feature outranks another one (nan if all features are gold, or none).

        auc = 1/(|E| |not E|) sum over gold i and other j of [s_i > s_j] + [s_i = s_j] / 2

    Higher is better; scores without any information reach 0.5. Ferreira et al. take absolute scores (`sign="absolute"`)
    of subwords, [CLS] and [SEP] among them; special tokens are no features here.
    Reference: Ferreira et al. 2025. Cost: none.
    """
    scores, gold = pair(explanation, rationale, sign=sign)
    return one_value(roc_auc_of(scores, gold), gold)


@metric(cite="zhang2018", higher_is_better=True)
def pointing_game(explanation: Explanation, rationale: Rationale, *, sign: Sign = "positive") -> Floats:
    """Measure whether the highest feature is a gold one (nan without gold features).

        hit = [the feature with the highest score is gold]

    Features that share the highest score count in equal parts; scores that are all 0 hit nothing. Higher is better;
    scores without any information reach the share of gold features.
    Reference: Zhang et al. 2018. Cost: none.
    """
    scores, gold = pair(explanation, rationale, sign=sign)
    highest = (scores == scores.max(initial=0.0)) & (scores > 0)
    return one_value(ratio(float((highest & gold).sum()), float(highest.sum())), gold)


@metric(cite="arras2022", higher_is_better=True)
def mass_in_rationale(explanation: Explanation, rationale: Rationale, *, sign: Sign = "positive") -> Floats:
    """Measure which share of the scores falls on gold features (nan without gold features).

        mass = sum over gold i of s_i / sum over all i of s_i

    Higher is better; equal scores reach the share of gold features, and scores that are all 0 have no mass: 0.
    Reference: Arras et al. 2022 (relevance mass accuracy). Cost: none.
    """
    scores, gold = pair(explanation, rationale, sign=sign)
    return one_value(ratio(float(scores[gold].sum()), float(scores.sum())), gold)


@metric(cite="edin2024", higher_is_better=True)
def precision_at_k(
    explanation: Explanation, rationale: Rationale, *, k: int | Literal["rationale"] = 5, sign: Sign = "positive"
) -> Floats:
    """Measure which share of the k highest features is gold (nan without gold features).

        p@k = |top k and E| / k

    Ties are ranked in reading order. `k="rationale"` takes as many features as are gold. A text with fewer than k
    features cannot reach 1, so that the mean over pairs is the published total hits / (pairs * k). Higher is better.
    Reference: Edin et al. 2024. Cost: none.
    """
    scores, gold = pair(explanation, rationale, sign=sign)
    hits = (best(scores, k, gold) & gold).sum()
    return one_value(ratio(hits, gold.sum() if k == "rationale" else k), gold)


@metric(cite="edin2024", higher_is_better=True)
def recall_at_k(
    explanation: Explanation, rationale: Rationale, *, k: int | Literal["rationale"] = 5, sign: Sign = "positive"
) -> Floats:
    """Measure which share of the gold features is among the k highest (nan without gold features).

        r@k = |top k and E| / |E|

    Ties are ranked in reading order. `k="rationale"` takes as many features as are gold, as Ferreira et al. do; recall
    and precision are then the same. Edin et al. 2024 divide all hits by all gold features of a corpus; the mean over
    pairs weighs every pair alike. Higher is better.
    Reference: Edin et al. 2024. Cost: none.
    """
    scores, gold = pair(explanation, rationale, sign=sign)
    hits = (best(scores, k, gold) & gold).sum()
    return one_value(ratio(hits, gold.sum()), gold)


@metric(cite="barkan2024", higher_is_better=True)
def f1_at_k(
    explanation: Explanation, rationale: Rationale, *, k: int | Literal["rationale"] = 25, sign: Sign = "positive"
) -> Floats:
    """Measure how far the k highest features are the gold ones (nan without gold features).

        f1@k = 2 |A and E| / (|A| + |E|),   A = top k, without features whose score is not above 0

    The mean over texts is the macro F1 of Barkan et al. 2024, `micro_f1_at_k` their micro F1. Of a text with fewer than
    k features, A is all of them. A feature that speaks against the label, or says nothing, is never taken to fill A up;
    0 if no score is above 0. Ties are ranked in reading order. `k="rationale"` takes as many features as are gold.
    Higher is better.
    Reference: Barkan et al. 2024; DeYoung et al. 2020. Cost: none.
    """
    scores, gold = pair(explanation, rationale, sign=sign)
    return one_value(feature_agreement(best_positive(scores, k, gold), gold).f1, gold)
