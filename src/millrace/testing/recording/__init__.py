"""Recordings: what sources emitted is stored in files; programs run with it again, and the results of their sinks are
compared."""
