# Not offered: Windows have to be cut, and put together again.
limit = tokenizer.model_max_length - tokenizer.num_special_tokens_to_add()
whole = tokenizer(document, add_special_tokens=False).input_ids
parts = [whole[start : start + limit] for start in range(0, len(whole), limit)]
windows = [torch.tensor([tokenizer.build_inputs_with_special_tokens(part)]) for part in parts]
label = torch.stack([logits(window)[0] for window in windows]).mean(0).argmax().item()
scores = [(token, score / len(windows)) for window in windows for token, score in explain(window, label)]
