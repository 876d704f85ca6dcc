"""Metrics, one file each: typed functions of an explanation and one piece of evidence."""
