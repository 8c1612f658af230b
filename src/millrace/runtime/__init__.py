"""The pure Python runtime: it takes elements, watermarks and timers, and gives elements, state changes and counters.

It does no I/O and knows no Spark.
"""
