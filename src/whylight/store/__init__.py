"""Rows on disk: Parquet tables that are complete at every moment."""
