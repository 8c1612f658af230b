"""The client of MQTT brokers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

_MISSING = "paho.mqtt can't be imported, which the MQTT connector needs: pip install 'millrace-streaming[mqtt]' ({})"
_SECONDS = 30.0
_PORTS = {"mqtt": 1883, "mqtts": 8883}
MAX_INFLIGHT = 65_535


def paho() -> Any:
    """:raises ImportError: it is not installed."""
    try:
        import paho.mqtt.client as found
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


@dataclass(frozen=True)
class MqttBroker:
    """
    :ivar url: ``mqtt://user:password@host:port``, ``mqtts://`` with TLS.
    :ivar session_seconds: how long the broker keeps a session without connection, and what came for it.
    """

    url: str = field(repr=False)
    session_seconds: int = 7 * 24 * 60 * 60

    def __post_init__(self) -> None:
        """:raises ValueError: the URL is none of MQTT."""
        if urlsplit(self.url).scheme not in _PORTS:
            raise ValueError(f"an MQTT broker is mqtt://host:port or mqtts://host:port, not {self}")

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    def connect(self, client_id: str, keeps_session: bool, **callbacks: Any) -> MqttClient:
        """:raises ConnectionError: the broker does not answer, or does not let us in."""
        return MqttClient(self, client_id, keeps_session, callbacks)


class MqttClient:
    """A connection without a thread of its own: its user serves it.

    :param client_id: another connection of this id ends this one; "": the broker chooses.
    """

    def __init__(self, broker: MqttBroker, client_id: str, keeps_session: bool, callbacks: dict[str, Any]) -> None:
        library = paho()
        self._library, self._broker = library, broker
        self._said: Any = None
        self._connected = False
        self.paho = library.Client(
            library.CallbackAPIVersion.VERSION2, client_id, protocol=library.MQTTv5, manual_ack=True
        )
        self.paho.max_inflight_messages_set(MAX_INFLIGHT)
        self.paho.on_connect = self._on_connect
        self.paho.on_disconnect = self._on_disconnect
        for name, function in callbacks.items():
            setattr(self.paho, name, function)
        parts = urlsplit(broker.url)
        if parts.username:
            self.paho.username_pw_set(unquote(parts.username), unquote(parts.password or ""))
        if parts.scheme == "mqtts":
            self.paho.tls_set()
        properties = library.Properties(library.PacketTypes.CONNECT)
        if keeps_session:
            properties.SessionExpiryInterval = broker.session_seconds
        properties.ReceiveMaximum = MAX_INFLIGHT
        try:
            self.paho.connect(
                parts.hostname or "localhost",
                parts.port or _PORTS[parts.scheme],
                clean_start=not keeps_session,
                properties=properties,
            )
        except OSError as error:
            raise ConnectionError(f"MQTT broker {broker} does not answer: {error}") from None
        self.until(lambda: self._connected or self._said is not None, "to be let in")

    def _on_connect(self, client: Any, userdata: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self._said = reason
        else:
            self._connected = True

    def _on_disconnect(self, client: Any, userdata: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._said = self._said or reason

    def serve(self, seconds: float) -> None:
        """Send and receive, for that long at most.

        :raises ConnectionError: the connection is lost, or was taken over by another one of its id.
        """
        code = self.paho.loop(seconds)
        if self._said is not None or code not in (self._library.MQTT_ERR_SUCCESS, self._library.MQTT_ERR_AGAIN):
            told = self._said or self._library.error_string(code)
            raise ConnectionError(f"MQTT broker {self._broker}: the connection is lost: {told}")

    def until(self, done: Any, what: str) -> None:
        """Serve until something is done. :raises ConnectionError: it took more than 30 seconds."""
        limit = time.monotonic() + _SECONDS
        while not done():
            self.serve(0.05)
            if time.monotonic() > limit:
                raise ConnectionError(f"MQTT broker {self._broker}: {what} took more than {_SECONDS:g} s")

    def close(self) -> None:
        self.paho.disconnect()
        self.paho.loop(0.1)
