"""MATCH_RECOGNIZE: what rows are kept as, what depends on the rows of a match, and the operator."""
