"""Operators of a pipeline, and what flows between them."""
