# Not offered: It measures infidelity and sensitivity of tensors; here words have to be removed, and drops averaged.
import json

from captum.attr import FeatureAblation


def ablation(ids, label):
    found = FeatureAblation(logits).attribute(ids, tokenizer.mask_token_id, target=label)
    return list(zip(tokenizer.convert_ids_to_tokens(ids[0]), found[0].tolist()))


def drop(method, review, share=0.2):
    ids = tokenizer(review, return_tensors="pt").input_ids
    label = logits(ids).argmax().item()
    values = torch.tensor([score for _, score in method(ids, label)])[1:-1]
    top = 1 + values.topk(max(1, round(share * len(values)))).indices
    without = ids.index_fill(1, top, tokenizer.mask_token_id)
    return (logits(ids).softmax(-1) - logits(without).softmax(-1))[0, label].item()


reviews = [json.loads(line)["text"] for line in open("reviews.jsonl")]
methods = {"integrated_gradients": explain, "ablation": ablation}
drops = {name: sum(drop(one, review) for review in reviews) / len(reviews) for name, one in methods.items()}
