"""A client of SQL gateways, Millrace's own and Flink's: sessions, statements and their rows over HTTP.

The SQL client and the DB-API driver build on it. Numbers in rows are int or Decimal, so no digit is lost. A session
sends heartbeats, because gateways close idle ones.
"""

from __future__ import annotations

import base64
import datetime
import json
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from millrace.common.types import Row, RowKind, row_of
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.relational.type_table import ByFamily, Family, conversion, family_of, parts_of
from millrace.relational.types import DataType

_AROUND = re.compile(r"<Exception on server side:\s*(?P<inner>.*?)\s*End of exception on server side>", re.DOTALL)
_CAUSE = re.compile(r"^Caused by: ", re.MULTILINE)
_STACK = re.compile(r"^\s+at .*$|^\s*\.\.\. \d+ more$", re.MULTILINE)
_CLASS = re.compile(r"^[\w.$]*[\w$](?:Error|Exception|Interrupt)\b: ?")


class GatewayClientError(Exception):
    """Base of all errors between a client and its gateway."""


class UnreachableError(GatewayClientError):
    """The gateway did not answer, or the answer does not come from a gateway."""


class NotAllowedError(GatewayClientError):
    """The gateway requires a token, and the request had none or a wrong one."""


class RefusedError(GatewayClientError):
    """The gateway has refused a request, or the statement of the request has failed.

    :param texts: the gateway's error texts; the last one contains all causes.
    """

    def __init__(self, status: int, texts: Sequence[str]) -> None:
        self.status = status
        self.texts = tuple(texts)
        super().__init__(root_cause(self.texts))


class StatementEndedError(GatewayClientError):
    """The statement ended without a result: it was cancelled, or timed out."""


def root_cause(texts: Sequence[str]) -> str:
    """The innermost cause in a gateway's error, without Java's stack and class names."""
    text = texts[-1] if texts else "the gateway gives no reason"
    around = _AROUND.search(text)
    inner = _CAUSE.split(around["inner"] if around else text)[-1]
    return _CLASS.sub("", _STACK.sub("", inner).strip()) or text


# Data types of columns

_SIMPLE: Mapping[str, type[DataType]] = {
    "BOOLEAN": t.BooleanType,
    "TINYINT": t.TinyIntType,
    "SMALLINT": t.SmallIntType,
    "INTEGER": t.IntType,
    "BIGINT": t.BigIntType,
    "FLOAT": t.FloatType,
    "DOUBLE": t.DoubleType,
    "DATE": t.DateType,
    "VARIANT": t.VariantType,
}
_SIZED: Mapping[str, type[Any]] = {
    "CHAR": t.CharType,
    "VARCHAR": t.VarCharType,
    "BINARY": t.BinaryType,
    "VARBINARY": t.VarBinaryType,
}
_PRECISE: Mapping[str, type[Any]] = {
    "TIME_WITHOUT_TIME_ZONE": t.TimeType,
    "TIMESTAMP_WITHOUT_TIME_ZONE": t.TimestampType,
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": t.LocalZonedTimestampType,
    "TIMESTAMP_WITH_TIME_ZONE": t.ZonedTimestampType,
}


def type_of(described: Mapping[str, Any]) -> DataType:
    """The type that a gateway describes; an unknown type becomes RAW, whose values are passed on unchanged."""
    root, nullable = str(described.get("type")), bool(described.get("nullable", True))
    if root in _SIMPLE:
        return _SIMPLE[root](nullable)
    if root in _SIZED:
        sized: DataType = _SIZED[root](described["length"], nullable)
        return sized
    if root in _PRECISE:
        precise: DataType = _PRECISE[root](described["precision"], nullable)
        return precise
    make = _MORE.get(root)
    return t.RawType(nullable) if make is None else make(described, nullable)


def _row_type(described: Mapping[str, Any], nullable: bool) -> DataType:
    fields = [
        t.RowField(each["name"], type_of(each["fieldType"]), each.get("description")) for each in described["fields"]
    ]
    return t.RowType(fields, nullable)


def _months(described: Mapping[str, Any], nullable: bool) -> DataType:
    resolution = t.YearMonthIntervalType.YearMonthResolution[described["resolution"]]
    return t.YearMonthIntervalType(resolution, described["precision"], nullable)


def _span(described: Mapping[str, Any], nullable: bool) -> DataType:
    resolution = t.DayTimeIntervalType.DayTimeResolution[described["resolution"]]
    return t.DayTimeIntervalType(resolution, described["precision"], described["fractionalPrecision"], nullable)


_MORE: Mapping[str, Callable[[Mapping[str, Any], bool], DataType]] = {
    "NULL": lambda described, nullable: t.NullType(),
    "DECIMAL": lambda described, nullable: t.DecimalType(described["precision"], described["scale"], nullable),
    "ARRAY": lambda described, nullable: t.ArrayType(type_of(described["elementType"]), nullable),
    "MULTISET": lambda described, nullable: t.MultisetType(type_of(described["elementType"]), nullable),
    "MAP": lambda described, nullable: t.MapType(
        type_of(described["keyType"]), type_of(described["valueType"]), nullable
    ),
    "ROW": _row_type,
    "INTERVAL_YEAR_MONTH": _months,
    "INTERVAL_DAY_TIME": _span,
}


# Values of rows

Value = Callable[[Any], Any]

_AS_TEXT = (
    *(Family.TEXT, Family.BYTES, Family.DATE, Family.TIME, Family.TIMESTAMP, Family.INSTANT),
    *(Family.RAW, Family.USER),
)
"""type families whose values are texts in JSON"""
_FRACTION = re.compile(r"\.(\d+)")


def parsed(text: str | bytes) -> Any:
    """Parse JSON without losing digits of numbers."""
    return json.loads(text, parse_float=Decimal)


def row_reader(types: Sequence[DataType]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that reads the fields of a row."""
    values = [_nullable(each) for each in types]
    return lambda fields: [value(field) for value, field in zip(values, fields)]


def _nullable(data_type: DataType) -> Value:
    return conversion(data_type, _VALUES)


def _microseconds(text: str) -> str:
    """A time with exactly six digits of its second: Python has no more, and before 3.11 parses three or six only."""
    return _FRACTION.sub(lambda found: f".{found[1][:6]:0<6}", text)


def _time(text: str) -> datetime.time:
    return datetime.time.fromisoformat(_microseconds(text))


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(_microseconds(text))


def _instant(text: str) -> datetime.datetime:
    return _moment(text.removesuffix("Z")).replace(tzinfo=datetime.timezone.utc)


def _millis(value: int) -> datetime.timedelta:
    return datetime.timedelta(milliseconds=int(value))


def _array(data_type: DataType) -> Value:
    each = _nullable(parts_of(data_type)[0])
    return lambda values: [each(value) for value in values]


def _map(data_type: DataType) -> Value:
    kinds = parts_of(data_type)
    key, item = _key(kinds[0]), _nullable(kinds[1])
    return lambda values: {key(name): item(value) for name, value in values.items()}


def _key(data_type: DataType) -> Value:
    """A key from its JSON form: a key that is not text is written as JSON inside of the text."""
    value = _nullable(data_type)
    if family_of(data_type) in _AS_TEXT:
        return value
    return lambda name: _hashable(value(parsed(name)))


def _hashable(value: Any) -> Any:
    return tuple(_hashable(each) for each in value) if isinstance(value, list) else value


def _row_value(data_type: Any) -> Value:
    read, names = row_reader(parts_of(data_type)), list(data_type.names)

    def row(value: Any) -> Any:
        fields = [value.get(name) for name in names] if isinstance(value, dict) else value
        return row_of(read(fields), names)

    return row


_VALUES: ByFamily = {
    Family.INTEGER: lambda kind: int,
    Family.MONTHS: lambda kind: int,
    Family.APPROXIMATE: lambda kind: float,
    Family.DECIMAL: lambda kind: Decimal,
    Family.BYTES: lambda kind: base64.b64decode,
    Family.DATE: lambda kind: datetime.date.fromisoformat,
    Family.TIME: lambda kind: _time,
    Family.TIMESTAMP: lambda kind: _moment,
    Family.INSTANT: lambda kind: _instant,
    Family.SPAN: lambda kind: _millis,
    Family.ARRAY: _array,
    Family.MAP: _map,
    Family.ROW: _row_value,
}


# Requests

try:
    import httpx
except ImportError as error:
    raise ImportError("a client of the SQL gateway needs httpx: pip install 'millrace-streaming[dbapi]'") from error


VERSION = "v2"
"""Version of the gateway's API: the oldest that has all operations used here"""
TRIES = 4
FIRST_PAUSE_SECONDS = 0.2


def address_of(url: str) -> str:
    """The address of a gateway, from ``host:port`` or a URL; a version at its end is dropped.

    :raises ValueError: it is none.
    """
    whole = url.strip() if "://" in url else f"http://{url.strip()}"
    parts = urlsplit(whole)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not the address of a gateway, such as http://localhost:8083")
    if parts.username is not None or parts.password is not None:
        raise ValueError("no user and password in the address of a gateway: give its token as 'token'")
    path = parts.path.rstrip("/")
    last = path.rpartition("/")[2]
    if last[:1] == "v" and last[1:].isdecimal():
        path = path.removesuffix(f"/{last}")
    return f"{parts.scheme}://{parts.netloc}{path}"


class Http:
    """Sends requests to a gateway and parses its answers. Threads may share it.

    :param timeout: how long an answer may take (s).
    """

    def __init__(
        self, url: str, token: str | None = None, timeout: float = 60.0, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.address = address_of(url)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._client = httpx.Client(
            base_url=f"{self.address}/{VERSION}/", headers=headers, timeout=timeout, transport=transport
        )

    def get(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a GET request, and repeat it if there is no answer: reading changes nothing, and a page can be fetched
        twice."""
        pause = FIRST_PAUSE_SECONDS
        for _ in range(TRIES - 1):
            try:
                return self.call("GET", path, body)
            except UnreachableError:
                time.sleep(pause)
                pause *= 2
        return self.call("GET", path, body)

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """:raises GatewayClientError: it was closed here.

        :raises UnreachableError: no answer, or none of a gateway's.

        :raises NotAllowedError: another token is needed.
        :raises RefusedError: the gateway's own error.
        """
        if self._client.is_closed:
            raise GatewayClientError(f"the session at {self.address} is closed")
        try:
            response = self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise UnreachableError(f"no answer from the gateway at {self.address}: {error}") from error
        answer = self._json(response)
        if response.status_code in (401, 403):
            raise NotAllowedError(f"the gateway at {self.address} refuses: {'; '.join(_errors(answer)) or 'no token'}")
        if response.status_code >= 400:
            raise RefusedError(response.status_code, _errors(answer))
        return answer

    def _json(self, response: httpx.Response) -> Any:
        try:
            return parsed(response.content) if response.content else {}
        except ValueError:
            message = f"{self.address} answers {response.status_code} without JSON: it is no SQL gateway"
            raise UnreachableError(message) from None

    def close(self) -> None:
        self._client.close()


def _errors(answer: Any) -> list[str]:
    found = answer.get("errors") if isinstance(answer, dict) else None
    return [str(each) for each in found] if isinstance(found, list) else []


# Statements

FIRST_PAUSE = 0.01
LONGEST_PAUSE = 1.0
ENDED = ("CANCELED", "CLOSED", "TIMEOUT")

KINDS = {
    "INSERT": RowKind.INSERT,
    "UPDATE_BEFORE": RowKind.UPDATE_BEFORE,
    "UPDATE_AFTER": RowKind.UPDATE_AFTER,
    "DELETE": RowKind.DELETE,
}


@dataclass(frozen=True)
class Header:
    """The columns and kind of a result, without its rows."""

    columns: tuple[Field, ...]
    has_content: bool
    """whether the statement has rows; False: it only had an effect"""
    is_query: bool
    job_id: str | None


class RemoteStatement:
    """A statement in a gateway. One thread reads its result, once; other threads may cancel or close it."""

    def __init__(self, http: Http, session: str, handle: str) -> None:
        self.handle = handle
        self._http = http
        self._path = f"sessions/{session}/operations/{handle}"
        self._token = 0
        self._left = threading.Event()
        self._first: dict[str, Any] | None = None

    def status(self) -> str:
        """The statement's status in Flink's words: PENDING, RUNNING, FINISHED, ERROR, CANCELED, TIMEOUT, CLOSED."""
        return str(self._http.get(f"{self._path}/status")["status"])

    def header(self, seconds: float | None = None) -> Header:
        """Wait for the statement and return the header of its result; rows of a query follow later.

        :raises StatementEndedError: it was cancelled, or closed.
        :raises TimeoutError: it takes longer than ``seconds``.
        :raises RefusedError: it has failed.
        """
        if self._first is None:
            self._first = self._ready(seconds)
        page = self._first
        columns = [Field(each["name"], type_of(each["logicalType"])) for each in page["results"]["columns"]]
        return Header(
            tuple(columns),
            page.get("resultKind", "SUCCESS_WITH_CONTENT") == "SUCCESS_WITH_CONTENT",
            bool(page.get("isQueryResult", False)),
            page.get("jobID"),
        )

    def rows(self) -> Iterator[Row]:
        """All rows as they arrive. The iteration ends early when this client closes or cancels the statement."""
        header = self.header()
        read, names = row_reader([each.type for each in header.columns]), [each.name for each in header.columns]
        page, pause = self._first, _Pause(self._left)
        while page is not None:
            data = page.get("results", {}).get("data", [])
            for each in data:
                yield row_of(read(each["fields"]), names, KINDS[each["kind"]])
            if data:
                pause.reset()
            elif page["resultType"] != "EOS" and not pause():
                return
            page = self._next(page)

    def _next(self, page: dict[str, Any]) -> dict[str, Any] | None:
        following = page.get("nextResultUri")
        if page["resultType"] == "EOS" or following is None or self._left.is_set():
            return None
        self._token = _token(following)
        try:
            return self._fetch()
        except RefusedError:
            if self._left.is_set():  # the gateway knows nothing of it any more
                return None
            raise

    def _ready(self, seconds: float | None) -> dict[str, Any]:
        deadline = None if seconds is None else time.monotonic() + seconds
        pause = _Pause(self._left)
        while True:
            try:
                page = self._fetch()
            except RefusedError:
                self._raise_if_ended()
                raise
            if page["resultType"] != "NOT_READY":
                return page
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"the statement is not over after {seconds} seconds")
            if not pause():
                raise StatementEndedError("the statement was cancelled")

    def _raise_if_ended(self) -> None:
        if self._left.is_set():
            raise StatementEndedError("the statement was cancelled")
        try:
            status = self.status()
        except RefusedError:
            return
        if status in ENDED:
            raise StatementEndedError(f"the statement ended before its result was there: {status}")

    def _fetch(self) -> dict[str, Any]:
        page: dict[str, Any] = self._http.get(f"{self._path}/result/{self._token}?rowFormat=JSON")
        return page

    def cancel(self) -> None:
        """Cancel the statement, with the jobs that it has started. Does nothing if it has ended; then it only has to be
        closed."""
        self._left.set()
        try:
            self._http.call("POST", f"{self._path}/cancel")
        except RefusedError:
            return

    def close(self) -> None:
        """Close the statement: the job of a query ends, the job of an INSERT continues. May be called twice."""
        self._left.set()
        try:
            self._http.call("DELETE", f"{self._path}/close")
        except GatewayClientError:
            return  # the session's end closes it, too


class _Pause:
    """Pauses of growing length between polls; False: give up."""

    def __init__(self, left: threading.Event) -> None:
        self._left = left
        self._seconds = FIRST_PAUSE

    def reset(self) -> None:
        self._seconds = FIRST_PAUSE

    def __call__(self) -> bool:
        left = self._left.wait(self._seconds)
        self._seconds = min(self._seconds * 1.5, LONGEST_PAUSE)
        return not left


def _token(uri: str) -> int:
    """The token in ``.../result/7?rowFormat=JSON``."""
    parts = urlsplit(uri)
    found = parts.path.rpartition("/")[2]
    return int(found if found.isdecimal() else dict(parse_qsl(parts.query))["token"])


# Sessions

HEARTBEAT_SECONDS = 60.0
"""Gateways close sessions that are idle for long, by default for ten minutes."""


class RemoteSession:
    """A session in a gateway, opened by its construction. Threads may share it: the gateway runs its statements one by
    one.

    :param url: ``http://host:port``, or ``host:port``.
    :param properties: options that the session begins with.
    :param heartbeat: seconds between heartbeats; None: no heartbeats.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        properties: Mapping[str, str] | None = None,
        name: str | None = None,
        *,
        timeout: float = 60.0,
        heartbeat: float | None = HEARTBEAT_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = Http(url, token, timeout, transport)
        self._closed = threading.Event()
        try:
            body = {"properties": dict(properties or {}), **({} if name is None else {"sessionName": name})}
            self.handle = str(self._http.call("POST", "sessions", body)["sessionHandle"])
        except BaseException:
            self._http.close()
            raise
        if heartbeat is not None:
            arguments = (weakref.ref(self), self._closed, heartbeat)
            threading.Thread(target=_keep, args=arguments, name="millrace-sql-heartbeat", daemon=True).start()

    @property
    def address(self) -> str:
        return self._http.address

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def submit(
        self, statement: str, settings: Mapping[str, str] | None = None, seconds: float | None = None
    ) -> RemoteStatement:
        """Submit a statement: it runs after the session's earlier statements.

        :param settings: options that hold for it alone.
        :param seconds: the gateway ends it if it is not over by then.
        """
        body: dict[str, Any] = {"statement": statement, "executionConfig": dict(settings or {})}
        if seconds is not None:
            body["executionTimeout"] = max(round(seconds * 1000), 1)
        answer = self._http.call("POST", f"sessions/{self.handle}/statements", body)
        return RemoteStatement(self._http, self.handle, str(answer["operationHandle"]))

    def properties(self) -> dict[str, str]:
        """The settings of the session; secrets are masked."""
        found: dict[str, str] = self._http.get(f"sessions/{self.handle}")["properties"]
        return found

    def complete(self, statement: str, position: int) -> list[str]:
        """Candidates that may follow in a statement that is being typed."""
        body = {"statement": statement, "position": position}
        return list(self._http.get(f"sessions/{self.handle}/complete-statement", body)["candidates"])

    def info(self) -> dict[str, str]:
        """What the gateway is: ``productName`` and ``version``."""
        found: dict[str, str] = self._http.get("info")
        return found

    def heartbeat(self) -> None:
        """Send a heartbeat, which keeps the session from being closed as idle."""
        self._http.call("POST", f"sessions/{self.handle}/heartbeat")

    def close(self) -> None:
        """Close the session: its queries end, the jobs of its INSERTs continue. May be called twice."""
        if self._closed.is_set():
            return
        self._closed.set()
        try:
            self._http.call("DELETE", f"sessions/{self.handle}")
        except GatewayClientError:
            pass  # the gateway is gone or has closed it: there is nothing left to close
        finally:
            self._http.close()


def _keep(reference: weakref.ref[RemoteSession], closed: threading.Event, seconds: float) -> None:
    """Send heartbeats until the session is closed or garbage-collected."""
    while not closed.wait(seconds):
        session = reference()
        if session is None:
            return
        try:
            session.heartbeat()
        except GatewayClientError:
            pass  # what is asked for next tells what is wrong
        del session
