coder = AutoModelForSequenceClassification.from_pretrained("coder")


def predict_codes(texts):
    with torch.inference_mode():
        return coder(**tokenizer(texts, padding=True, truncation=True, return_tensors="pt")).logits.sigmoid().numpy()


labels = range(coder.config.num_labels)
answer = explainer.explain_instance(text, predict_codes, labels=labels, num_features=100, num_samples=500)
scores = [[score for _, score in answer.as_list(label)] for label in labels]
