"""The packages people use today on the same text: for orientation, no target."""

import numpy as np
import shap
import torch
from clock import Result, medians
from lime.lime_text import LimeTextExplainer
from subjects import SENTENCES, bundled, fresh_game

from whylight.methods.kernel_shap import kernel_shap
from whylight.methods.lime import lime

SAMPLES = 500
BATCH = 64


def peers() -> list[Result]:
    """Time the lime and shap packages against ours on one sentence with 500 evaluations."""
    classifier, text = bundled(), SENTENCES[0]

    def probabilities(texts: list[str]) -> np.ndarray:
        parts = []
        with torch.inference_mode():
            for start in range(0, len(texts), BATCH):
                batch = classifier.tokenizer(list(texts[start : start + BATCH]), padding=True, return_tensors="pt")
                parts.append(classifier.model(**batch).logits.softmax(-1).numpy())
        return np.concatenate(parts)

    package_lime = LimeTextExplainer(mask_string=classifier.tokenizer.mask_token, bow=False, random_state=0)
    package_shap = shap.Explainer(probabilities, shap.maskers.Text(classifier.tokenizer), silent=True)
    works = [
        lambda: lime(fresh_game(classifier, text), samples=SAMPLES),
        lambda: package_lime.explain_instance(text, probabilities, num_samples=SAMPLES),
        lambda: kernel_shap(fresh_game(classifier, text), samples=SAMPLES),
        lambda: package_shap([text], max_evals=SAMPLES),
    ]
    our_lime, their_lime, our_shap, their_shap = medians(works, rounds=3)
    return [
        Result("LIME, lime package / ours", their_lime / our_lime, "-", met=True, detail=f"{our_lime:.2f} s"),
        Result("SHAP, shap package / ours", their_shap / our_shap, "-", met=True, detail=f"{our_shap:.2f} s"),
    ]
