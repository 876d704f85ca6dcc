# Not offered: What the function cannot read has no effect. It has to read windows, and put them together again.
def predict_long(texts):
    rows = tokenizer(texts, padding=True, truncation=True, return_overflowing_tokens=True, return_tensors="pt")
    text_of = rows.pop("overflow_to_sample_mapping")
    with torch.inference_mode():
        logits = model(**rows).logits
    return torch.stack([logits[text_of == number].mean(0) for number in range(len(texts))]).softmax(-1).numpy()


answer = explainer.explain_instance(document, predict_long, top_labels=1, num_features=1000, num_samples=500)
scores = answer.as_list(answer.top_labels[0])
