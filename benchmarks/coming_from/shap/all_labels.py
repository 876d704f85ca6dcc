coder = pipeline("text-classification", model="coder", top_k=None, function_to_apply="sigmoid")
scores = shap.Explainer(coder)([text]).values[0].T
