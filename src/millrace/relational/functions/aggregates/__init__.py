"""Aggregate functions, and the accumulators that they are made of."""
