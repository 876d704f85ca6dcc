encoded = tokenizer(text, second, return_tensors="pt")


def logits(ids):
    return model(ids, token_type_ids=encoded.token_type_ids.expand(len(ids), -1)).logits


scores = explain(encoded.input_ids, logits(encoded.input_ids).argmax().item())
