import torch
from captum.attr import LayerIntegratedGradients


def logits(ids):
    return model(ids).logits


def explain(ids, label):
    special = torch.isin(ids, torch.tensor(tokenizer.all_special_ids))
    masked = torch.where(special, ids, tokenizer.mask_token_id)
    found = LayerIntegratedGradients(logits, model.get_input_embeddings()).attribute(ids, masked, target=label)
    return list(zip(tokenizer.convert_ids_to_tokens(ids[0]), found.sum(-1)[0].tolist()))


ids = tokenizer(text, return_tensors="pt").input_ids
label = logits(ids).argmax().item()
scores = explain(ids, label)
