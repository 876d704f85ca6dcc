frame = wl.explain(clf, texts, method="integrated_gradients").to_frame()
