"""What runs in Spark's Python workers: their daemon, and the function of a stage."""
