"""Operators on ordered rows: Top-N, sorting, limits, deduplication."""
