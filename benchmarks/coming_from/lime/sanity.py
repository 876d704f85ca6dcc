# Not offered: A copy of the model has to forget, and ranks have to be correlated.
import copy
import json

from scipy.stats import spearmanr


def lime(review, label):
    answer = explainer.explain_instance(review, predict, labels=[label], num_features=100, num_samples=500)
    return dict(answer.as_list(label))


reviews = [json.loads(line)["text"] for line in open("reviews.jsonl")]
labels = [int(one.argmax()) for one in predict(reviews)]
before = [lime(*one) for one in zip(reviews, labels)]
trained, changes = model, []
for draw in range(3):
    model = copy.deepcopy(trained)
    model.classifier.reset_parameters()
    for review, label, known in zip(reviews, labels, before):
        after = lime(review, label)
        changes.append(spearmanr(list(known.values()), [after[word] for word in known]).statistic)
model = trained
correlation = sum(changes) / len(changes)
