"""Tables of keys of Redis."""
