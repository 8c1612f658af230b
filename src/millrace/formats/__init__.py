"""Formats: CSV, JSON and Parquet, for files and for messages."""
