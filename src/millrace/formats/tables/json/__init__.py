"""``json``: a row is a JSON object."""
