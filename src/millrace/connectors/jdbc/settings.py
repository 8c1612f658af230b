"""The options of ``JdbcSink``, under PyFlink's names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from millrace.connectors.jdbc.sink import Database
from millrace.connectors.jdbc.url import parse

_BATCH, _RETRIES = 5_000, 3


def _made(name: str) -> NoReturn:
    raise TypeError(f"{name} is made by its builder: there are no Java objects here")


class JdbcConnectionOptions:
    """Where the database is: ``JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(...).build()``.

        >>> builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:sqlite:shop.db")
        >>> builder.with_driver_name("org.sqlite.JDBC").build().get_db_url()
        'jdbc:sqlite:shop.db'
    """

    class JdbcConnectionOptionsBuilder:
        """Puts the options together."""

        def __init__(self) -> None:
            self._given = _Connection()

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._given.url = url
            return self

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Without effect: the URL says which driver of Python is used."""
            self._given.driver = driver_name
            return self

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._given.user = user_name
            return self

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._given.password = password
            return self

        def with_connection_check_timeout_seconds(
            self, connection_check_timeout_seconds: int
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """In which a connection has to be there."""
            self._given.timeout = connection_check_timeout_seconds
            return self

        def with_property(self, prop_key: str, prop_val: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._given.properties[prop_key] = prop_val
            return self

        def build(self) -> JdbcConnectionOptions:
            """:raises ValueError: no URL, or one that is none."""
            options = JdbcConnectionOptions(self._given)
            options.database()
            return options

    def __init__(self, j_jdbc_connection_options: object) -> None:
        if not isinstance(j_jdbc_connection_options, _Connection):
            _made("JdbcConnectionOptions")
        self._given = j_jdbc_connection_options

    def get_db_url(self) -> str:
        """The address of the database."""
        return self._given.url

    def get_driver_name(self) -> str | None:
        """The name of Java's driver, which is not used here."""
        return self._given.driver

    def get_password(self) -> str | None:
        """The password of the user."""
        return self._given.password

    def get_user_name(self) -> str | None:
        """Who logs in."""
        return self._given.user

    def database(self) -> Database:
        """The way there."""
        given = self._given
        return Database(*parse(given.url, given.user, given.password, given.properties, given.timeout))


@dataclass
class _Connection:
    url: str = ""
    driver: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout: float = 60
    properties: dict[str, str] = field(default_factory=dict, repr=False)


class JdbcExecutionOptions:
    """When a sink writes, and how often it tries.

        >>> JdbcExecutionOptions.builder().with_batch_size(200).with_max_retries(5).build().get_batch_size()
        200
    """

    class Builder:
        """Puts the options together."""

        def __init__(self) -> None:
            self._given = _Execution()

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            self._given.size = _not_negative("batch size", size)
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            self._given.interval = _not_negative("batch interval", interval_ms)
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            self._given.retries = _not_negative("number of retries", max_retries)
            return self

        def build(self) -> JdbcExecutionOptions:
            return JdbcExecutionOptions(self._given)

    def __init__(self, j_jdbc_execution_options: object) -> None:
        if not isinstance(j_jdbc_execution_options, _Execution):
            _made("JdbcExecutionOptions")
        self._given = j_jdbc_execution_options

    def get_batch_interval_ms(self) -> int:
        """How long rows wait for others, in ms; 0: no limit."""
        return self._given.interval

    def get_batch_size(self) -> int:
        """How many rows a batch has at most."""
        return self._given.size

    def get_max_retries(self) -> int:
        """How often a failed batch is tried again."""
        return self._given.retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """The options that hold where nothing is said."""
        return JdbcExecutionOptions(_Execution())

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Begins options; ``build()`` ends them."""
        return JdbcExecutionOptions.Builder()


@dataclass
class _Execution:
    size: int = _BATCH
    interval: int = 0
    retries: int = _RETRIES


def _not_negative(what: str, value: int) -> int:
    if value < 0:
        raise ValueError(f"the {what} must not be negative, got {value}")
    return value


@dataclass(frozen=True)
class JdbcExactlyOnceOptions:
    """How a sink writes exactly once.

        >>> options = JdbcExactlyOnceOptions.defaults()

    :ivar by_marks: what an epoch wrote waits in the checkpoint, and is written with its name in one transaction; else
        the database prepares transactions, which it must be set up for.
    :ivar log_directory: where large epochs wait then; None: in the checkpoint itself.
    """

    by_marks: bool = False
    log_directory: str | None = None

    @staticmethod
    def defaults() -> JdbcExactlyOnceOptions:
        """The options that hold where nothing is said."""
        return JdbcExactlyOnceOptions()

    @staticmethod
    def marks(log_directory: str | None = None) -> JdbcExactlyOnceOptions:
        """A table in the database says which batches are written, instead of prepared transactions."""
        return JdbcExactlyOnceOptions(True, log_directory)
