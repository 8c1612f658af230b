"""An HTTP proxy in front of a store, which answers some requests itself: with errors that stores answer with."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

_BODY = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>{code} says the proxy</Message></Error>'


class Faults:
    """Passes requests on to a port of this machine. :param target: that port."""

    def __init__(self, target: int) -> None:
        faults = self
        self._lock = threading.Lock()
        self._left = 0
        self._methods: Sequence[str] = ()
        self._answer = (0, "")
        self.refused = 0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _body(self) -> bytes:
                """As it came: in chunks, or so many bytes."""
                if "chunked" not in self.headers.get("transfer-encoding", ""):
                    return self.rfile.read(int(self.headers.get("content-length") or 0))
                parts, size = [], -1
                while size != 0:
                    line = self.rfile.readline()
                    size = int(line.partition(b";")[0], 16)
                    parts += [line, self.rfile.read(size)]
                    if size:
                        parts.append(self.rfile.readline())
                while (line := self.rfile.readline()) != b"\r\n":
                    parts.append(line)  # what follows the last chunk
                return b"".join([*parts, line])

            def _pass_on(self) -> None:
                body = self._body()
                fault = faults._fault(self.command)
                if fault is not None:
                    status, content = fault[0], _BODY.format(code=fault[1]).encode()
                    headers = [("Content-Type", "application/xml")]
                else:
                    there = http.client.HTTPConnection("127.0.0.1", target, timeout=60)
                    there.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                    for name, value in self.headers.items():
                        there.putheader(name, value)
                    there.endheaders(body)
                    answer = there.getresponse()
                    status, content = answer.status, answer.read()
                    unwanted = ("content-length", "transfer-encoding", "connection")
                    headers = [each for each in answer.getheaders() if each[0].lower() not in unwanted]
                    if self.command == "HEAD" and (length := answer.getheader("content-length")):
                        headers.append(("Content-Length", length))
                    there.close()
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                if self.command != "HEAD":
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on

            def log_message(self, format: str, *args: object) -> None:
                """Tests say what matters."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, methods: Sequence[str], status: int, code: str, times: int = 1_000_000) -> None:
        """From now on the next requests with these methods are refused."""
        with self._lock:
            self._methods, self._answer, self._left, self.refused = methods, (status, code), times, 0

    def _fault(self, method: str) -> tuple[int, str] | None:
        with self._lock:
            if method not in self._methods or not self._left:
                return None
            self._left -= 1
            self.refused += 1
            return self._answer

    def __enter__(self) -> Faults:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
