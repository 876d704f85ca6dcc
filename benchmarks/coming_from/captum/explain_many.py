import pandas as pd

rows = []
for number, one in enumerate(texts):
    ids = tokenizer(one, return_tensors="pt").input_ids
    rows += [(number, *pair) for pair in explain(ids, logits(ids).argmax().item())]
frame = pd.DataFrame(rows, columns=["text", "token", "score"])
