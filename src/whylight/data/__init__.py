"""Corpora, one file each: typed functions from a path and a split to a `Dataset`."""
