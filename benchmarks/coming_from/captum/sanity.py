# Not offered: A copy of the model has to forget, and ranks have to be correlated.
import copy
import json

from scipy.stats import spearmanr

reviews = [json.loads(line)["text"] for line in open("reviews.jsonl")]
trained, changes = model, []
encoded = [tokenizer(review, return_tensors="pt").input_ids for review in reviews]
asked = [(ids, logits(ids).argmax().item()) for ids in encoded]
before = [explain(*one) for one in asked]
for draw in range(3):
    model = copy.deepcopy(trained)
    model.classifier.reset_parameters()
    for one, known in zip(asked, before):
        after = explain(*one)
        changes.append(spearmanr([score for _, score in known], [score for _, score in after]).statistic)
model = trained
correlation = sum(changes) / len(changes)
