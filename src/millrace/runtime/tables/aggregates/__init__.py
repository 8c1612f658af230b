"""GROUP BY over tables that change, and the accumulators of all aggregations."""
