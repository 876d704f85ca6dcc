"""Questions that take several runs or changed models: which method to trust, and what results depend on."""
