"""Training for reasons: objectives put together, on Hugging Face's trainer."""
