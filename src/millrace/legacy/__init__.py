"""Deprecated names of Flink 1.7 to 1.20, for programs that still use them; ``millrace.older`` and the table of names
know where they are."""
