import numpy as np


# Not offered: Each text is explained while the other stays as it is.
def explain_part(part, join):
    masker = shap.maskers.Text(classify.tokenizer)
    found = shap.Explainer(lambda parts: predict([join(one) for one in parts]), masker)([part], batch_size=64)
    label = predict([join(part)])[0].argmax()
    return list(zip(found.data[0], found.values[0][:, label]))


def predict(pairs):
    answers = classify([{"text": first, "text_pair": other} for first, other in pairs])
    return np.array([[one["score"] for one in sorted(answer, key=lambda one: one["label"])] for answer in answers])


scores = explain_part(text, lambda one: (one, second)) + explain_part(second, lambda one: (text, one))
