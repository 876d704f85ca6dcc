"""Corpus runs: methods x metrics over a data set, stored as they go."""
