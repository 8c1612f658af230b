"""What of ``pyflink.table`` is not in Millrace yet, and what to use in its place."""

from __future__ import annotations

from millrace.datastream.not_yet import not_yet

__all__ = ["not_yet"]
