"""MATCH_RECOGNIZE on streams: the stored form of rows, the values that depend on a match, and the operator."""
