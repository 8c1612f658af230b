"""Reads messages into columns: all at once where that is possible, and one by one near a message where it is not.
Messages that a format cannot read can go to files in a folder, and reading goes on."""

from __future__ import annotations

import base64
import json
import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.files.file_systems import absolute, locate
from millrace.common.files.object_stores import explaining
from millrace.formats.text_columns import is_few
from millrace.relational.rows import Rows, concat
from millrace.relational.sources import Decoded, DecodingFormat
from millrace.util.exceptions import TableException

_PIECE = 256
"""messages that are read one by one because one of them is unusual"""

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Piece:
    """Columns that were read from messages."""

    columns: list[pa.Array]
    numbers: Numbers
    """for every row the number of its message, ascending"""
    skipped: int = 0
    at_once: bool = False
    """whether they were read all at once"""


def in_pieces(
    messages: pa.Array,
    numbers: Numbers,
    at_once: Callable[[pa.Array], list[pa.Array] | None],
    one_by_one: Callable[[list[bytes], Numbers], Piece],
) -> list[Piece]:
    """The columns of messages.

    :param numbers: of the messages.
    :param at_once: None if a message needs a closer look.
    """
    if is_few(len(messages)):
        return [one_by_one(messages.to_pylist(), numbers)]
    columns = at_once(messages)
    if columns is not None:
        return [Piece(columns, numbers, at_once=True)]
    if len(messages) <= _PIECE:
        return [one_by_one(messages.to_pylist(), numbers)]
    starts = range(0, len(messages), _PIECE)
    pieces = [in_pieces(messages.slice(at, _PIECE), numbers[at : at + _PIECE], at_once, one_by_one) for at in starts]
    return [piece for several in pieces for piece in several]


def join_pieces(pieces: list[Piece]) -> Piece:
    """One piece of several, in the order of the messages."""
    if len(pieces) == 1:
        return pieces[0]
    columns = [pa.concat_arrays(each) for each in zip(*(piece.columns for piece in pieces))]
    numbers = np.concatenate([piece.numbers for piece in pieces])
    order = np.argsort(numbers, kind="stable")
    if (order[1:] < order[:-1]).any():
        columns, numbers = [column.take(pa.array(order)) for column in columns], numbers[order]
    return Piece(columns, numbers, sum(piece.skipped for piece in pieces))


def transposed(rows: list[list[Any]], width: int) -> list[Any]:
    """Rows as columns."""
    return list(zip(*rows)) if rows else [()] * width


DEAD_LETTERS = "scan.dead-letter.path"
"""the option of a table"""
_FORMATS_THAT_IGNORE = ".ignore-parse-errors"

logger = logging.getLogger(__name__)


def with_dead_letters(decoding: DecodingFormat, options: Mapping[str, str], table: str) -> DecodingFormat:
    """The format, which sends what it cannot read where a table's options say; itself if they say nothing.

    :raises TableException: what they say cannot be.
    """
    folder = options.get(DEAD_LETTERS)
    if folder is None:
        return decoding
    ignoring = next((name for name in options if name.endswith(_FORMATS_THAT_IGNORE)), None)
    if ignoring is not None and options[ignoring].lower() == "true":
        raise TableException(f"table {table}: with '{ignoring}' nothing is left for '{DEAD_LETTERS}': choose one")
    try:
        locate(folder)
    except ValueError as error:
        raise TableException(f"table {table}: option '{DEAD_LETTERS}': {error}") from None
    return _Decoding(decoding, DeadLetterFiles(absolute(folder), table))


@dataclass(frozen=True)
class DeadLetterFiles:
    """A folder with a file of JSON for each batch of messages in which some could not be read: a line has the message
    and why, or the beginning of one that is too large, and its length. What is read again after a failure is there once
    more.

    :ivar origin: where the messages are from, if the table is not all that is known.
    """

    folder: str
    table: str
    origin: str | None = None

    def add(self, bad: Sequence[tuple[bytes, str]]) -> None:
        """Write messages that cannot be read, with the reasons. The files exist when this returns, so no message is
        lost when the job goes on.

        :raises OSError: the files cannot be written.
        """
        self._write([self._line(*each) for each in bad])

    def add_beginning(self, beginning: bytes, length: int, why: str) -> None:
        """The beginning of a message that is too large to be held, and how many bytes it has: as ``add``."""
        text = beginning.decode("utf-8", "ignore").encode()
        cut = len(beginning) - len(text) <= 3 and beginning.startswith(text)  # within a character
        self._write([{**self._line(text if cut else beginning, why), "length": length}])

    def _write(self, bad: Sequence[Mapping[str, Any]]) -> None:
        lines = b"".join(json.dumps(each).encode() + b"\n" for each in bad)
        location = locate(self.folder)
        system = location.file_system()
        name = f"dead-letters-{time.time_ns() // 1_000_000}-{uuid.uuid4().hex[:12]}.json"
        with explaining(self.folder):
            if not location.root:
                system.create_dir(location.path, recursive=True)
            with system.open_output_stream(f"{location.path}/.{name}") as stream:
                stream.write(lines)
            system.move(f"{location.path}/.{name}", f"{location.path}/{name}")
        place = f"{self.folder}/{name}"
        logger.warning("%d messages cannot be read and are in %s; the first: %s", len(bad), place, bad[0]["error"])

    def _line(self, message: bytes, why: str) -> dict[str, Any]:
        found: dict[str, Any] = {"table": self.table}
        if self.origin is not None:
            found["origin"] = self.origin
        try:
            found["message"] = message.decode()
        except UnicodeDecodeError:
            found["message_base64"] = base64.b64encode(message).decode()
        return {**found, "error": why}


@dataclass(frozen=True)
class _Decoding(DecodingFormat):
    inner: DecodingFormat
    files: DeadLetterFiles

    @property
    def kinds(self) -> Any:  # type: ignore[override]
        return self.inner.kinds

    def decode(self, messages: pa.Array) -> Decoded:
        bad: list[tuple[bytes, str]] = []
        found = self._good(messages, bad)
        if not bad:
            return found
        self.files.add(bad)
        return replace(found, skipped=found.skipped + len(bad))

    def _good(self, messages: pa.Array, bad: list[tuple[bytes, str]]) -> Decoded:
        """What can be decoded; halves where something can't."""
        try:
            return self.inner.decode(messages)
        except ValueError as error:
            if len(messages) == 1:
                bad.append((messages[0].as_py() or b"", str(error)))
                return self.inner.decode(messages.slice(0, 0))
        middle = len(messages) // 2
        first, second = (self._good(part, bad) for part in (messages.slice(0, middle), messages.slice(middle)))
        rows: list[Rows] = [first.rows, second.rows]
        places = np.concatenate([_places(first), _places(second) + middle])
        return Decoded(concat(rows), places, first.skipped + second.skipped)

    def narrowed(self, places: Sequence[int]) -> DecodingFormat | None:
        narrowed = self.inner.narrowed(places)
        return None if narrowed is None else replace(self, inner=narrowed)

    def decode_lines(self, block: bytes) -> Rows | None:
        return self.inner.decode_lines(block)

    def of(self, origin: str) -> DecodingFormat:
        """This format, with dead letters that name the place where the messages are from."""
        return replace(self, files=replace(self.files, origin=origin))


def _places(decoded: Decoded) -> Any:
    return np.arange(len(decoded.rows)) if decoded.messages is None else np.asarray(decoded.messages)


def sets_aside(decoding: DecodingFormat) -> bool:
    """Whether what cannot be read is set aside."""
    return isinstance(decoding, _Decoding)


def set_aside(decoding: DecodingFormat, beginning: bytes, length: int, why: str) -> None:
    """Note a message that is too large to be held, where the format sets aside what cannot be read.

    :raises OSError: it cannot be written.
    """
    if isinstance(decoding, _Decoding):
        decoding.files.add_beginning(beginning, length, why)


def from_origin(decoding: DecodingFormat, origin: str) -> DecodingFormat:
    """The format for messages from one place, which dead letters name."""
    return decoding.of(origin) if isinstance(decoding, _Decoding) else decoding
