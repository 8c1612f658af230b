"""Windowing table functions, and aggregates, joins and ranks in windows."""
