import shap
from transformers import pipeline

classify = pipeline("text-classification", model="model", top_k=None, batch_size=64)
explainer = shap.Explainer(classify)
