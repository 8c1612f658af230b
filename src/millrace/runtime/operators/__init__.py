"""The physical operators. Each takes chunks and watermarks and hands chunks and watermarks on; none knows Spark."""
