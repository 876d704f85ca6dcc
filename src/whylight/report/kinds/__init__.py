"""Renderers, plug-ins: how inputs of a kind are drawn, one kind per file (`report/renderers.py` says what one is)."""
