"""Messages that a format cannot read go to files in a folder, and reading goes on."""

from __future__ import annotations

import base64
import json
import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.files.file_systems import absolute, locate
from millrace.common.files.stores.problems import explaining
from millrace.relational.formats import Decoded, DecodingFormat
from millrace.relational.rows import Rows, concat
from millrace.util.exceptions import TableException

__all__ = ["DEAD_LETTERS", "DeadLetterFiles", "from_origin", "set_aside", "sets_aside", "with_dead_letters"]

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
        """They are there when this returns, so that none is lost where what comes behind goes on.

        :raises OSError: they cannot be written.
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
        """The same for messages from one place."""
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
