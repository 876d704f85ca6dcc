import pandas as pd

several = explainer(texts, batch_size=64)
rows = []
for number, answer in enumerate(classify(texts)):
    column = several.output_names.index(answer[0]["label"])
    rows += [(number, *pair) for pair in zip(several.data[number], several.values[number][:, column])]
frame = pd.DataFrame(rows, columns=["text", "token", "score"])
