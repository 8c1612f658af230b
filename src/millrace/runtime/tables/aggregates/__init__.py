"""GROUP BY over changing tables, and the accumulators of all aggregations."""
