ex = wl.explain(clf, text, method="integrated_gradients")
scores = ex.as_list()
