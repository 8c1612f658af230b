"""``csv``: a row is a line of CSV."""
