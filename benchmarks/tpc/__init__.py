"""TPC-H and TPC-DS in batch mode: answers beside DuckDB's, times beside plain Spark and Flink."""
