from pathlib import Path

from captum.attr import visualization

tokens, values = zip(*scores)
name, probability = model.config.id2label[label], logits(ids).softmax(-1)[0, label].item()
record = visualization.VisualizationDataRecord(values, probability, name, "", name, sum(values), list(tokens), None)
Path("why.html").write_text(visualization.visualize_text([record]).data)
