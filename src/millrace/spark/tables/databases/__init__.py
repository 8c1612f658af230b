"""``jdbc`` for databases that Millrace has no driver for: Spark reads and writes them with Java's, in batch mode."""
