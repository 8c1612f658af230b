"""A server that answers what was recorded, and the values that its requests are made of. For tests of the comparer."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.flink.rest.answer import NOT_ASKED, Answer
from tests.flink.rest.ask import Ask, Request, request_of
from tests.flink.rest.send import at
from tests.flink.rest.shape import UNBOUNDED
from tests.flink.rest.world import NoValue

EXAMPLES: dict[str, Any] = {
    "str": "text",
    "long": "text " * 100,
    "int": 7,
    "num": 0.5,
    "bool": True,
    "null": None,
    "<id>": "ab" * 16,
    "<uuid>": "01234567-89ab-cdef-0123-456789abcdef",
    "": "",
}


IDS = ("<id>", "<uuid>")


class ReplayedValues:
    """A world in which everything is there: its values are made of their names."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def value(self, name: str) -> str:
        if name.startswith("kept."):
            if name not in self._kept:
                raise NoValue(name)
            return self._kept[name]
        if name == "next":
            return "0"  # a page of a result says what it was asked for, whichever number that has
        return "5" if name.endswith(".checkpoint") else hashlib.md5(name.encode()).hexdigest()

    def keep(self, name: str, value: object) -> None:
        self._kept.pop(f"kept.{name}", None)
        if value is not None:
            self._kept[f"kept.{name}"] = str(value)

    def file(self, name: str) -> tuple[str, bytes]:
        return name, name.encode()


def example(shape: Any) -> Any:
    """A body that has this shape."""
    if isinstance(shape, dict):
        plain = {name.removesuffix("?"): inner for name, inner in shape.items()}
        return {EXAMPLES[name] if name in IDS else name: example(inner) for name, inner in plain.items()}
    if isinstance(shape, list):
        # Texts in lists are messages and values; they may have a "|" of their own.
        return [_constant(each) if isinstance(each, str) and each[:1] == "=" else example(each) for each in shape]
    kind = shape.split("|")[0]
    return _constant(kind) if kind.startswith("=") else EXAMPLES.get(kind, kind)


def _constant(text: str) -> Any:
    """A value that was kept; the numbers among them are those that say that there is none."""
    if text.startswith("=="):
        return json.loads(text[2:])
    number = text in ("=-1", f"={UNBOUNDED}")
    return int(text[1:]) if number else text[1:].replace(" / Caused by: ", "\nCaused by: ")


def body_of(answer: Answer) -> Any:
    """What the replaying server sends: text, or JSON."""
    if answer.shape in ("html", "text", ""):
        return {"html": "<html></html>", "text": "some text", "": ""}[answer.shape]
    if answer.names:
        return [{**example(answer.shape[0]), "id": name} for name in answer.names]
    return example(answer.shape)


@contextlib.contextmanager
def replaying(asks: list[Ask], answers: Mapping[str, Answer]) -> Iterator[str]:
    """The address of a server that answers each request as was recorded, in the order of the recording."""
    waiting = _by_request(asks, answers)

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            queue = waiting.get((self.command, self.path, self.rfile.read(length)))
            if queue is None:
                self.send_error(599, "was not recorded")
                return
            answer = queue.popleft() if len(queue) > 1 else queue[0]
            body = body_of(answer)
            content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(answer.status)
            if answer.content_type:
                self.send_header("Content-Type", answer.content_type)
            if answer.location:
                self.send_header("Location", answer.location)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _any

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _by_request(asks: list[Ask], answers: Mapping[str, Answer]) -> dict[tuple[str, str, bytes], deque[Answer]]:
    values = ReplayedValues()
    found: dict[tuple[str, str, bytes], deque[Answer]] = {}
    for ask in asks:
        answer = answers[ask.key]
        with contextlib.suppress(NoValue):
            request: Request = request_of(ask, values.value, values.file)
            found.setdefault((request.method, request.target, request.body or b""), deque()).append(answer)
        for name, place in ask.keep.items():
            values.keep(name, None if answer.status == NOT_ASKED else at(body_of(answer), place))
    return found
