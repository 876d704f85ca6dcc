import pandas as pd

rows = []
for number, one in enumerate(texts):
    answer = explainer.explain_instance(one, predict, top_labels=1, num_features=100, num_samples=500)
    rows += [(number, *pair) for pair in answer.as_list(answer.top_labels[0])]
frame = pd.DataFrame(rows, columns=["text", "word", "score"])
