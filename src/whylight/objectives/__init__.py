"""Objectives: terms of a training loss, one file each."""
