found.as_pyplot_figure(found.top_labels[0]).savefig("why.png", bbox_inches="tight")
