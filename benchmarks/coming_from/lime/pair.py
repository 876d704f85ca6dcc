# Not offered: Each text is explained while the other stays as it is.
def explain_part(part, join):
    answer = explainer.explain_instance(part, join, top_labels=1, num_features=100, num_samples=500)
    return answer.as_list(answer.top_labels[0])


def predict_pairs(firsts, others):
    with torch.inference_mode():
        return model(**tokenizer(firsts, others, padding=True, return_tensors="pt")).logits.softmax(-1).numpy()


scores = explain_part(text, lambda parts: predict_pairs(parts, [second] * len(parts)))
scores += explain_part(second, lambda parts: predict_pairs([text] * len(parts), parts))
