coder = wl.load("coder")
scores = wl.explain(coder, text, method="integrated_gradients", target="all").scores
