"""How to reach a RabbitMQ server."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

_DEFAULT_HEARTBEAT = 60
_MISSING = "pika can't be imported, which the RabbitMQ connector needs: pip install 'millrace-streaming[rabbitmq]' ({})"


def pika() -> Any:
    """The client library. :raises ImportError: it is not installed."""
    try:
        import pika as found
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


def _no_connection(library: Any) -> tuple[type[BaseException], ...]:
    """What pika raises where there is no connection to be had; a silent server gives an error of another kind."""
    silent = library.adapters.utils.connection_workflow.AMQPConnectorException
    return (library.exceptions.AMQPError, silent, OSError)


@dataclass(frozen=True)
class RMQConnectionConfig:
    """Host, port and the rest, or an ``amqp://`` URI; made by ``RMQConnectionConfig.Builder()``.

    After a lost connection the job restarts from its last checkpoint, which is what recovers it: the settings of
    recovery are kept for programs that ask for them, and nothing else.

        >>> config = RMQConnectionConfig.Builder().set_uri("amqp://guest:guest@localhost:5672").build()
        >>> config.get_uri()
        'amqp://guest:guest@localhost:5672'

    :ivar uri: in place of host, port, virtual host and user.
    :ivar connection_timeout: ms; 0: no limit. ``network_recovery_interval`` likewise in ms.
    :ivar requested_heartbeat: seconds.
    :ivar prefetch_count: messages that the server sends and that are not acknowledged, at most: so many a checkpoint
        interval; None: no limit.
    """

    host: str | None = None
    port: int | None = None
    virtual_host: str | None = None
    user_name: str | None = None
    password: str | None = field(default=None, repr=False)
    uri: str | None = field(default=None, repr=False)
    network_recovery_interval: int | None = None
    automatic_recovery: bool | None = None
    topology_recovery: bool | None = None
    connection_timeout: int | None = None
    requested_channel_max: int | None = None
    requested_frame_max: int | None = None
    requested_heartbeat: int | None = None
    prefetch_count: int | None = None

    def get_host(self) -> str | None:
        """The host of the server."""
        return self.host

    def get_port(self) -> int | None:
        """The port of the server."""
        return self.port

    def get_virtual_host(self) -> str | None:
        """The virtual host."""
        return self.virtual_host

    def get_user_name(self) -> str | None:
        """Who logs in."""
        return self.user_name

    def get_password(self) -> str | None:
        """The password of the user."""
        return self.password

    def get_uri(self) -> str | None:
        """The address, if it was given as one."""
        return self.uri

    def get_network_recovery_interval(self) -> int | None:
        """ms"""
        return self.network_recovery_interval

    def is_automatic_recovery(self) -> bool | None:
        """Whether a lost connection is made again; None: nothing is set."""
        return self.automatic_recovery

    def is_topology_recovery(self) -> bool | None:
        """Whether queues are declared again with it; None: nothing is set."""
        return self.topology_recovery

    def get_connection_timeout(self) -> int | None:
        """ms"""
        return self.connection_timeout

    def get_requested_channel_max(self) -> int | None:
        """How many channels are asked for; None: nothing is set."""
        return self.requested_channel_max

    def get_requested_frame_max(self) -> int | None:
        """bytes"""
        return self.requested_frame_max

    def get_requested_heartbeat(self) -> int | None:
        """seconds"""
        return self.requested_heartbeat

    def get_prefetch_count(self) -> int | None:
        """How many messages the server sends ahead; None: nothing is set."""
        return self.prefetch_count

    def __str__(self) -> str:
        if self.uri is not None:
            return "RabbitMQ at " + self.uri.rpartition("@")[2].rpartition("//")[2]
        return f"RabbitMQ at {self.host}:{self.port}{self.virtual_host}"

    def connect(self) -> Any:
        """A blocking connection of pika. :raises ConnectionError: there is no server, or it does not let us in."""
        library = pika()
        settings: dict[str, Any] = {"heartbeat": self.requested_heartbeat or _DEFAULT_HEARTBEAT}
        if self.connection_timeout:
            seconds = self.connection_timeout / 1000
            settings |= {"socket_timeout": seconds, "blocked_connection_timeout": seconds}
        if self.requested_channel_max:
            settings["channel_max"] = self.requested_channel_max
        if self.requested_frame_max:
            settings["frame_max"] = self.requested_frame_max
        if self.uri is not None:
            parameters = library.URLParameters(self.uri)
            for name, value in settings.items():
                setattr(parameters, name, value)
        else:
            credentials = library.PlainCredentials(self.user_name, self.password)
            parameters = library.ConnectionParameters(
                self.host, self.port, self.virtual_host, credentials, **settings
            )
        try:
            return library.BlockingConnection(parameters)
        except _no_connection(library) as error:
            # pika's own text is often empty, and of an address it shows the password.
            cause = f"{type(error).__name__} {error}".strip()
            raise ConnectionError(f"{self} does not answer, or does not let us in: {cause}") from None

    class Builder:
        """Sets what is needed: host, port, virtual host, user name and password; or the URI."""

        def __init__(self) -> None:
            self._made = RMQConnectionConfig()

        def _with(self, **values: Any) -> RMQConnectionConfig.Builder:
            self._made = replace(self._made, **values)
            return self

        def set_port(self, port: int) -> RMQConnectionConfig.Builder:
            return self._with(port=port)

        def set_host(self, host: str) -> RMQConnectionConfig.Builder:
            return self._with(host=host)

        def set_virtual_host(self, vhost: str) -> RMQConnectionConfig.Builder:
            return self._with(virtual_host=vhost)

        def set_user_name(self, user_name: str) -> RMQConnectionConfig.Builder:
            return self._with(user_name=user_name)

        def set_password(self, password: str) -> RMQConnectionConfig.Builder:
            return self._with(password=password)

        def set_uri(self, uri: str) -> RMQConnectionConfig.Builder:
            """In place of host, port, virtual host, user and password."""
            return self._with(uri=uri)

        def set_topology_recovery_enabled(self, topology_recovery_enabled: bool) -> RMQConnectionConfig.Builder:
            return self._with(topology_recovery=topology_recovery_enabled)

        def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfig.Builder:
            """seconds"""
            return self._with(requested_heartbeat=requested_heartbeat)

        def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfig.Builder:
            """bytes"""
            return self._with(requested_frame_max=requested_frame_max)

        def set_requested_channel_max(self, requested_channel_max: int) -> RMQConnectionConfig.Builder:
            return self._with(requested_channel_max=requested_channel_max)

        def set_network_recovery_interval(self, network_recovery_interval: int) -> RMQConnectionConfig.Builder:
            """ms"""
            return self._with(network_recovery_interval=network_recovery_interval)

        def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfig.Builder:
            """ms"""
            return self._with(connection_timeout=connection_timeout)

        def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfig.Builder:
            return self._with(automatic_recovery=automatic_recovery)

        def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfig.Builder:
            """So many messages are not acknowledged at any time: at most so many are read a checkpoint interval."""
            return self._with(prefetch_count=prefetch_count)

        def build(self) -> RMQConnectionConfig:
            """:raises ValueError: neither a URI nor all of host, port, virtual host, user name and password are set."""
            made = self._made
            if made.uri is None:
                needed = {
                    "host": made.host,
                    "port": made.port,
                    "virtual host": made.virtual_host,
                    "user name": made.user_name,
                    "password": made.password,
                }
                missing = [name for name, value in needed.items() if value is None]
                if missing:
                    raise ValueError(f"RMQConnectionConfig has no {', '.join(missing)}: set them, or set_uri()")
            return made
