"""``HttpLookup``: looks up keys by requests, several of them at once; makes a request of a key, and rows of the
answer."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from millrace.connectors.http.http_client import Caller, HttpAnswer, HttpError, HttpRequest, Session
from millrace.connectors.http.http_settings import CallSettings
from millrace.relational.functions.casts import column_texts
from millrace.relational.rex import Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import Decoded, DecodingFormat, EncodingFormat, LookupTableSource
from millrace.relational.values import to_arrow, to_python

_IN_URL = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")
_IN_BODY = re.compile(r"\{\{(\w+)\}\}")
KEYS = "keys"
"""Placeholder in a body template for all keys, as a list of objects."""

Key = tuple[object, ...]


@dataclass(frozen=True)
class KeyRequests:
    """
    :ivar key: the columns of the key, in the order of its values.
    :ivar encoding: of the key columns into a JSON object.
    :ivar url_map: mark in the URL -> column, where it has not its name.
    :ivar params: columns that become parameters of the URL, ``body`` those of the body's object.
    :ivar template: of the body, with ``{{column}}`` or ``{{keys}}``.
    :ivar chunk: keys of one request.
    """

    method: str
    url: str
    key: Schema
    encoding: EncodingFormat
    url_map: Mapping[str, str]
    params: tuple[str, ...]
    body: tuple[str, ...]
    template: str | None = None
    chunk: int = 1

    def of(self, keys: Sequence[Key]) -> list[tuple[HttpRequest, range]]:
        """Requests, each with the places of its keys."""
        values = list(zip(*keys)) if keys else [() for _ in self.key]
        columns = [to_arrow(list(each), column.type) for each, column in zip(values, self.key)]
        texts = {
            field.name: [each or "" for each in column_texts(column, field.type)]
            for column, field in zip(columns, self.key)
        }
        objects: list[bytes] = []
        if self.template is not None or self.body:
            objects = self.encoding.encode(Rows(record_batch(columns, len(keys)))).to_pylist()
        found = []
        for begin in range(0, len(keys), self.chunk):
            places = range(begin, min(begin + self.chunk, len(keys)))
            found.append((self._request(places, texts, objects), places))
        return found

    def _request(self, places: range, texts: Mapping[str, Sequence[str]], objects: Sequence[bytes]) -> HttpRequest:
        def text(column: str) -> str:
            return ",".join(texts[column][place] for place in places)

        def in_url(mark: re.Match[str]) -> str:
            name = mark[1] or mark[2]
            column = self.url_map.get(name, name)
            return ",".join(quote(texts[column][place], safe="") for place in places)

        url = _IN_URL.sub(in_url, self.url)
        params = tuple((column, text(column)) for column in self.params)
        body = self._body([objects[place] for place in places]) if objects else None
        headers = {} if body is None else {"Content-Type": "application/json"}
        return HttpRequest(self.method, url, params, body, headers)

    def _body(self, objects: Sequence[bytes]) -> bytes | None:
        values = [json.loads(each, parse_float=_Number, parse_int=_Number) for each in objects]
        if self.template is None:
            chosen = [{name: value for name, value in each.items() if name in self.body} for each in values]
            return _json(chosen if self.chunk > 1 else chosen[0])

        def value(mark: re.Match[str]) -> str:
            if mark[1] == KEYS:
                return _json(values).decode()
            found = [each.get(mark[1]) for each in values]
            return _json(found if self.chunk > 1 else found[0]).decode()

        return _IN_BODY.sub(value, self.template).encode()

    def problem(self) -> str | None:
        """Why there can be no such requests."""
        names = [column.name for column in self.key]
        marks = [self.url_map.get(mark, mark) for mark in marks_of(self.url)]
        used = [*marks, *self.params, *self.body, *_IN_BODY.findall(self.template or "")]
        for name in used:
            if name not in names and name != KEYS:
                return f"a request needs the column '{name}', but rows are looked up by {', '.join(names)}"
        if self.chunk > 1 and len(self.key) > 1 and (marks or self.params):
            return "several keys in one request must be in its body, if a key is more than one column"
        return None


class _Number(str):
    """A number as it is written."""


def _json(value: object) -> bytes:
    return _text(value).encode()


def _text(value: object) -> str:
    if isinstance(value, _Number):
        return str.__str__(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_text(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def marks_of(url: str) -> list[str]:
    """The marks in a URL that stand for values."""
    return [mark[1] or mark[2] for mark in _IN_URL.finditer(url)]


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


logger = logging.getLogger(__name__)


class HttpLookup(LookupTableSource):
    """
    :param concurrency: requests that may be under way at once, unless a hint says another number.
    :param goes_on: whether a row of NULLs stands for what could not be had, with the reason in metadata columns.
    :ivar options: of the table: those of its cache are read from here.
    """

    def __init__(
        self,
        settings: CallSettings,
        requests: KeyRequests,
        answers: KeyAnswers,
        concurrency: int,
        goes_on: bool,
        options: Mapping[str, str],
    ) -> None:
        self._settings = settings
        self._requests = requests
        self._answers = answers
        self._concurrency = concurrency
        self._goes_on = goes_on
        self.options = {name: value for name, value in options.items() if name.startswith("lookup.")}
        self._session: Session | None = None

    def open(self) -> None:
        self._session = Session(self._settings, self.capacity or self._concurrency)

    def lookup(self, keys: Sequence[Row]) -> Iterable[Sequence[Row]]:
        assert self._session is not None, "open() comes first"
        calls = [(request, places, [keys[place] for place in places]) for request, places in self._requests.of(keys)]
        found: list[Sequence[Row]] = [()] * len(keys)
        for (_, places, _), rows in zip(calls, self._session.all(self._ask, calls)):
            for place, each in zip(places, rows):
                found[place] = each
        return found

    async def _ask(self, caller: Caller, call: tuple[HttpRequest, range, Sequence[Row]]) -> list[list[Row]]:
        request, _, asked = call
        answer = None
        try:
            answer = await caller.call(request)
            return self._answers.rows(asked, answer)
        except (HttpError, Unreadable) as error:
            if self._goes_on:
                logger.debug("%s: %s; the job goes on", request, error)
            elif isinstance(error, HttpError):
                raise
            else:
                raise ValueError(f"{request}: {error}") from error
            return [[self._answers.failed(error, answer)] for _ in asked]

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()
