"""Aggregate functions, and what they are made of."""
