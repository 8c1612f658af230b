"""The pure Python runtime: elements, watermarks and timers in; elements, state changes and counters out.

No I/O, no Spark.
"""
