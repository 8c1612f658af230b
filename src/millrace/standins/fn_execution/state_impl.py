"""``pyflink.fn_execution.state_impl``: the iterator of maps, by PyFlink's name."""

from __future__ import annotations

from millrace.table.data_view import RemovingIterator as RemovableConcatIterator

__all__ = ["RemovableConcatIterator"]
