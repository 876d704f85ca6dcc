"""Adapters to the outside: Hugging Face models and callables, seen through views."""
