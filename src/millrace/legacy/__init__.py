"""Deprecated names of Flink 1.7 to 1.20, for programs that still use them; only ``millrace.older`` knows where they
are."""
