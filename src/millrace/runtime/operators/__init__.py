"""The physical operators. Each takes chunks and watermarks, and emits chunks and watermarks; none knows Spark."""
