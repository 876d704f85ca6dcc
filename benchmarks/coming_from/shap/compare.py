import json

import numpy as np
from shap.benchmark import SequentialMasker


def area(explainer, review):
    found = explainer([review], batch_size=64)
    label = found.output_names.index(classify(review)[0][0]["label"])
    masked = SequentialMasker("remove", "positive", explainer.masker, lambda x: explainer.model(x)[:, label], [review])
    return masked(found[:, :, label], "removed").value


reviews = [json.loads(line)["text"] for line in open("reviews.jsonl")]
methods = {"partition": explainer, "permutation": shap.explainers.Permutation(explainer.model, explainer.masker)}
drops = {name: np.mean([area(one, review) for review in reviews]) for name, one in methods.items()}
