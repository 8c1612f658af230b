"""A write-ahead log in front of stores without transactions: what is written waits until its checkpoint is recorded."""

from __future__ import annotations

from millrace.connectors.write_ahead.batch import Batch
from millrace.connectors.write_ahead.sink import BatchSender, WriteAheadSink

__all__ = ["Batch", "BatchSender", "WriteAheadSink"]
