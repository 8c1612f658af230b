"""What there is to know about a configuration key: its name, the type of its value, what becomes of it."""
