"""The requests that ask for the rows of keys."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from millrace.connectors.http.caller import HttpRequest
from millrace.relational.fields import Schema
from millrace.relational.formats import EncodingFormat
from millrace.relational.functions.casts.texts import column_texts
from millrace.relational.rows import Rows, record_batch
from millrace.relational.values import to_arrow

_IN_URL = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")
_IN_BODY = re.compile(r"\{\{(\w+)\}\}")
KEYS = "keys"
"""in a template of a body: all keys, as a list of objects"""

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
