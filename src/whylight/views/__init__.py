"""The ways to look at a model and an input: methods and metrics see these and nothing else."""
