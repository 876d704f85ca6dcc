# Not offered: A copy of the model has to forget, and ranks have to be correlated.
import copy
import json

import numpy as np
from scipy.stats import spearmanr

reviews = [json.loads(line)["text"] for line in open("reviews.jsonl")]
before = explainer(reviews, batch_size=64)
labels = [before.output_names.index(answer[0]["label"]) for answer in classify(reviews)]
changes = []
for draw in range(3):
    forgetful = copy.deepcopy(classify.model)
    forgetful.classifier.reset_parameters()
    changed = pipeline("text-classification", forgetful, tokenizer=classify.tokenizer, top_k=None, batch_size=64)
    after = shap.Explainer(changed)(reviews, batch_size=64)
    for one, other, label in zip(before.values, after.values, labels):
        changes.append(spearmanr(one[:, label], other[:, label]).statistic)
correlation = np.mean(changes)
