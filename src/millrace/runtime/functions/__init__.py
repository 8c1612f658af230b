"""Calls of the user's Python functions in tables, for streaming operators and for Spark's batch tasks."""
