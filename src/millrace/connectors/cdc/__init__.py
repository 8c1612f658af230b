"""Change data capture: what happens to the rows of a database, first as they are, then as its log tells."""
