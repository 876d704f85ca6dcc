# Not offered: A pipeline refuses the text, or leaves out its end. Windows have to be cut, and put together again.
tokenizer = classify.tokenizer
limit = tokenizer.model_max_length - tokenizer.num_special_tokens_to_add()
places = tokenizer(document, add_special_tokens=False, return_offsets_mapping=True).offset_mapping
starts = range(0, len(places), limit)
windows = [document[places[start][0] : places[min(start + limit, len(places)) - 1][1]] for start in starts]
several = explainer(windows, batch_size=64)
mean = (several.base_values + [values.sum(0) for values in several.values]).mean(0)
pairs = [zip(data, values[:, mean.argmax()]) for data, values in zip(several.data, several.values)]
scores = [(token, score / len(windows)) for window in pairs for token, score in window]
