found = explainer.explain_instance(text, predict, top_labels=1, num_features=100, num_samples=500)
scores = found.as_list(found.top_labels[0])
