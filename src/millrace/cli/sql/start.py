"""Starts the SQL client, in this process or at a gateway, for scripts or for a prompt. Environment files of Flink's
client up to 1.13 (``--environment FILE.yaml``) become statements.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from millrace.cli.options import TARGET, ProgramOptions
from millrace.cli.program import Program, RunSettings, run_settings
from millrace.cli.program_jobs import hooks
from millrace.cli.sql.client import Client, Screen
from millrace.cli.sql.executor import Embedded, Executor, QuitError
from millrace.cli.sql.results import ClientSettings, Console
from millrace.cluster.gateway.sql_session import SqlJobs, SqlSession, asked_for
from millrace.spark.sessions.own_jvm import started_early
from millrace.table.sql.text import SqlError

if TYPE_CHECKING:
    from millrace.cli.sql.remote import Remote


# Environment files

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


# The start

TOKEN = "security.rest.token"
TOKEN_VARIABLE = "MILLRACE_REST_TOKEN"
_OWN = ("rest.", "sql-gateway.", "security.")
_GATEWAYS = {
    "master": "--master",
    "files": "-pyfs",
    "archives": "-pyarch",
    "requirements": "-pyreq",
    "executable": "-pyexec",
}
"""options of the command line that a session of a gateway cannot take, since they belong to the gateway's process"""


@contextlib.contextmanager
def open_session(endpoint: str, program: ProgramOptions, configuration: Mapping[str, str]) -> Iterator[Remote]:
    """Open a session at a gateway, for as long as the client runs.

    :raises click.ClickException: there is no session, or an option that a client of a gateway can't follow."""
    for field, name in _GATEWAYS.items():
        if getattr(program, field):
            raise click.UsageError(
                f"{name} is for the process that runs the statements: give it to millrace sql-gateway"
            )
    try:
        from millrace.cli.sql.remote import Remote
        from millrace.cluster.sql_client import GatewayClientError, RemoteSession
    except ImportError as error:
        raise click.ClickException(str(error)) from None
    token = configuration.get(TOKEN) or os.environ.get(TOKEN_VARIABLE) or _token_here(endpoint)
    properties = {key: value for key, value in configuration.items() if not key.startswith(_OWN)}
    try:
        session = RemoteSession(endpoint, token, properties, "millrace sql")
        remote = Remote(session)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except GatewayClientError as error:
        raise click.ClickException(str(error)) from None
    try:
        yield remote
    finally:
        session.close()


def _token_here(endpoint: str) -> str | None:
    """The token of a gateway or a cluster that this user has started on this machine."""
    try:
        from millrace.cluster.client import known_token
    except ImportError:
        return None  # then neither is installed here
    parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
    return known_token(f"{parts.scheme}://{parts.netloc}")


FAILED = 1
"""Exit code: a statement, or the job of an INSERT, failed."""


@dataclass(frozen=True)
class Script:
    """SQL with the name of its file."""

    text: str
    name: str | None = None


def run_scripts(client: Client, scripts: list[Script]) -> int:
    """Run the statements up to the first one that fails, then wait for the jobs that they have started; returns the
    exit code."""
    try:
        for script in scripts:
            if not client.run(script.text, script.name):
                _tell_cancelled(client)
                return FAILED
    except QuitError:
        pass
    # The end of the script is not that of its jobs.
    client.executor.wait_for_jobs()
    return FAILED if client.tell_failed_jobs() else 0


def _tell_cancelled(client: Client) -> None:
    for job in client.executor.running():
        client.console.warning(f"{job} runs, and is cancelled.")


STOPPED = 130
"""Exit code: Ctrl-C."""


@dataclass(frozen=True)
class Start:
    """The options of the SQL client."""

    program: ProgramOptions
    directory: str
    """folder for files that are made for the workers"""
    init: str | None = None
    file: str | None = None
    statements: str | None = None
    history: str | None = None
    endpoint: str | None = None
    """address of the gateway where statements run; None: this process"""
    environment: str | None = None
    """environment file of Flink's older clients"""

    @property
    def interactive(self) -> bool:
        return self.file is None and self.statements is None and sys.stdin.isatty()


def start(wishes: Start) -> int:
    """Run the client to its end; returns the exit code."""
    settings = run_settings(wishes.program, Program("sql", True, ()), wishes.directory)
    console = Console(messages_apart=not wishes.interactive)
    try:
        return (_embedded if wishes.endpoint is None else _remote)(wishes, settings, console)
    except KeyboardInterrupt:
        console.info("cancelled")
        return STOPPED


def _embedded(wishes: Start, settings: RunSettings, console: Console) -> int:
    # Functions that CREATE FUNCTION names are found where the client was started, and with -pyfs.
    sys.path[:0] = [os.getcwd(), *settings.paths]
    jobs = SqlJobs(
        console.say if wishes.interactive else lambda _: None, lambda: asked_for(executor.session.settings())
    )
    announce = _on_session(settings.configuration)
    listener = jobs.listener if announce is None else partial(jobs.listener, announce)
    elsewhere = announce is not None or settings.configuration.get(TARGET) is not None
    early = contextlib.nullcontext() if elsewhere else started_early(settings.configuration)
    with early, hooks(settings, jobs.submit, listener, pyflink=True):
        try:
            executor = Embedded(SqlSession(settings.configuration), jobs)
            ClientSettings.of(executor.settings())
        except SqlError as error:
            raise click.UsageError(str(error)) from None
        try:
            return _run(wishes, executor, console)
        finally:
            jobs.cancel()


def _on_session(configuration: Mapping[str, str]) -> Callable[[str], None] | None:
    """Attach to the running session's Spark if it fits; returns the function that announces a job to it."""
    from millrace.cli.cluster.submitting import fitting_session

    if configuration.get(TARGET) is not None or (found := fitting_session(configuration)) is None:
        return None
    from millrace.cluster import rpc
    from millrace.cluster.processes.engine import attach_to_engine
    from millrace.cluster.rpc import NotThereError, connect

    try:
        # As long as this connection is open, the session is in use.
        _held.append(connect(rpc.socket_path(found.folder, rpc.SUPERVISOR), "the session"))
        return attach_to_engine(found.folder, f"sql-{os.getpid()}")
    except NotThereError as error:
        click.echo(f"not on the session: {error}", err=True)
        return None


_held: list[socket.socket] = []


def _remote(wishes: Start, settings: RunSettings, console: Console) -> int:

    with open_session(wishes.endpoint or "", wishes.program, settings.configuration) as executor:
        try:
            ClientSettings.of(executor.settings())
        except SqlError as error:
            raise click.UsageError(str(error)) from None
        return _run(wishes, executor, console)


def _run(wishes: Start, executor: Executor, console: Console) -> int:
    init = _first(wishes)
    if not wishes.interactive:
        return run_scripts(Client(executor, console), [*init, _script(wishes)])
    _require_prompt()
    from millrace.cli.sql.full_screen import interact, show_on_screen

    screen: Screen = show_on_screen
    client = Client(executor, console, screen)
    for script in init:
        if not client.run(script.text, script.name):
            return FAILED
    interact(client, wishes.history)
    return 0


def _first(wishes: Start) -> list[Script]:
    """The statements to run before all others."""
    found = []
    if wishes.environment is not None:
        try:
            found.append(Script(environment_script(wishes.environment)))
        except EnvironmentFileError as error:
            raise click.UsageError(str(error)) from None
        except ImportError as error:
            raise click.ClickException(str(error)) from None
    return found if wishes.init is None else [*found, _file(wishes.init)]


def _script(wishes: Start) -> Script:
    if wishes.file is not None:
        return _file(wishes.file)
    return Script(sys.stdin.read() if wishes.statements is None else wishes.statements)


def _file(path: str) -> Script:
    return Script(Path(path).read_text("utf-8"), path)


def _require_prompt() -> None:
    try:
        import prompt_toolkit  # noqa: F401
    except ImportError:
        raise click.ClickException(
            "the prompt needs the package prompt-toolkit: pip install 'millrace-streaming[sql]'; "
            "-f FILE and -e SQL work without"
        ) from None
