coder = pipeline("text-classification", model="coder", top_k=None, function_to_apply="sigmoid", batch_size=64)
scores = shap.Explainer(coder)([text], batch_size=64).values[0].T
