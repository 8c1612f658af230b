"""Operators that order rows: Top-N, sorting, limits, deduplication."""
