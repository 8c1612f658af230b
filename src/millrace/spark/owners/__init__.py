"""Where tasks live: owner processes of a job on each executor, which Spark's Python workers hand their data to."""
