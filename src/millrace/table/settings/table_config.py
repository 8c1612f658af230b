"""``TableConfig``: the configuration of a table environment."""

from __future__ import annotations

import datetime
import sys

from millrace.common import config_values
from millrace.common.configuration import Configuration
from millrace.common.time import Duration
from millrace.configuration.registry import older_names
from millrace.configuration.telling import ConfigurationError, tell_about
from millrace.datastream.settings.dependencies import EXECUTABLE
from millrace.relational.zones import zone_of
from millrace.table.settings.sql_dialect import SqlDialect
from millrace.table.values.problems import problem
from millrace.util.fallback import HasOlderNames
from millrace.util.system_zone import system_zone

__all__ = ["TableConfig"]

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
        """How long state is kept that is not used; 0: for ever."""
        millis = config_values.to_duration(self.get(STATE_TTL, "0 ms")).to_millis()
        return datetime.timedelta(milliseconds=millis)

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """How long state that is not used is kept (``table.exec.state.ttl``)."""
        self.set(STATE_TTL, f"{duration // datetime.timedelta(milliseconds=1)} ms")

    def get_sql_dialect(self) -> SqlDialect:
        """The dialect of statements."""
        return SqlDialect[self.get(DIALECT, "DEFAULT").upper()]

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Set the dialect of statements; only ``DEFAULT`` runs."""
        self.set(DIALECT, sql_dialect.name)

    def get_max_generated_code_length(self) -> int:
        """Kept for programs of PyFlink: no code is generated here."""
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
