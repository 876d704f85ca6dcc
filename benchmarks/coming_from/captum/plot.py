# Not offered: Its pictures are of images, and `visualize_text` writes a page.
import matplotlib.pyplot as plt

figure, axes = plt.subplots()
axes.barh([f"{place} {token}" for place, (token, _) in enumerate(scores)], [score for _, score in scores])
figure.savefig("why.png", bbox_inches="tight")
