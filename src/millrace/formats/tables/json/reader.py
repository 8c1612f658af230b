"""JSON messages as columns: all at once where that is the same, else one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables.json.columns import JsonColumns
from millrace.formats.tables.json.values import BadField, JsonValues, decoded
from millrace.formats.tables.pieces import Numbers, Piece, in_pieces, is_few, joined
from millrace.formats.tables.problems import LENIENCE, malformed
from millrace.formats.tables.times import TimeForm
from millrace.relational.types import DataType


class Completion(Protocol):
    """What a format adds where a field that is missing means something else than NULL. Columns show both as NULL."""

    def unsure(self, columns: list[pa.Array], messages: pa.Array) -> pa.Array:
        """For each message whether there may be a difference that its columns do not show."""

    def columns(self, columns: list[pa.Array]) -> list[pa.Array]:
        """Columns with what is missing (NULL) filled in."""

    def message(self, message: Any) -> Any:
        """A decoded message with what is missing filled in."""


class JsonReader:
    """Reads objects, and arrays of objects, which are several rows.

    :param table: its name, for errors.
    :param strict: a missing field is an error.
    :param lenient: what is malformed is skipped: a field becomes NULL, a message is left out and counted.
    """

    def __init__(
        self,
        table: str,
        columns: Sequence[tuple[str, DataType]],
        form: TimeForm,
        strict: bool = False,
        lenient: bool = False,
        completion: Completion | None = None,
    ) -> None:
        self._made_of = (table, columns, form, strict, lenient, completion)
        self._table = table
        self._lenient = lenient
        self._completion = completion
        self._fast = JsonColumns(columns, form, strict)
        self._slow = JsonValues(columns, form, strict, lenient)

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonReader, self._made_of

    def read(self, messages: pa.Array) -> Piece:
        """The rows of messages (binary; NULL and empty ones have none).

        :raises ValueError: for a malformed message.
        """
        if is_few(len(messages)) and None not in (few := messages.to_pylist()) and b"" not in few:
            return self._one_by_one(few, np.arange(len(few)))
        present = pc.greater(pc.binary_length(messages), 0).fill_null(False)
        numbers, given = np.flatnonzero(np.asarray(present)), messages
        if len(numbers) < len(messages):
            messages = messages.filter(present)
        pieces = in_pieces(messages, numbers, self._fast.read, self._one_by_one)
        if self._completion is not None:
            pieces = [each for piece in pieces for each in self._completed(piece, given, self._completion)]
        return joined(pieces)

    def _completed(self, piece: Piece, messages: pa.Array, completion: Completion) -> list[Piece]:
        if not piece.at_once:
            return [piece]  # message by message
        messages = messages.take(pa.array(piece.numbers))
        unsure = completion.unsure(piece.columns, messages)
        if not pc.any(unsure).as_py():
            return [Piece(completion.columns(piece.columns), piece.numbers)]
        sure = pc.invert(unsure)
        columns = completion.columns([column.filter(sure) for column in piece.columns])
        closer = self._one_by_one(messages.filter(unsure).to_pylist(), piece.numbers[np.asarray(unsure)])
        return [Piece(columns, piece.numbers[np.asarray(sure)]), closer]

    def _one_by_one(self, given: list[bytes], numbers: Numbers) -> Piece:
        rows: list[dict[str, Any]] = []
        origins: list[int] = []
        skipped = 0
        for at, message in enumerate(given):
            try:
                found = self._rows(message)
            except ValueError as error:
                if not self._lenient:
                    raise malformed(self._table, int(numbers[at]), message, error, LENIENCE) from error
                skipped += 1
                continue
            objects = [each for each in found if isinstance(each, dict)]
            if len(objects) < len(found) and not self._lenient:
                raise malformed(
                    self._table,
                    int(numbers[at]),
                    message,
                    "it is neither an object nor an array of objects",
                    LENIENCE,
                )
            rows += objects
            origins += [at] * len(objects)
            skipped += len(found) - len(objects)
        try:
            columns = self._slow.columns(rows)
        except BadField as error:
            at = origins[error.row]
            raise malformed(self._table, int(numbers[at]), given[at], error, LENIENCE) from error
        return Piece(columns, numbers[np.array(origins, np.int64)], skipped)

    def _rows(self, message: bytes) -> list[Any]:
        value = decoded(message)
        if self._completion is not None:
            value = self._completion.message(value)
        return value if isinstance(value, list) else [value]
