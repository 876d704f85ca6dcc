# Not offered: There is one method and no metric. Words have to be removed, and drops averaged.
import json
import random
import re


def lime(review):
    answer = explainer.explain_instance(review, predict, top_labels=1, num_features=100, num_samples=500)
    return dict(answer.as_list(answer.top_labels[0]))


def chance(review):
    return {word: random.random() for word in re.findall(r"\w+", review)}


def drop(method, review, share=0.2):
    ranked = sorted(method(review).items(), key=lambda pair: -pair[1])
    top = [word for word, _ in ranked[: max(1, round(share * len(ranked)))]]
    without = re.sub(rf"\b({'|'.join(top)})\b", "", review)
    before, after = predict([review, without])
    return (before - after)[before.argmax()]


reviews = [json.loads(line)["text"] for line in open("reviews.jsonl")]
drops = {one.__name__: sum(drop(one, review) for review in reviews) / len(reviews) for one in (lime, chance)}
