"""The packages people use today on the same text: for orientation, no target."""

import numpy as np
import shap
import torch
from clock import Result, for_orientation, take_turns
from lime.lime_text import LimeTextExplainer
from subjects import SENTENCES, bundled, fresh_game

from whylight.methods.kernel_shap import kernel_shap
from whylight.methods.lime import lime

SAMPLES = 500
BATCH = 64


def peers() -> list[Result]:
    """Time the lime package and shap's explainer for texts against ours on one sentence with 500 evaluations."""
    classifier, text = bundled(), SENTENCES[0]

    def probabilities(texts: list[str]) -> np.ndarray:
        parts = []
        with torch.inference_mode():
            for start in range(0, len(texts), BATCH):
                batch = classifier.tokenizer(list(texts[start : start + BATCH]), padding=True, return_tensors="pt")
                parts.append(classifier.model(**batch).logits.softmax(-1).numpy())
        return np.concatenate(parts)

    package_lime = LimeTextExplainer(mask_string=classifier.tokenizer.mask_token, bow=False, random_state=0)
    package_shap = shap.PartitionExplainer(probabilities, shap.maskers.Text(classifier.tokenizer))
    works = [
        lambda: lime(fresh_game(classifier, text), samples=SAMPLES),
        lambda: package_lime.explain_instance(text, probabilities, num_samples=SAMPLES),
        lambda: kernel_shap(fresh_game(classifier, text), samples=SAMPLES),
        lambda: package_shap([text], max_evals=SAMPLES, silent=True),
    ]
    turns = take_turns(works, rounds=5)
    partition = f"{turns.median(2):.2f} s; another estimator: Owen values of a tree over the words, not Shapley values"
    return [
        for_orientation("LIME, lime package / ours", turns.ratio(1, 0), f"{turns.median(0):.2f} s"),
        for_orientation("KernelSHAP, shap.PartitionExplainer / ours", turns.ratio(3, 2), partition),
    ]
