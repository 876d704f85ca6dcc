import matplotlib.pyplot as plt

shap.plots.bar(found[0, :, label], show=False)
plt.savefig("why.png", bbox_inches="tight")
