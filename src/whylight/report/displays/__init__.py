"""How results show themselves, plug-ins: one file per family of results (`core/showing.py` says what a display is)."""
