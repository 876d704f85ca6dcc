# Not offered: Windows have to be cut, and put together again.
parts = tokenizer(document, truncation=True, return_overflowing_tokens=True).input_ids
windows = [torch.tensor([part]) for part in parts]
label = torch.stack([logits(window)[0] for window in windows]).mean(0).argmax().item()
scores = [(token, score / len(windows)) for window in windows for token, score in explain(window, label)]
