"""The base for sources that fetch: a thread reads ahead between epochs, within bounded memory."""

from __future__ import annotations

from millrace.connectors.split_reader.contract import SplitBatch, SplitReader
from millrace.connectors.split_reader.reader import SourceReaderBase

__all__ = ["SourceReaderBase", "SplitBatch", "SplitReader"]
