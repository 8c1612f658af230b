"""Rows of the answers to requests for keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millrace.connectors.http.caller import HttpAnswer, HttpError
from millrace.relational.fields import Schema
from millrace.relational.formats import Decoded, DecodingFormat
from millrace.relational.values import to_python

STATES = ("SUCCESS", "HTTP_ERROR_STATUS", "EXCEPTION", "UNABLE_TO_DESERIALIZE_RESPONSE")
METADATA = ("error-string", "http-status-code", "http-headers-map", "http-completion-state")
SINGLE, ARRAY = "single-value", "array"

Row = tuple[Any, ...]


class Unreadable(ValueError):
    """An answer is not what the format says."""


@dataclass(frozen=True)
class KeyAnswers:
    """
    :ivar columns: the physical ones; the format gives them.
    :ivar key: which of them are the key.
    :ivar metadata: keys of the metadata columns.
    :ivar matched: whether an answer is about several keys, so that each row says by its own which it is of.
    """

    columns: Schema
    key: tuple[int, ...]
    decoding: DecodingFormat
    result: str = SINGLE
    metadata: tuple[str, ...] = ()
    matched: bool = False

    def rows(self, asked: Sequence[Row], answer: HttpAnswer) -> list[list[Row]]:
        """The rows of each key that a request asked for.

        :raises Unreadable: the answer is something else.
        """
        if answer.ignored or not answer.content.strip():
            return [[] for _ in asked]
        extra = self._extra(STATES[0], answer, None)
        try:
            found = [(*row, *extra) for row in self._decoded(answer.content)]
        except ValueError as error:
            text = answer.content[:200].decode("utf-8", "replace")
            raise Unreadable(f"{error}; the answer begins with {text!r}") from error
        if not self.matched:
            return [found]
        by_key: dict[Row, list[Row]] = {}
        for row in found:
            key = tuple(row[place] for place in self.key)
            if None in key:
                names = ", ".join(self.columns[place].name for place in self.key)
                raise Unreadable(f"a row of the answer has no {names}: nobody knows which key it is of")
            by_key.setdefault(key, []).append(row)
        return [by_key.get(tuple(key), []) for key in asked]

    def _decoded(self, content: bytes) -> list[Row]:
        messages = elements(content) if self.result == ARRAY else [content]
        messages = [each for each in messages if each.strip() != b"null"]
        if not messages:
            return []
        found: Decoded = self.decoding.decode(pa.array(messages, pa.binary()))
        columns = [to_python(column, field.type) for column, field in zip(found.rows.columns, self.columns)]
        return list(zip(*columns))

    def failed(self, error: HttpError | Unreadable, answer: HttpAnswer | None) -> Row:
        """What stands for the rows of a key that could not be had."""
        if isinstance(error, Unreadable):
            text = "" if answer is None else answer.content.decode("utf-8", "replace")
            return (*(None for _ in self.columns), *self._extra(STATES[3], answer, text))
        state = STATES[2] if error.answer is None else STATES[1]
        return (*(None for _ in self.columns), *self._extra(state, error.answer, str(error)))

    def _extra(self, state: str, answer: HttpAnswer | None, problem: str | None) -> Row:
        if not self.metadata:
            return ()
        status = None if answer is None else answer.status
        headers = None if answer is None else answer.headers_map()
        known = dict(zip(METADATA, (problem, status, headers, state)))
        return tuple(known[key] for key in self.metadata)


def elements(content: bytes) -> list[bytes]:
    """The elements of a JSON array, each as it is written.

    :raises ValueError: it is none.
    """
    text, decoder = content.decode("utf-8"), json.JSONDecoder()
    at = _after_blanks(text, 0)
    if text[at : at + 1] != "[":
        raise ValueError("an array of JSON was expected")
    at = _after_blanks(text, at + 1)
    found: list[bytes] = []
    if text[at : at + 1] == "]":
        return _nothing_behind(text, at + 1, found)
    while True:
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end].encode())
        at = _after_blanks(text, end)
        if text[at : at + 1] == "]":
            return _nothing_behind(text, at + 1, found)
        if text[at : at + 1] != ",":
            raise ValueError(f"an array of JSON does not go on at character {at}")
        at = _after_blanks(text, at + 1)


def _after_blanks(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\n", "\r", "\t"):
        at += 1
    return at


def _nothing_behind(text: str, at: int, found: list[bytes]) -> list[bytes]:
    if text[at:].strip():
        raise ValueError("there is something behind an array of JSON")
    return found
