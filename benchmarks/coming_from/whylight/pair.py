scores = wl.explain(clf, (text, second), method="integrated_gradients").as_list()
