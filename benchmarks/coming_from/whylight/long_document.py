scores = wl.explain(clf, document, method="integrated_gradients").as_list()
