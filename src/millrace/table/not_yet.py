"""The names of ``pyflink.table`` that Millrace does not have yet, and what to use instead."""

from __future__ import annotations

from millrace.datastream.not_yet import not_yet

__all__ = ["not_yet"]
