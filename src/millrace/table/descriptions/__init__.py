"""Tables and models described in Python."""
