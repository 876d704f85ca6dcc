"""Removers: what it means that a feature is absent."""
