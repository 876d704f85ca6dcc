found = explainer([text], batch_size=64)
label = found.output_names.index(classify(text)[0][0]["label"])
scores = list(zip(found.data[0], found.values[0][:, label]))
