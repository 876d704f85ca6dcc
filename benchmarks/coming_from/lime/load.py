import torch
from lime.lime_text import LimeTextExplainer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("model")
model = AutoModelForSequenceClassification.from_pretrained("model")
explainer = LimeTextExplainer(class_names=list(model.config.id2label.values()))


def predict(texts):
    with torch.inference_mode():
        return model(**tokenizer(texts, padding=True, truncation=True, return_tensors="pt")).logits.softmax(-1).numpy()
