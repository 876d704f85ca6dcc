"""The vocabulary: examples, spans, labels, explanations, plug-ins and errors. Needs numpy and scipy only."""
