"""The settings of a program: the modes of a table environment, its configuration, the kinds of change of a
changelog, the details of EXPLAIN, the dialect of SQL. ``millrace.table`` has the public names."""

from __future__ import annotations

import datetime
import sys
from enum import Enum

from millrace.common import config_values
from millrace.common.configuration import Configuration
from millrace.common.time import Duration
from millrace.common.types import RowKind
from millrace.configuration.registry import ConfigurationError, older_names, tell_about
from millrace.datastream.dependencies import EXECUTABLE
from millrace.relational.sources import ALL_KINDS, INSERT_ONLY, UPSERT
from millrace.relational.time_zones import zone_of
from millrace.table.values.program_errors import problem
from millrace.util.fallback import HasOlderNames, OlderStatics
from millrace.util.system import system_zone

# ChangelogMode


class ChangelogMode:
    """The kinds of change in a changelog.

    >>> ChangelogMode.upsert() == ChangelogMode.all()
    False
    """

    def __init__(self, kinds: frozenset[RowKind]) -> None:
        self._kinds = kinds

    @property
    def kinds(self) -> frozenset[RowKind]:
        """The kinds of change that there may be."""
        return self._kinds

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows are only added."""
        return ChangelogMode(INSERT_ONLY)

    @staticmethod
    def upsert() -> ChangelogMode:
        """A changelog without the old content of updated rows; rows are identified by their key."""
        return ChangelogMode(UPSERT)

    @staticmethod
    def all() -> ChangelogMode:
        """Rows are added, updated (old and new row) and deleted."""
        return ChangelogMode(ALL_KINDS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangelogMode) and self._kinds == other._kinds

    def __hash__(self) -> int:
        return hash(self._kinds)

    def __str__(self) -> str:
        return f"[{', '.join(kind.name for kind in RowKind if kind in self._kinds)}]"


# ExplainDetail


class ExplainDetail(Enum):
    """A detail of EXPLAIN.

    >>> print(orders.explain(ExplainDetail.CHANGELOG_MODE).splitlines()[0])
    == Abstract Syntax Tree ==
    """

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    """kinds of change that every operator gives"""
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3


# SqlDialect


class SqlDialect(Enum):
    """A dialect of SQL; only DEFAULT is read.

    >>> t_env.get_config().get_sql_dialect()
    <SqlDialect.DEFAULT: 0>
    """

    DEFAULT = 0
    HIVE = 1


# TableConfig

ZONE = "table.local-time-zone"
STATE_TTL = "table.exec.state.ttl"
DIALECT = "table.sql-dialect"
CODE_LENGTH = "table.generated-code.max-length"
COLUMN_WIDTH = "table.display.max-column-width"
JOB_NAME = "pipeline.name"
DML_SYNC = "table.dml-sync"


class TableConfig(HasOlderNames):
    """Settings of a session by key, with methods for the usual ones.

    What the session does not set is looked up in the configuration of the environment that it was made with.

        >>> config = t_env.get_config().set("table.exec.state.ttl", "1 h")
        >>> config.get("table.exec.state.ttl", "")
        '1 h'
    """

    def __init__(self, configuration: Configuration | None = None, root: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration
        self._root = Configuration() if root is None else root

    def get(self, key: str, default_value: str) -> str:
        """The value of a key, or the default."""
        for configuration in (self._configuration, self._root):
            for name in (key, *older_names(key)):
                if configuration.contains_key(name):
                    return configuration.get_string(name, default_value)
        return default_value

    def set(self, key: str, value: str) -> TableConfig:
        """:raises TableException: a key that is known, with a value that it cannot have.

        >>> _ = t_env.get_config().set("parallelism.default", "2")
        """
        if not isinstance(value, str):
            raise TypeError(f"the value of {key} is text, not {value!r}")
        _check(key, value)
        try:
            tell_about({key: value})
        except ConfigurationError as error:
            raise problem(str(error)) from None
        self._configuration.set_string(key, value)
        return self

    def add_configuration(self, configuration: Configuration) -> None:
        """Set all keys of a configuration."""
        self._configuration.add_all(configuration)

    def get_configuration(self) -> Configuration:
        """What this session sets itself."""
        return self._configuration

    def to_map(self) -> dict[str, str]:
        """All settings."""
        return {**self._root.to_dict(), **self._configuration.to_dict()}

    def get_local_timezone(self) -> str:
        """The zone of TIMESTAMP_LTZ as text; that of the system unless it is set."""
        zone = self.get(ZONE, "default")
        return system_zone() if zone == "default" else zone

    def set_local_timezone(self, timezone_id: str) -> None:
        """The zone in which TIMESTAMP_LTZ is shown and cast.

        >>> t_env.get_config().set_local_timezone("Asia/Shanghai")
        >>> t_env.get_config().get_local_timezone()
        'Asia/Shanghai'
        """
        self.set(ZONE, timezone_id)

    def get_idle_state_retention(self) -> datetime.timedelta:
        """How long unused state is retained (``table.exec.state.ttl``); 0: without limit."""
        millis = config_values.to_duration(self.get(STATE_TTL, "0 ms")).to_millis()
        return datetime.timedelta(milliseconds=millis)

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """Set how long unused state is retained (``table.exec.state.ttl``); 0: without limit."""
        self.set(STATE_TTL, f"{duration // datetime.timedelta(milliseconds=1)} ms")

    def get_sql_dialect(self) -> SqlDialect:
        """The dialect of statements."""
        return SqlDialect[self.get(DIALECT, "DEFAULT").upper()]

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Set the dialect of statements; only ``DEFAULT`` runs."""
        self.set(DIALECT, sql_dialect.name)

    def get_max_generated_code_length(self) -> int:
        """The value of the option, which has no effect here: no code is generated. For compatibility with PyFlink."""
        return int(self.get(CODE_LENGTH, "4000"))

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Accepted: no code is generated."""
        self.set(CODE_LENGTH, str(max_generated_code_length))

    def get_python_executable(self) -> str:
        """The Python of the workers; the program's own if none is set."""
        return self.get(EXECUTABLE, sys.executable)

    def set_python_executable(self, python_exec: str) -> None:
        """The Python of the workers."""
        self.set(EXECUTABLE, python_exec)

    @staticmethod
    def get_default() -> TableConfig:
        """A configuration in which nothing is set."""
        return TableConfig()


def _check(key: str, value: str) -> None:
    if key == DIALECT and value.upper() not in SqlDialect.__members__:
        raise problem(f"{DIALECT}: there is no SQL dialect '{value}', only {', '.join(SqlDialect.__members__).lower()}")
    if key == ZONE and value != "default":
        try:
            zone_of(value)
        except ValueError as error:
            raise problem(f"{ZONE}: {error}") from None
    if key == STATE_TTL:
        try:
            found = config_values.to_duration(value)
        except ValueError as error:
            raise problem(f"{key}: {error}") from None
        assert isinstance(found, Duration)


# EnvironmentSettings

MODE = "execution.runtime-mode"
CATALOG, DATABASE = "table.builtin-catalog-name", "table.builtin-database-name"


def mode_of(configuration: Configuration) -> str:
    """STREAMING, BATCH or AUTOMATIC."""
    return configuration.get_string(MODE, "STREAMING").upper()


class EnvironmentSettings(HasOlderNames, metaclass=OlderStatics):
    """Settings of a table environment: mode, names of the built-in catalog and database, configuration.

    >>> settings = EnvironmentSettings.new_instance().in_streaming_mode().with_built_in_catalog_name("shop").build()
    >>> settings.is_streaming_mode(), settings.get_built_in_catalog_name()
    (True, 'shop')
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    class Builder(HasOlderNames):
        """Makes settings; streaming mode unless it says otherwise."""

        def __init__(self) -> None:
            self._configuration = Configuration()

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            return self._set(MODE, "BATCH")

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            return self._set(MODE, "STREAMING")

        def with_built_in_catalog_name(self, built_in_catalog_name: str) -> EnvironmentSettings.Builder:
            return self._set(CATALOG, built_in_catalog_name)

        def with_built_in_database_name(self, built_in_database_name: str) -> EnvironmentSettings.Builder:
            return self._set(DATABASE, built_in_database_name)

        def _set(self, key: str, value: str) -> EnvironmentSettings.Builder:
            self._configuration.set_string(key, value)
            return self

        def build(self) -> EnvironmentSettings:
            return EnvironmentSettings(Configuration(self._configuration))

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """Begins settings; ``build()`` ends them."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Settings of streaming mode.

        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        """
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Settings of batch mode.

        >>> EnvironmentSettings.in_batch_mode().is_streaming_mode()
        False
        """
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    def is_streaming_mode(self) -> bool:
        """Whether queries run as streams."""
        return mode_of(self._configuration) == "STREAMING"

    def get_built_in_catalog_name(self) -> str:
        """The name of the catalog that is there from the start."""
        return self._configuration.get_string(CATALOG, "default_catalog")

    def get_built_in_database_name(self) -> str:
        """The name of the database that is there from the start."""
        return self._configuration.get_string(DATABASE, "default_database")

    def get_configuration(self) -> Configuration:
        """The settings as a configuration."""
        return self._configuration
