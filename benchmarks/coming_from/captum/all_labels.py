model = AutoModelForSequenceClassification.from_pretrained("coder")
scores = [[score for _, score in explain(ids, label)] for label in range(model.config.num_labels)]
