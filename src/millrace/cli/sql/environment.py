"""Translates environment files of Flink's client up to 1.13 (``--environment FILE.yaml``) to statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Entry = Mapping[str, Any]

_EXECUTION = {
    "type": "execution.runtime-mode",
    "parallelism": "parallelism.default",
    "max-parallelism": "pipeline.max-parallelism",
    "result-mode": "sql-client.execution.result-mode",
    "max-table-result-rows": "sql-client.execution.max-table-result.rows",
}
_MILLIS = {
    "periodic-watermarks-interval": "pipeline.auto-watermark-interval",
    "min-idle-state-retention": "table.exec.state.ttl",
}
_NO_EFFECT = frozenset({"planner", "time-characteristic", "max-idle-state-retention"})
"""entries without effect: there is one planner, event time is defined by a column, and one time to live"""
_RESTARTS = {
    "fixed-delay": {"attempts": "attempts", "delay": "delay"},
    "failure-rate": {
        "max-failures-per-interval": "max-failures-per-interval",
        "failure-rate-interval": "failure-rate-interval",
        "delay": "delay",
    },
    "none": {},
}
_SECTIONS = ("catalogs", "modules", "configuration", "execution", "tables", "functions", "deployment")
_TABLES = ("source-table", "sink-table", "source-sink-table", "source", "sink", "both")


class EnvironmentFileError(ValueError):
    """An entry of an environment file is unknown, or can't be expressed as a statement."""


def environment_script(path: str) -> str:
    """Translate a file to statements; each ends with a semicolon.

    :raises EnvironmentFileError: it is no YAML, or something in it can't be done.
    :raises ImportError: PyYAML is missing.
    """
    try:
        import yaml
    except ImportError as error:
        raise ImportError("--environment needs the package PyYAML: pip install 'millrace-streaming[config]'") from error
    try:
        # Every scalar is the text that stands there.
        found = yaml.load(Path(path).read_text("utf-8"), yaml.BaseLoader) or {}
    except yaml.YAMLError as error:
        raise EnvironmentFileError(f"{path}: {error}") from None
    try:
        return "".join(f"{statement};\n" for statement in _statements(found))
    except EnvironmentFileError as error:
        raise EnvironmentFileError(f"{path}: {error}") from None


def _statements(found: Any) -> Iterator[str]:
    sections = _mapping(found, "the file")
    for name in sections:
        if name not in _SECTIONS:
            raise EnvironmentFileError(f"'{name}' is no section: there are {', '.join(_SECTIONS)}")
    execution = dict(_mapping(sections.get("execution"), "execution"))
    catalog, database = execution.pop("current-catalog", None), execution.pop("current-database", None)
    for key, value in [*_settings(execution), *_flat(_mapping(sections.get("configuration"), "configuration"))]:
        yield f"SET {_text(key)} = {_text(value)}"
    for module in _entries(sections, "modules"):
        if module.get("type", module["name"]) != "core":
            yield f"LOAD MODULE {_name(module['name'])}{_with(module, 'name', 'type')}"
    for each in _entries(sections, "catalogs"):
        yield f"CREATE CATALOG {_name(each['name'])}{_with(each, 'name')}"
    if catalog:
        yield f"USE CATALOG {_name(catalog)}"
    if database:
        yield f"USE {_name(database)}"
    for function in _entries(sections, "functions"):
        yield _function(function)
    for table in _entries(sections, "tables"):
        yield _view(table) if table.get("type") == "view" else _table(table)


def _settings(execution: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in execution.items():
        if key in _EXECUTION:
            yield _EXECUTION[key], str(value)
        elif key in _MILLIS:
            yield _MILLIS[key], f"{value} ms"
        elif key == "restart-strategy":
            yield from _restarts(_mapping(value, key))
        elif key not in _NO_EFFECT:
            raise EnvironmentFileError(f"execution: '{key}' is not known")


def _restarts(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    kind = str(given.get("type", "fallback"))
    if kind == "fallback":
        return
    if kind not in _RESTARTS:
        raise EnvironmentFileError(
            f"execution: the restart-strategy '{kind}' is none of {', '.join(_RESTARTS)}, fallback"
        )
    yield "restart-strategy.type", kind
    for key, value in given.items():
        if key == "type":
            continue
        if key not in _RESTARTS[kind]:
            raise EnvironmentFileError(f"execution: the restart-strategy '{kind}' has no '{key}'")
        unit = " ms" if key in ("delay", "failure-rate-interval") else ""
        yield f"restart-strategy.{kind}.{_RESTARTS[kind][key]}", f"{value}{unit}"


def _function(entry: Entry) -> str:
    kind = entry.get("from")
    if kind != "python":
        raise EnvironmentFileError(
            f"function {entry['name']}: from '{kind}' is a class of Java; functions are Python here: from: python, "
            "fully-qualified-name: module.function"
        )
    _only(entry, "function", "name", "from", "fully-qualified-name")
    path = _required(entry, "fully-qualified-name", "function")
    return f"CREATE TEMPORARY SYSTEM FUNCTION {_name(entry['name'])} AS {_text(path)} LANGUAGE PYTHON"


def _view(entry: Entry) -> str:
    _only(entry, "view", "name", "type", "query")
    return f"CREATE TEMPORARY VIEW {_name(entry['name'])} AS {_required(entry, 'query', 'view')}"


def _table(entry: Entry) -> str:
    name, kind = entry["name"], entry.get("type")
    if kind not in _TABLES:
        more = ": say FOR SYSTEM_TIME AS OF in the query" if kind == "temporal-table" else ""
        raise EnvironmentFileError(f"table {name}: type '{kind}' is none of {', '.join((*_TABLES, 'view'))}{more}")
    _only(entry, "table", "name", "type", "update-mode", "schema", "connector", "format")
    columns = [_mapping(each, f"table {name}: schema") for each in _list(entry.get("schema"), f"table {name}: schema")]
    lines = [line for column in columns for line in _column(column, name)]
    form = dict(_mapping(entry.get("format"), f"table {name}: format"))
    fields = form.pop("fields", None)
    if fields is not None and [_kind(each, name) for each in fields] != [_kind(each, name) for each in columns]:
        raise EnvironmentFileError(f"table {name}: the fields of its format are not those of its schema")
    options = {"connector": entry.get("connector"), "format": form}
    if "update-mode" in entry:
        options["update-mode"] = entry["update-mode"]
    return f"CREATE TEMPORARY TABLE {_name(name)} ({', '.join(lines)}){_with(options)}"


def _kind(column: Any, table: str) -> tuple[str, str]:
    found = _mapping(column, f"table {table}: fields")
    return str(found.get("name")), str(found.get("data-type") or found.get("type")).upper()


def _column(column: Entry, table: str) -> Iterator[str]:
    where = f"table {table}: column"
    name = _name(_required(column, "name", where))
    _only(column, where, "name", "type", "data-type", "proctime", "rowtime")
    if column.get("proctime") == "true":
        yield f"{name} AS PROCTIME()"
        return
    rowtime = _mapping(column.get("rowtime"), f"{where} {name}: rowtime")
    kind = column.get("data-type") or _required(column, "type", where)
    if not rowtime:
        yield f"{name} {kind}"
        return
    times = _mapping(rowtime.get("timestamps"), f"{where} {name}: timestamps")
    if times.get("type") != "from-field":
        raise EnvironmentFileError(f"{where} {name}: timestamps '{times.get('type')}' are not there: use from-field")
    field = _name(_required(times, "from", where))
    yield f"{field} TIMESTAMP(3)"
    if field != name:
        yield f"{name} AS {field}"
    yield f"WATERMARK FOR {name} AS {name}{_delay(_mapping(rowtime.get('watermarks'), where), where)}"


def _delay(marks: Entry, where: str) -> str:
    kind = marks.get("type")
    if kind == "periodic-ascending":
        return " - INTERVAL '0.001' SECOND"
    if kind != "periodic-bounded":
        known = "periodic-ascending, periodic-bounded"
        raise EnvironmentFileError(f"{where}: watermarks '{kind}' are none of {known}")
    seconds, millis = divmod(_whole(_required(marks, "delay", where), where), 1000)
    return f" - INTERVAL '{seconds}.{millis:03d}' SECOND({max(len(str(seconds)), 2)}, 3)"


def _whole(text: str, where: str) -> int:
    if not text.isdecimal():
        raise EnvironmentFileError(f"{where}: a delay is a number of milliseconds, not '{text}'")
    return int(text)


# -- pieces -------------------------------------------------------------------------------------------------------


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if value in (None, ""):
        return {}
    if not isinstance(value, Mapping):
        raise EnvironmentFileError(f"{where}: expected names with values, found {value!r}")
    return value


def _list(value: Any, where: str) -> Sequence[Any]:
    if value in (None, ""):
        return []
    if not isinstance(value, list):
        raise EnvironmentFileError(f"{where}: expected a list")
    return value


def _entries(sections: Mapping[str, Any], section: str) -> Iterator[Entry]:
    for each in _list(sections.get(section), section):
        entry = _mapping(each, section)
        _required(entry, "name", section)
        yield entry


def _required(entry: Entry, key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise EnvironmentFileError(f"{where} {entry.get('name', '')}: '{key}' is missing".replace(" :", ":"))
    return value.strip().rstrip(";")


def _only(entry: Entry, where: str, *known: str) -> None:
    for key in entry:
        if key not in known:
            raise EnvironmentFileError(f"{where} {entry.get('name', '')}: '{key}' has no word today")


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Flatten nested keys: ``a: {b: c}`` becomes ``a.b = c``; entries of lists are numbered."""
    for key, item in value.items():
        name = f"{before}{key}"
        if isinstance(item, list):
            item = {str(place): each for place, each in enumerate(item)}
        if isinstance(item, Mapping):
            yield from _flat(item, f"{name}.")
        elif item is not None:
            yield name, str(item)


def _with(entry: Entry, *without: str) -> str:
    pairs = [f"{_text(key)} = {_text(value)}" for key, value in _flat(entry) if key not in without]
    return f" WITH ({', '.join(pairs)})" if pairs else ""


def _text(value: str) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _name(value: str) -> str:
    return "`" + str(value).replace("`", "``") + "`"
