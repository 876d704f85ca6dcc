import shap
from transformers import pipeline

classify = pipeline("text-classification", model="model", top_k=None)
explainer = shap.Explainer(classify)
