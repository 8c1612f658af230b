"""Millrace: write Flink programs, run them on the Spark you already have."""

__version__ = "0.1.0"
