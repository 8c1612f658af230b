"""Entry points: those that Millrace declares load and are what their group promises; one that is not there is an error
with the cure."""

from __future__ import annotations

import inspect
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.util.other_packages import other_package

from millrace.metrics.reporters import scheduling
from millrace.metrics.reporters.reporter import MetricReporter
from millrace.relational.sources import FormatFactory, TableFactory
from millrace.runtime.bases.operator import Operator
from millrace.runtime.operators import making, specs
from millrace.runtime.state import column_deltas, state_kinds
from millrace.runtime.state.state_kinds import StateKind
from millrace.runtime.state.tables import Table
from millrace.spark.sessions.session import _package_archive
from millrace.table.catalogs.catalog import CatalogType
from millrace.table.functions import function_catalog
from millrace.table.functions.function_catalog import Module
from millrace.table.sessions import table_info
from millrace.table.statement_runners import statements
from millrace.util import plugins

try:
    import tomllib
except ImportError:
    import tomli as tomllib  # type: ignore[import-not-found, no-redef]

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
DECLARED = [
    (group, name, value)
    for group, points in PROJECT["entry-points"].items()
    if group.startswith("millrace.")
    for name, value in points.items()
]
OTHER_NAMES = {
    "hbase-1.4": "hbase-2.2",
    "hbase-2.6": "hbase-2.2",
    "kafka-0.10": "kafka",
    "kafka-0.11": "kafka",
    "jdbc-by-spark": "jdbc",
}
"""another name of a connector -> its own"""


def _is_a(base: type, found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, base) and not inspect.isabstract(found)


def _connector(name: str, found: Any) -> bool:
    return _is_a(TableFactory, found) and found.identifier == OTHER_NAMES.get(name, name)


def _operator(name: str, found: Any) -> bool:
    return _is_a(Operator, found) and issubclass(getattr(specs, name), specs.Spec)


def _state(name: str, found: Any) -> bool:
    return isinstance(found, StateKind) and found.descriptor.__name__ == name and isinstance(found.made, type)


CONTRACTS: dict[str, Callable[[str, Any], bool]] = {
    plugins.ENGINES: lambda name, found: all(hasattr(found, each) for each in ("submit", "portable", "batch_tables")),
    plugins.LAUNCHERS: lambda name, found: callable(found) or inspect.ismodule(found),
    plugins.NOTEBOOKS: lambda name, found: inspect.ismodule(found),
    table_info.ENTRY_POINTS: _connector,
    table_info.REFUSED: _connector,
    table_info.BEHIND: _connector,
    "millrace.formats": lambda name, found: _is_a(FormatFactory, found) and found.identifier == name,
    function_catalog.CATALOGS: lambda name, found: isinstance(found, CatalogType) and found.identifier == name,
    statements.ENTRY_POINTS: lambda name, found: _is_a(Module, found),
    scheduling.ENTRY_POINTS: lambda name, found: _is_a(MetricReporter, found),
    making.STREAMING: _operator,
    making.BATCH: _operator,
    state_kinds.STATES: _state,
    state_kinds.STATES_WITH_TTL: _state,
    column_deltas.FORMS: lambda name, found: (
        _is_a(Table, found) and f'return "{name}", ' in inspect.getsource(found.form)
    ),
}
"""group -> whether an object is what the group promises, and has the name of its entry point"""


@pytest.mark.parametrize(("group", "name", "value"), DECLARED)
def test_what_is_declared_is_installed_and_loads(group: str, name: str, value: str) -> None:
    found = plugins.load(group, name)
    module, _, attribute = value.partition(":")
    if not attribute:
        assert found.__name__ == value
    elif isinstance(found, type) or (callable(found) and not isinstance(found, CatalogType)):
        assert f"{found.__module__}:{found.__qualname__}" == value, module
    assert CONTRACTS[group](name, found)


def test_every_group_has_a_contract() -> None:
    assert {group for group, _, _ in DECLARED} == set(CONTRACTS)


def test_a_kind_with_a_time_to_live_differs_in_the_object_alone() -> None:
    for name in plugins.names(state_kinds.STATES_WITH_TTL):
        plain: StateKind = plugins.load(state_kinds.STATES, name)
        living: StateKind = plugins.load(state_kinds.STATES_WITH_TTL, name)
        assert (plain.table, plain.arguments) == (living.table, living.arguments)
        assert plain.made is not living.made
        assert {plain.made.__name__.removeprefix("Heap"), living.made.__name__.removeprefix("Ttl")} == {
            name.removesuffix("Descriptor")
        }


def test_the_distribution_is_named_as_in_the_project() -> None:
    assert PROJECT["name"] == plugins.DISTRIBUTION


def test_a_name_that_no_package_has() -> None:
    with pytest.raises(
        LookupError, match=r"no installed package has an entry point 'flink' of 'millrace.engines': inst"
    ):
        plugins.load(plugins.ENGINES, "flink")


def test_an_entry_point_of_another_package_stands_beside_ours(tmp_path: Path) -> None:
    with other_package(tmp_path, "millrace.formats", "other", "collections:OrderedDict"):
        assert plugins.has("millrace.formats", "other")
        assert {"json", "other"} <= set(plugins.names("millrace.formats"))
        with pytest.raises(TypeError, match=r"'other' of 'millrace.formats' makes a OrderedDict, no FormatFactory"):
            plugins.make("millrace.formats", "other", FormatFactory)
    assert not plugins.has("millrace.formats", "other")


def test_ours_goes_before_one_of_another_package_with_its_name(tmp_path: Path) -> None:
    with other_package(tmp_path, "millrace.formats", "json", "collections:OrderedDict"):
        assert plugins.make("millrace.formats", "json", FormatFactory).identifier == "json"


FROM_A_FOLDER = """
from millrace.table import TableEnvironment, EnvironmentSettings
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.execute_sql("CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen')")
try:
    t_env.explain_sql("SELECT n FROM numbers")
except LookupError as error:
    print(error)
"""


def test_where_only_the_folder_is_on_the_path_the_error_has_the_cure() -> None:
    hide = "import importlib.metadata as m; found = m.Distribution.discover\n"
    hide += "m.Distribution.discover = classmethod(lambda cls, **by: (d for d in found(**by) if "
    hide += "'millrace' not in d.metadata['Name']))\n"
    command = [sys.executable, "-W", "ignore", "-c", hide + FROM_A_FOLDER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == (
        "no installed package has an entry point 'datagen' of 'millrace.connectors': install Millrace (pip install "
        "millrace-streaming, or pip install -e . in its folder) instead of only adding its folder to the path\n"
    )


def test_what_executors_get_has_the_entry_points(tmp_path: Path) -> None:
    """Where Millrace is not installed, a worker finds operators and kinds of state in the zip file alone."""
    archive = _package_archive(str(tmp_path / "millrace-test.log"))
    try:
        assert len(zipfile.ZipFile(archive).namelist()) == len(set(zipfile.ZipFile(archive).namelist()))
        asked = "import sys; sys.path.insert(0, sys.argv[1]); from millrace.util import plugins; "
        asked += "print(*plugins.names('millrace.operators'), *plugins.names('millrace.states'))"
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", asked, archive], capture_output=True, text=True, timeout=60, check=True
        )
    finally:
        Path(archive).unlink()
    assert done.stdout.split() == [*plugins.names("millrace.operators"), *plugins.names("millrace.states")]
