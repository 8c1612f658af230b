"""``Gateway``: a table of HBase, and the Thrift server that leads to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from millrace.connectors.stores.buffered import Reachable
from millrace.connectors.stores.problems import ConnectionFailed

PORT = 9090
TRANSPORTS = ("buffered", "framed")
PROTOCOLS = ("binary", "compact")
_SOON = (
    "NotServingRegion", "RegionTooBusy", "ServerNotRunning", "PleaseHold", "MasterNotRunning", "RegionServerStopped",
    "ConnectionClosing", "NotAllMetaRegionsOnline", "CallTimeout", "ConnectException",
)  # fmt: skip
"""what HBase says while regions move and servers start"""


@dataclass(frozen=True)
class Gateway(Reachable):
    """A table, reached through a Thrift server."""

    host: str
    port: int
    table: str
    """``table`` or ``namespace:table``"""
    transport: str = "buffered"
    protocol: str = "binary"
    timeout: float = 60.0
    """seconds for each answer"""

    def __call__(self) -> Connected:
        """:raises ConnectionFailed: no server is there."""
        return Connected(self)

    @property
    def place(self) -> str:
        """For messages."""
        return f"HBase by Thrift at {self.host}:{self.port}, table {self.table}"

    def is_passing(self, error: BaseException) -> bool:
        from thriftpy2.transport import TTransportException

        if isinstance(error, (TTransportException, OSError, EOFError)):
            return True
        return any(word in said(error) for word in _SOON)

    def failed(self, error: BaseException) -> Exception:
        """What users are told when HBase refuses."""
        text = f"{self.place}: {said(error)}"
        return ConnectionFailed(text, True) if self.is_passing(error) else RuntimeError(text)


class Connected:
    """A connection of happybase, and the table in it."""

    def __init__(self, gateway: Gateway) -> None:
        try:
            import happybase
        except ImportError:
            raise ImportError("HBase needs happybase: pip install 'millrace-streaming[hbase]'") from None
        try:
            self.connection: Any = happybase.Connection(
                gateway.host,
                gateway.port,
                timeout=int(gateway.timeout * 1000),
                transport=gateway.transport,
                protocol=gateway.protocol,
            )
        except Exception as error:
            raise ConnectionFailed(f"{gateway.place}: {said(error)}", True) from None
        self.table: Any = self.connection.table(gateway.table)

    def close(self) -> None:
        self.connection.close()


def said(error: BaseException) -> str:
    """What an error says: of a stack of Java, its first line."""
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
    return re.split(r"\n\s*at |\n", text, maxsplit=1)[0].strip()


def refused(error: BaseException) -> bool:
    """Whether an error comes from the server or the way to it."""
    from thriftpy2.thrift import TException

    return isinstance(error, (TException, OSError, EOFError))
