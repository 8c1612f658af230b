"""Relational plans run by Spark SQL: batch mode of the Table API and SQL."""
