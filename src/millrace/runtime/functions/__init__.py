"""Python functions of tables, called by streaming operators and by Spark's batch tasks alike."""
