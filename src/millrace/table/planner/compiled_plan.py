"""``CompiledPlan``: INSERTs that were planned once and can run later, in other processes, too; with ``PlanReference``,
which says where such a plan is stored.

A plan is stored as JSON: nodes and expressions field by field, values by their kind. Tables and functions of the user
are only named, with the options of the table.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from millrace import __version__
from millrace.common.types import Row, RowKind, row_of
from millrace.relational import nodes as n
from millrace.relational import rex as r
from millrace.relational.nodes import Field, LookupJoin, Rel
from millrace.relational.rex import Pattern
from millrace.relational.sources import LookupTableSource, TableContext, TableSink, TableSource
from millrace.relational.types import DataType
from millrace.table.catalogs.objects import ObjectIdentifier
from millrace.table.functions.udf import UserDefinedFunctionWrapper
from millrace.table.planner import engine
from millrace.table.sessions.session import ExplainDetail, explain
from millrace.table.values.program_errors import problem
from millrace.util.not_yet import not_yet
from millrace.util.secrets import holds_secret

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session
    from millrace.table.sessions.table_result import TableResult


# Plans as JSON, and back: tables and functions by name


class PlanObjects:
    """Writes objects of a plan as JSON, and makes them again in the session where the plan is loaded."""

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- as JSON ------------------------------------------------------------------------------------------------

    def write(self, value: Any) -> dict[str, Any]:
        """:raises TableException: it exists in this program only."""
        if isinstance(value, (TableSource, TableSink)):
            kind = "source" if isinstance(value, TableSource) else "sink"
            return {"@": kind, "table": _written(_table(value.table, f"a {kind}"))}
        if isinstance(value, UserDefinedFunctionWrapper):
            return {"@": "function", "name": self._name(value)}
        raise problem(
            f"a plan with {type(value).__name__} cannot be compiled: it exists in this program only. Of tables, those "
            f"that a connector reads can, and of functions those that have a name in the catalog"
        )

    def key_of(self, node: LookupJoin) -> dict[str, Any]:
        """The source of a lookup join, with the columns that it looks up by."""
        table = _table(node.source.table, "a table to look up")
        return {"@": "lookup", "table": _written(table), "key": [column for column, _ in node.lookup]}

    def _name(self, function: UserDefinedFunctionWrapper) -> str:
        functions = self._session.functions
        for name in functions.list_user_defined():
            found = functions.find([name])
            if found is not None and found[0] is function:
                return name
        raise problem(
            f"function {function.name} has no name in the catalog, so a compiled plan cannot find it again: give it "
            f"one with create_temporary_system_function, and call it by that"
        )

    # -- and back -----------------------------------------------------------------------------------------------

    def read(self, value: dict[str, Any]) -> Any:
        """:raises TableException: the session has it no more, or another one."""
        kind = value["@"]
        if kind == "function":
            found = self._session.functions.find([value["name"]])
            if found is None:
                raise problem(f"the compiled plan calls function {value['name']}, which is not in the catalog")
            return found[0]
        table = self._current(value["table"], kind == "sink")
        factory = self._session.connectors.factory_of(table.options, table.summary)
        made: TableSource | TableSink | LookupTableSource
        if kind == "lookup":
            made = factory.lookup_source(table, tuple(value["key"]))
        elif kind == "source":
            made = factory.source(table)
            names = [column.name for column in table.columns]
            made.primary_key = tuple(names.index(name) for name in table.primary_key)
        elif kind == "sink":
            made = factory.sink(table)
        else:
            raise problem(f"the compiled plan has a {kind!r}, which this version does not know")
        made.table = table
        return made

    def _current(self, value: dict[str, Any], is_sink: bool) -> TableContext:
        """The table as the plan has it. If the catalog has one of its name, too, its columns must be the same."""
        from millrace.table.sessions.table_info import table_context, written

        settings = self._session.config.to_map()
        path = tuple(value["path"])
        found = self._session.catalogs.find_table(path)
        now = None
        if found is not None:
            now = table_context(ObjectIdentifier(*path), found.table, {}, self._session)
        options = _with_secrets(value, {} if now is None else now.options)
        table = _table_context({**value, "options": options}, settings, self._session.streaming)
        if now is None or found is None:
            return table
        if is_sink:
            now, table = written(now, found.table), written(table, found.table)
        for what in ("columns", "metadata", "primary_key", "partition_keys"):
            if getattr(now, what) != getattr(table, what):
                raise problem(
                    f"table {table.summary} has changed since the plan was compiled: its {what.replace('_', ' ')} are "
                    f"{_shown(getattr(now, what))}, and were {_shown(getattr(table, what))}; compile the plan again"
                )
        return table


def _table(table: TableContext | None, what: str) -> TableContext:
    if table is None:
        raise problem(f"{what} that is no table of a catalog cannot be compiled: it exists in this program only")
    return table


def _written(table: TableContext) -> dict[str, Any]:
    return {
        "path": list(table.path),
        "columns": [[column.name, str(column.type)] for column in table.columns],
        "metadata": [[name, key, str(kind)] for name, key, kind in table.metadata],
        "primaryKey": list(table.primary_key),
        "partitionKeys": list(table.partition_keys),
        "options": {name: _WITHHELD if holds_secret(name, text) else text for name, text in table.options.items()},
        "comment": table.comment,
    }


_WITHHELD = {"@": "secret"}
"""Stands for an option that holds a secret: the process that loads the plan takes the option from its catalog."""


def _with_secrets(value: dict[str, Any], options: Mapping[str, str]) -> dict[str, str]:
    """The options of a table in a plan, with those of the catalog where the plan withholds them."""
    missing = [name for name, text in value["options"].items() if text == _WITHHELD and name not in options]
    if missing:
        raise problem(
            f"a compiled plan does not hold secrets, and the catalog has no option {', '.join(map(repr, missing))} of "
            f"table {'.'.join(value['path'])}: create the table with it first (hints can't give it)"
        )
    return {name: options[name] if text == _WITHHELD else text for name, text in value["options"].items()}


def _table_context(value: dict[str, Any], settings: dict[str, str], streaming: bool) -> TableContext:
    from millrace.table.sql.grammar.parser import parse_type

    catalog, database, name = value["path"]
    return TableContext(
        (catalog, database, name),
        tuple(Field(column, parse_type(kind)) for column, kind in value["columns"]),
        tuple((column, key, parse_type(kind)) for column, key, kind in value["metadata"]),
        tuple(value["primaryKey"]),
        tuple(value["partitionKeys"]),
        value["options"],
        settings,
        streaming,
        value["comment"],
    )


def _shown(values: tuple[Any, ...]) -> str:
    return f"({', '.join(str(each) for each in values)})"


# Nodes and expressions

_MICROSECOND = dt.timedelta(microseconds=1)
_PARTS = (n.Field, n.WindowSpec, r.AggCall, r.SortKey, r.Frame)

Write = Callable[[Any], Any]
_VALUES: dict[type, tuple[str, Write, Write]] = {
    Decimal: ("decimal", str, Decimal),
    dt.datetime: ("datetime", dt.datetime.isoformat, dt.datetime.fromisoformat),
    dt.date: ("date", dt.date.isoformat, dt.date.fromisoformat),
    dt.time: ("time", dt.time.isoformat, dt.time.fromisoformat),
    dt.timedelta: ("microseconds", lambda value: value // _MICROSECOND, lambda count: count * _MICROSECOND),
    bytes: ("bytes", lambda value: base64.b64encode(value).decode(), base64.b64decode),
    float: ("float", repr, float),
}
"""type -> (kind, as JSON, back)"""
_BACK = {kind: back for kind, _, back in _VALUES.values()}


@cache
def _classes() -> dict[str, type[Any]]:
    """Name -> class of all that plans consist of."""
    return {each.__name__: each for each in (*_below(n.Rel), *_below(r.Rex), *_below(Pattern), *_PARTS)}


def _below(base: type[Any]) -> Iterator[type[Any]]:
    for each in base.__subclasses__():
        yield each
        yield from _below(each)


def written(plans: list[n.Rel], session: Session) -> list[Any]:
    """Plans as what ``json.dumps`` takes.

    :raises TableException: a plan has something that exists in this process only.
    """
    objects = PlanObjects(session)
    return [_write(plan, objects) for plan in plans]


def read(plans: list[Any], session: Session) -> list[n.Rel]:
    """The plans again.

    :raises TableException: a table is another one by now, or a function is missing.
    """
    objects = PlanObjects(session)
    return [_read(plan, objects) for plan in plans]


def _write(value: Any, objects: PlanObjects) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, tuple):
        return [_write(each, objects) for each in value]
    if isinstance(value, list):
        return {"@": "list", "items": [_write(each, objects) for each in value]}
    if isinstance(value, dict):
        return {"@": "dict", "items": [[_write(key, objects), _write(each, objects)] for key, each in value.items()]}
    if isinstance(value, Row):
        items = [_write(each, objects) for each in value]
        return {"@": "Row", "items": items, "names": value._fields, "kind": value.get_row_kind().name}
    if isinstance(value, DataType):
        return {"@": "type", "is": _type_text(value)}
    known = _VALUES.get(type(value))
    if known is not None:
        return {"@": known[0], "is": known[1](value)}
    if isinstance(value, (n.Rel, r.Rex, Pattern, *_PARTS)):
        return {"@": type(value).__name__} | {each.name: _field(value, each.name, objects) for each in fields(value)}
    return objects.write(value)


def _field(node: Any, name: str, objects: PlanObjects) -> Any:
    if isinstance(node, n.LookupJoin) and name == "source":
        return objects.key_of(node)
    return _write(getattr(node, name), objects)


def _type_text(data_type: DataType) -> str:
    from millrace.table.sql.grammar.parser import parse_type

    text = str(data_type)
    try:
        same = parse_type(text) == data_type
    except ValueError:
        same = False
    if not same:
        raise problem(f"a plan with the type {text} cannot be compiled: it exists in this program only")
    return text


def _read(value: Any, objects: PlanObjects) -> Any:
    if isinstance(value, list):
        return tuple(_read(each, objects) for each in value)
    if not isinstance(value, dict):
        return value
    kind = value["@"]
    if kind == "list":
        return [_read(each, objects) for each in value["items"]]
    if kind == "dict":
        return {_read(key, objects): _read(each, objects) for key, each in value["items"]}
    if kind == "Row":
        return row_of([_read(each, objects) for each in value["items"]], value["names"], RowKind[value["kind"]])
    if kind == "type":
        from millrace.table.sql.grammar.parser import parse_type

        return parse_type(value["is"])
    if kind in _BACK:
        return _BACK[kind](value["is"])
    if kind in _classes():
        return _classes()[kind](**{name: _read(each, objects) for name, each in value.items() if name != "@"})
    return objects.read(value)


# PlanReference


class PlanReference:
    """A compiled plan in a file or a text.

    >>> _ = t_env.execute_sql("CREATE TABLE shown (name STRING) WITH ('connector' = 'print')")
    >>> text = orders.select(col("name")).insert_into("shown").compile_plan().as_json_string()
    >>> plan = t_env.load_plan(PlanReference.from_json_string(text))
    """

    def __init__(self, content: object) -> None:
        self._content = content

    @staticmethod
    def from_file(path: str | pathlib.Path) -> FilePlanReference:
        """A plan in a file."""
        return FilePlanReference(pathlib.Path(path))

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        """A plan as JSON."""
        return JsonContentPlanReference(json_string)

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> BytesContentPlanReference:
        """Smile is a binary form of JSON of the JVM: raises NotImplementedError."""
        raise not_yet("PlanReference.from_smile_bytes", "PlanReference.from_json_string")

    def __str__(self) -> str:
        return f"{type(self).__name__}({self._content})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


class FilePlanReference(PlanReference):
    """A plan in a file."""

    def __init__(self, file: pathlib.Path) -> None:
        super().__init__(file)
        self._file = file

    def get_file(self) -> pathlib.Path:
        return self._file


class JsonContentPlanReference(PlanReference):
    """A plan as JSON."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self._text = content

    def get_content(self) -> str:
        return self._text


class BytesContentPlanReference(PlanReference):
    """A plan in Smile."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self._bytes = content

    def get_content(self) -> bytes:
        return self._bytes


# CompiledPlan

FLINK_VERSION = "2.3"
"""The version of Flink whose semantics a compiled plan has."""
FORMAT = 1
RECOMPILE = "table.plan.force-recompile"


class CompiledPlan:
    """The plans of INSERTs that are one job. Made by ``compile_plan`` and ``TableEnvironment.load_plan``.

    >>> _ = t_env.execute_sql("CREATE TABLE shown (name STRING) WITH ('connector' = 'print')")
    >>> plan = orders.select(col("name")).insert_into("shown").compile_plan()
    >>> plan.execute().wait()
    +I[Ann]
    +I[Bob]
    +I[Ann]
    """

    def __init__(self, document: dict[str, Any], session: Session) -> None:
        self._document = document
        self._session = session
        self._plans = read(document["plans"], session)

    def __str__(self) -> str:
        return self.as_json_string()

    def as_json_string(self) -> str:
        """The plan as JSON."""
        return json.dumps(self._document, indent=2, ensure_ascii=False)

    def as_smile_bytes(self) -> bytes:
        """Smile is a binary form of JSON of the JVM: raises NotImplementedError."""
        raise not_yet("CompiledPlan.as_smile_bytes", "CompiledPlan.as_json_string")

    def execute(self) -> TableResult:
        """Submit the job."""
        if self._session.streaming:
            return engine.submit(self._plans, self._session)
        return self._session.engine.execute(self._plans, self._session)

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan as text."""
        return explain(self._plans, self._session, extra_details)

    def get_flink_version(self) -> str:
        """The version of Flink whose semantics the plan has."""
        version: str = self._document["flinkVersion"]
        return version

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plan as text."""
        print(self.explain(*extra_details))

    def print_json_string(self) -> None:
        """Print the plan as JSON."""
        print(self.as_json_string())

    def write_to_file(self, file: str | pathlib.Path, ignore_if_exists: bool = False) -> None:
        """:param ignore_if_exists: leave a file that is there as it is.

        :raises TableException: there is such a file (unless ``table.plan.force-recompile`` is true).
        """
        path = local_path(file)
        if path.exists():
            if ignore_if_exists:
                return
            if self._session.config.get(RECOMPILE, "false").lower() != "true":
                raise problem(f"there is a plan {path} already: delete it, write IF NOT EXISTS, or set {RECOMPILE}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.as_json_string(), encoding="utf-8")


def compiled(plans: Sequence[Rel], session: Session) -> CompiledPlan:
    """The plans as they would run now.

    :raises TableException: a plan has something that exists in this program only.
    """
    if not plans:
        raise problem("there is no INSERT to compile")
    ready = engine.optimised(plans, session) if session.streaming else list(plans)
    document = {
        "flinkVersion": FLINK_VERSION,
        "millraceVersion": __version__,
        "format": FORMAT,
        "mode": _mode(session),
        "plans": written(ready, session),
    }
    return CompiledPlan(document, session)


def _mode(session: Session) -> str:
    return "streaming" if session.streaming else "batch"


def loaded(reference: PlanReference, session: Session) -> CompiledPlan:
    """A plan that was compiled before.

    :raises TableException: there is none, or its tables and functions are other ones by now.
    """
    if isinstance(reference, JsonContentPlanReference):
        text, where = reference.get_content(), "the text"
    elif isinstance(reference, FilePlanReference):
        where = str(reference.get_file())
        try:
            text = local_path(where).read_text(encoding="utf-8")
        except OSError as error:
            raise problem(f"there is no plan {where}: {error.strerror}") from None
    else:
        raise not_yet("plans in Smile", "PlanReference.from_json_string")
    try:
        document = json.loads(text)
        known = document["format"]
    except (ValueError, KeyError, TypeError):
        raise problem(f"{where} is no compiled plan of Millrace") from None
    if known != FORMAT:
        raise problem(f"{where} is a plan of format {known}, and this version reads format {FORMAT}: compile it again")
    mode = document.get("mode", "streaming")
    if mode != _mode(session):
        raise problem(f"{where} was compiled in {mode} mode, and this session is in {_mode(session)} mode")
    return CompiledPlan(document, session)


def local_path(file: str | pathlib.Path) -> pathlib.Path:
    """The path of a file that may be given as file:// URI."""
    parts = urlsplit(str(file))
    if parts.scheme not in ("", "file"):
        raise problem(f"plans are in local files, not in {parts.scheme}: {file}")
    return pathlib.Path(parts.path if parts.scheme else str(file))
