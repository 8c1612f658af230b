"""``socket_text_stream``: text from a server, cut at a delimiter."""

from __future__ import annotations

import socket

import pytest
from tests.connectors.socket_server import server

from millrace.connectors import socket_source
from millrace.connectors.socket_source import SocketTextSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.testing import run_locally


def lines(port: int, delimiter: str = "\n", max_retry: int = 0) -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment()
    found: list[str] = run_locally(env.socket_text_stream("127.0.0.1", port, delimiter, max_retry)).collected
    return found


def test_lines_whole_and_in_pieces() -> None:
    text = "one\ntwo\r\nsmörgås\n\nlast".encode()
    with server([[text[:6], text[6:14], text[14:15], text[15:]]]) as port:
        assert lines(port) == ["one", "two", "smörgås", "", "last"]


def test_a_delimiter_of_several_characters() -> None:
    with server([[b"a\r<", b">b\n<>"]]) as port:
        assert lines(port, "<>") == ["a\r", "b\n"]


@pytest.mark.parametrize(("max_retry", "expected"), [(0, ["a", "b"]), (1, ["a", "b"]), (3, ["a", "bc", "d", "e"])])
def test_it_connects_again_as_often_as_it_may(
    monkeypatch: pytest.MonkeyPatch, max_retry: int, expected: list[str]
) -> None:
    monkeypatch.setattr(socket_source, "RETRY_SECONDS", 0.001)
    sent = [[b"a\nb"], [b"c\nd\n"], [b"e\n"]]
    with server(sent[: max(max_retry, 1)]) as port:
        assert lines(port, max_retry=max_retry) == expected


def test_a_server_that_is_not_there_fails_the_job() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(JobFailedError, match=f"no connection to 127.0.0.1:{port}"):
        lines(port)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"port": 0}, "a port is in"),
        ({"max_retry": -2}, "max_retry is at least 0"),
        ({"delimiter": ""}, "must not be empty"),
    ],
)
def test_arguments_are_checked(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SocketTextSource(**{"hostname": "localhost", "port": 1, **wrong})  # type: ignore[arg-type]
