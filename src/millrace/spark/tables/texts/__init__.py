"""Expressions, constants and types as Spark SQL."""
