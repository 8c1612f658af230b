"""Plans to look at and to keep: EXPLAIN, compiled plans."""
