"""Spark's standalone master and workers, from PySpark's own jars."""
