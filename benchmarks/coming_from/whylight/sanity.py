data = wl.dataset("reviews.jsonl")
found = wl.sanity_check(clf, data, methods=["integrated_gradients"], levels="head")
