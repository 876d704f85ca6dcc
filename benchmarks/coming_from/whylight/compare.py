data = wl.dataset("reviews.jsonl")
found = wl.evaluate(clf, data, methods=["integrated_gradients", "occlusion"], metrics=["comprehensiveness"])
