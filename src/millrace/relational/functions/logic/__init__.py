"""Comparisons, conditions, and logic with three values."""
