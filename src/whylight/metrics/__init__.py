"""Metrics in families: typed functions of an explanation and one piece of evidence, or of a whole marked corpus."""
