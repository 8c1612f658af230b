"""What a format of messages gives to a table connector: bytes to rows and rows to bytes, a column of messages at a
time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import pyarrow as pa

from millrace.common.types import RowKind
from millrace.relational.fields import Schema
from millrace.relational.rows import Rows
from millrace.relational.sources import INSERT_ONLY
from millrace.relational.types import DataType
from millrace.util.record import Record


class FormatContext(Record):
    """What a format has to know of a table. Options come without the prefix of the connector: ``'json.fail-on-...'``
    of the table is ``'fail-on-...'`` here."""

    table: str
    """for errors"""
    columns: Schema
    """physical columns that the format reads or writes, in their order"""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    metadata: tuple[str, ...] = ()
    """keys of ``DecodingFormat.readable_metadata`` that are wanted, as columns after the physical ones"""
    configuration: Mapping[str, str] = field(default_factory=dict, repr=False)
    """of the session"""
    subject: str = ""
    """what a schema registry calls messages of this place, if the connector can say it"""


class Decoded(Record):
    """What messages gave."""

    rows: Rows
    messages: Any
    """for every row the number of the message that it came from (a numpy array of integers), so that a connector can
    add its own metadata; None: row n came from message n"""
    skipped: int = 0
    """messages that were malformed and that the user chose to skip"""


class DecodingFormat(ABC):
    """Bytes to rows. Pickled into the tasks."""

    kinds: frozenset[RowKind] = INSERT_ONLY
    """kinds of change that its rows can have"""

    @abstractmethod
    def decode(self, messages: pa.Array) -> Decoded:
        """Rows of messages (an Arrow array of binary; NULL is a message without a value: no row, for ``raw`` a NULL).

        :raises ValueError: for a malformed message; says which of the messages, and what is wrong.
        """

    def narrowed(self, places: Sequence[int]) -> DecodingFormat | None:
        """One that gives only these columns; None if all have to be read to know one."""
        return None

    def decode_lines(self, block: bytes) -> Rows | None:
        """The rows of whole lines, each a message, all at once; None if they have to be looked at one by one."""
        return None


class EncodingFormat(ABC):
    """Rows to bytes. Pickled into the tasks."""

    kinds: frozenset[RowKind] = INSERT_ONLY
    """kinds of change that it can write"""

    @abstractmethod
    def encode(self, rows: Rows) -> pa.Array:
        """A message (binary) for every row; NULL is a message without a value (``raw`` writes it for NULL).

        :raises ValueError: for a row that the format cannot hold.
        """


class FormatFactory(ABC):
    """A format by its name in WITH ('format' = ...)."""

    identifier: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    """names of options, without prefix; others are refused by name"""
    readable_metadata: Mapping[str, DataType] = {}
    """what METADATA FROM 'value.<key>' can name"""

    def decoding(self, table: FormatContext) -> DecodingFormat:
        raise NotImplementedError(f"format '{self.identifier}' cannot be read")

    def encoding(self, table: FormatContext) -> EncodingFormat:
        raise NotImplementedError(f"format '{self.identifier}' cannot be written")
