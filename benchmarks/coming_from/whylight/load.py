import whylight as wl

clf = wl.load("model")
