"""The engine: stages, exchanges, epochs and the session. The only package that imports pyspark."""
