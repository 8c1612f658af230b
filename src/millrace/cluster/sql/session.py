"""The table environment of a client: made without Spark, and made to follow what SET says."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from millrace.common.configuration import Configuration
from millrace.configuration.telling import ConfigurationError, tell_about
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.settings.dependencies import FILES, import_path
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.settings.environment_settings import MODE
from millrace.table.sql.text.errors import SqlError

_MODES = ("streaming", "batch")


class SqlSession:
    """An environment, and the settings that it began with (``-D``)."""

    def __init__(self, begin: Mapping[str, str]) -> None:
        self._begin = dict(begin)
        configuration = Configuration.from_dict(self._begin)
        settings = EnvironmentSettings.new_instance().with_configuration(configuration).build()
        self.environment = TableEnvironment(settings, StreamExecutionEnvironment(configuration))
        # What the session began with lies below what it sets: RESET leaves it in place.
        own = self.environment.get_config().get_configuration()
        for key in self._begin:
            own.remove_config(key)
        self._follow()

    def settings(self) -> dict[str, str]:
        """All that is set, now or from the beginning."""
        return self.environment.get_config().to_map()

    def own_settings(self) -> dict[str, str]:
        """What was set since it began."""
        return self.environment.get_config().get_configuration().to_dict()

    def set(self, key: str, value: str) -> None:
        """:raises SqlError: the key cannot have this value; the old one stays."""
        try:
            tell_about({key: value})
        except ConfigurationError as error:
            raise SqlError(str(error)) from None
        own = self.environment.get_config().get_configuration()
        before = self.own_settings().get(key)
        try:
            self.environment.get_config().set(key, value)
            self._follow()
        except Exception:
            own.remove_config(key)
            if before is not None:
                own.set_string(key, before)
            raise

    def reset(self, key: str | None) -> None:
        """Put back one setting or, with None, all."""
        own = self.environment.get_config().get_configuration()
        for each in [key] if key is not None else list(self.own_settings()):
            own.remove_config(each)
        self._follow()

    def _follow(self) -> None:
        """SET may speak of the mode, of parallelism, of checkpoints: what lies below tables is made again with it."""
        settings = self.settings()
        mode = settings.get(MODE, _MODES[0]).lower()
        if mode not in _MODES:
            raise SqlError(f"'{MODE}' is 'streaming' or 'batch', not '{mode}'")
        session = self.environment._session
        session.streams = StreamExecutionEnvironment(Configuration.from_dict(settings))
        session.streaming = mode == _MODES[0]
        _import_from(settings.get(FILES, ""))


def _import_from(files: str) -> None:
    """Let CREATE FUNCTION find what is in Python files. All sessions of this process share modules."""
    for each in filter(None, (part.strip() for part in files.split(","))):
        path = import_path(os.path.abspath(each.removeprefix("file://")))
        if path not in sys.path:
            sys.path.append(path)
