"""``EnvironmentSettings``: how a table environment begins."""

from __future__ import annotations

from millrace.common.configuration import Configuration
from millrace.util.fallback import HasOlderNames, OlderStatics

__all__ = ["EnvironmentSettings"]

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
