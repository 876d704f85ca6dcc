from pathlib import Path

Path("why.html").write_text(shap.plots.text(found[0], display=False))
