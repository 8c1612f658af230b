"""What is kept off the terminal, and what is not."""

from __future__ import annotations

import logging

import pytest

from millrace.spark.sessions.logs import quiet_about_lost_jvm


class Server:
    """As ``socketserver`` has it: an error that nobody handles is explained."""

    def __init__(self) -> None:
        self.explained: list[str] = []

    def handle_error(self, request: object, client_address: object) -> None:
        self.explained.append(str(request))

    def fail(self, error: Exception) -> None:
        try:
            raise error
        except Exception:
            self.handle_error(type(error).__name__, None)


def test_a_lost_jvm_is_not_explained(caplog: pytest.LogCaptureFixture) -> None:
    root, server = logging.getLogger(), Server()
    before = list(root.filters)
    quiet_about_lost_jvm(server)
    quiet_about_lost_jvm(Server())  # of another session
    try:
        assert len(root.filters) == len({*before, *root.filters})
        for error in (EOFError(), ConnectionResetError(), ValueError()):
            server.fail(error)
        logging.error("from the program")
        root.handle(root.makeRecord("root", logging.ERROR, "/x/py4j/clientserver.py", 1, "from py4j", (), None))
    finally:
        root.filters[:] = before
    assert server.explained == ["ValueError"]
    assert caplog.messages == ["from the program"]
