"""``SocketTextSource``: text that a server sends, cut at a delimiter."""

from __future__ import annotations

from typing import Any

from millrace.common.typeinfo import Types
from millrace.connectors.socket_reader import Server, SocketSource

__all__ = ["SocketTextSource"]


class SocketTextSource(SocketSource[str]):
    """UTF-8 text from ``hostname:port``; see ``SocketSource``."""

    def __init__(self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0) -> None:
        self.server = Server(hostname, port, delimiter.encode(), max_retry)

    def records(self, messages: list[bytes]) -> list[str]:
        texts = [message.decode("utf-8", "replace") for message in messages]
        return [text.removesuffix("\r") for text in texts] if self.server.delimiter == b"\n" else texts

    def get_produced_type(self) -> Any:
        return Types.STRING()
