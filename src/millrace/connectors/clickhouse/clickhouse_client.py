"""``ClickHouseTable``: a table of ClickHouse and the way to it over HTTP; its types, and which types of SQL they can be
read as and written from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from millrace.connectors.dbapi import quoted
from millrace.connectors.stores import ConnectionFailed, Reachable, trusted
from millrace.relational.rex import Field
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType, DecimalType
from millrace.util.secrets import HIDDEN, mask_text

FAMILIES = frozenset(
    {
        Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
        Family.TIMESTAMP, Family.INSTANT, Family.ARRAY,
    }
)  # fmt: skip

RANGES: Mapping[str, tuple[int, int]] = {
    f"{sign}Int{bits}": (0, (1 << bits) - 1) if sign else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    for bits in (8, 16, 32, 64, 128, 256)
    for sign in ("", "U")
}
"""whole numbers: what is beyond, ClickHouse cuts without a word"""
_NUMBERS = (Family.INTEGER, Family.DECIMAL)
_TIMES = (Family.TIMESTAMP, Family.INSTANT)
_TEXTS = (Family.TEXT, Family.BYTES)
_TAKES: Mapping[str, tuple[Family, ...]] = {
    **dict.fromkeys(RANGES, (*_NUMBERS, Family.BOOLEAN)),
    "Bool": (Family.BOOLEAN,),
    "Float32": (Family.APPROXIMATE, *_NUMBERS),
    "Float64": (Family.APPROXIMATE, *_NUMBERS),
    "Decimal": _NUMBERS,
    "String": _TEXTS,
    "FixedString": _TEXTS,
    "UUID": (Family.TEXT,),
    "Enum8": (Family.TEXT,),
    "Enum16": (Family.TEXT,),
    "IPv4": (Family.TEXT,),
    "IPv6": (Family.TEXT,),
    "Date": (Family.DATE,),
    "Date32": (Family.DATE,),
    "DateTime": _TIMES,
    "DateTime64": _TIMES,
}
"""type -> what can be written to it; all can be read as texts, and what can be written can be read"""


@dataclass(frozen=True)
class ColumnThere:
    """A column of a table in ClickHouse."""

    name: str
    type: str
    """ClickHouse's type, without Nullable and LowCardinality around it"""
    nullable: bool
    computed: bool = False
    """whether the column is computed, so that it cannot be written"""
    element: ColumnThere | None = None
    """the elements of an array; None for other types"""

    @property
    def base(self) -> str:
        name = self.type.partition("(")[0]
        return "Decimal" if name.startswith("Decimal") else name

    @property
    def numbers(self) -> list[int]:
        """What is in the brackets: digits, lengths."""
        return [int(each) for each in re.findall(r"\b\d+\b", self.type.partition("(")[2])]

    @property
    def digits(self) -> int:
        """Number of digits behind the point, of a decimal number or of seconds."""
        if self.base == "DateTime64":
            return (*self.numbers, 3)[0]
        return self.numbers[-1] if self.base == "Decimal" else 0


def column_there(name: str, native: str, default: str = "") -> ColumnThere:
    """A line of DESCRIBE TABLE."""
    kind, nullable = native.strip(), False
    while match := re.fullmatch(r"(Nullable|LowCardinality)\((.*)\)", kind, re.DOTALL):
        nullable = nullable or match[1] == "Nullable"
        kind = match[2].strip()
    inner = re.fullmatch(r"Array\((.*)\)", kind, re.DOTALL)
    computed = default in ("MATERIALIZED", "ALIAS")
    return ColumnThere(name, kind, nullable, computed, column_there(name, inner[1]) if inner else None)


def problem(column: Field) -> str | None:
    """What is wrong with a declared column, whatever the table has, None for nothing."""
    kind = column.type
    return None if _has(kind) else f"column '{column.name}': ClickHouse is neither read nor written as {kind} here"


def _has(kind: DataType) -> bool:
    family = family_of(kind)
    element = getattr(kind, "element_type", None) if family is Family.ARRAY else None
    return family in FAMILIES and (element is None or _has(element))


def check_readable(kind: DataType, there: ColumnThere) -> None:
    """:raises ValueError: values of the column cannot be read as the declared type."""
    if family_of(kind) is not Family.TEXT and not _takes(kind, there):
        raise ValueError(f"column '{there.name}' is {there.type} there, which cannot be read as {kind}")


def check_writable(kind: DataType, there: ColumnThere) -> None:
    """:raises ValueError: values of the declared type cannot be written to the column, or not without a loss."""
    if there.computed:
        raise ValueError(f"column '{there.name}' is computed by the table: nothing can be written to it")
    if not _takes(kind, there):
        raise ValueError(f"column '{there.name}' is {there.type} there, which cannot be written from {kind}")
    if isinstance(kind, DecimalType) and there.base in ("Decimal", *RANGES) and kind.scale > there.digits:
        raise ValueError(
            f"column '{there.name}' is {there.type} there: digits of {kind} would be cut, so declare it with at most "
            f"{there.digits} behind the point"
        )


def _takes(kind: DataType, there: ColumnThere) -> bool:
    if family_of(kind) is Family.ARRAY:
        return there.element is not None and _takes(kind.element_type, there.element)  # type: ignore[attr-defined]
    return family_of(kind) in _TAKES.get(there.base, ())


PORT, SECURE_PORT = 8123, 8443
PIECE = 1 << 20
_SCHEMES = {"clickhouse": "http", "jdbc:clickhouse": "http", "jdbc:ch": "http", "http": "http", "https": "https"}
_SOON = frozenset({159, 202, 209, 210, 242, 252, 285, 319, 425, 999})
"""codes of ClickHouse for what may be over a moment later: too many queries or parts, replicas that are not there"""


class Refused(Exception):
    """What ClickHouse answers in place of a result. :ivar passing: whether that may be over a moment later."""

    def __init__(self, said: str, passing: bool) -> None:
        super().__init__(said)
        self.passing = passing


def address(url: str) -> str:
    """The HTTP address that a URL of one of the usual kinds means.

    :raises ValueError: it is none of these.
    """
    scheme, _, rest = url.partition("://")
    hosts, _, _ = rest.partition("/")
    if scheme.lower() not in _SCHEMES or not hosts or "@" in hosts:
        raise ValueError(f"'url' is clickhouse://host:port, or https://host:port, not '{mask_text(url)}'")
    if "," in hosts:
        raise ValueError("'url' names one server: several behind one address are a matter of the network")
    form = _SCHEMES[scheme.lower()]
    port = "" if re.search(r":\d+$", hosts) else f":{PORT if form == 'http' else SECURE_PORT}"
    return f"{form}://{hosts}{port}"


@dataclass(frozen=True)
class ClickHouseTable(Reachable):
    """A table by its address, database and name."""

    address: str
    database: str
    name: str
    user: str = "default"
    password: str = field(default="", repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)
    """settings of ClickHouse that are sent with every query"""
    timeout: float = 60.0
    """seconds for each answer"""

    def __call__(self) -> Connected:
        return Connected(self)

    @property
    def place(self) -> str:
        """For messages: no secret is in it."""
        return f"ClickHouse at {self.address}, table {self.database}.{self.name}"

    @property
    def quoted(self) -> str:
        return f"{quoted(self.database, '`')}.{quoted(self.name, '`')}"

    def is_passing(self, error: BaseException) -> bool:
        import httpx

        return isinstance(error, httpx.TransportError)

    def failed(self, error: BaseException) -> Exception:
        """The error for the user, without secrets: ``ConnectionFailed`` if a retry may help."""
        said = str(error).strip() or type(error).__name__
        if self.password:
            said = said.replace(self.password, HIDDEN)
        passing = bool(getattr(error, "passing", False)) or self.is_passing(error)
        text = f"{self.place}: {mask_text(said)}"
        return ConnectionFailed(text, True) if passing else RuntimeError(text)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Errors say which table it is, and no password."""
        import httpx

        try:
            yield
        except (httpx.HTTPError, Refused) as error:
            raise self.failed(error) from None
        except (ValueError, ArithmeticError) as error:
            raise ValueError(f"{self.place}: {error}") from None


class Connected:
    """A client of HTTP, and what is known of the table."""

    def __init__(self, table: ClickHouseTable) -> None:
        try:
            import httpx
        except ImportError:
            raise ImportError("ClickHouse needs httpx: pip install 'millrace-streaming[clickhouse]'") from None
        self._table = table
        headers = {"X-ClickHouse-User": table.user}
        if table.password:
            headers["X-ClickHouse-Key"] = table.password
        # What is asked is not asked of proxies that the environment names.
        self._client = httpx.Client(
            base_url=table.address,
            headers=headers,
            timeout=table.timeout,
            trust_env=False,
            verify=trusted(table.address),
        )
        self._columns: Sequence[ColumnThere] | None = None

    def ask(self, query: str, data: bytes | None = None, **settings: str) -> bytes:
        """The answer to a query.

        :param data: what an INSERT inserts.
        :raises Refused: what the server says.
        """
        asked, content = self._settings(settings), query.encode()
        if data is not None:
            asked["query"], content = query, data
        answer = self._client.post("/", params=asked, content=content)
        if answer.status_code != 200:
            raise _refused(answer.status_code, answer.text)
        return bytes(answer.content)

    def stream(self, query: str) -> Iterator[bytes]:
        """The answer in whole lines, about ``PIECE`` bytes at a time."""
        with self._client.stream("POST", "/", params=self._settings({}), content=query.encode()) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _refused(answer.status_code, answer.text)
            left = b""
            for data in answer.iter_bytes(PIECE):
                whole, end, rest = (left + data).rpartition(b"\n")
                if end:
                    yield whole + end
                left = rest
            if left:
                raise Refused(left.decode(errors="replace")[:1_000], False)  # it ended in the middle of a line

    def _settings(self, more: Mapping[str, str]) -> dict[str, str]:
        # With wait_end_of_query an error that comes late is no part of the answer.
        return {"wait_end_of_query": "1", **self._table.settings, **more}

    def columns(self) -> Sequence[ColumnThere]:
        """Of the table, as the server has them. :raises Refused: there is no such table."""
        if self._columns is None:
            text = self.ask(f"DESCRIBE TABLE {self._table.quoted} FORMAT TabSeparated").decode()
            rows = [line.split("\t") for line in text.splitlines()]
            self._columns = [column_there(row[0], row[1], row[2] if len(row) > 2 else "") for row in rows]
        return self._columns

    def wanted(self, names: Sequence[str]) -> list[ColumnThere]:
        """Columns by their names. :raises ValueError: one is not there."""
        there = {column.name: column for column in self.columns()}
        missing = [name for name in names if name not in there]
        if missing:
            raise ValueError(f"there is no column '{missing[0]}', there are {', '.join(there)}")
        return [there[name] for name in names]

    def close(self) -> None:
        self._client.close()


def _refused(status: int, said: str) -> Refused:
    text = re.sub(r"\s*\(version [^)]*\)|, e\.what\(\) = DB::\w+|e\.displayText\(\) = ", "", said).strip()
    code = re.match(r"Code: (\d+)", text)
    passing = status in (502, 503, 504) or (code is not None and int(code[1]) in _SOON)
    return Refused(text[:1_000] or f"it answers with status {status}", passing)


def literal(value: Any) -> str:
    """A text as a constant."""
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_CONSTANTS: dict[Family, Callable[[Any], str]] = {
    Family.INTEGER: str,
    Family.BOOLEAN: lambda value: "1" if value else "0",
    Family.TEXT: literal,
    Family.DATE: lambda value: f"toDate('{value.isoformat()}')",
}


def can_be_key(kind: DataType) -> bool:
    return family_of(kind) in _CONSTANTS


def one_of(names: Sequence[str], kinds: Sequence[DataType], keys: Sequence[Sequence[Any]]) -> str:
    """The condition that a row has one of the keys."""
    constants = [_CONSTANTS[family_of(kind)] for kind in kinds]
    made = [", ".join(constant(value) for constant, value in zip(constants, key)) for key in keys]
    listed = ", ".join(quoted(name, "`") for name in names)
    if len(names) == 1:
        return f"{listed} IN ({', '.join(made)})"
    return f"({listed}) IN ({', '.join(f'({each})' for each in made)})"
