"""``SearchClient``: requests to a server of a search index, by httpx."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from millrace.connectors.search.place import Place
from millrace.connectors.search.trust import trust
from millrace.util.secrets import mask_text

PASSING = (429, 502, 503, 504)
"""statuses of what may go well a little later"""
GATEWAY = (502, 504)
"""statuses by which a proxy says that it does not know what became of a request"""
SHOWN = 500
_UNKNOWN = "; what it had is not sent again, since documents without ids that the server had taken would be there twice"


class SearchError(RuntimeError):
    """A server refuses, or none answers.

    :ivar status: of the answer; 0: there is none.
    :ivar kind: what the server calls it.
    :ivar unknown: whether the server may have done what was asked for, which must not be done twice.
    """

    def __init__(self, message: str, status: int = 0, kind: str = "", unknown: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.unknown = unknown

    def __reduce__(self) -> Any:
        return SearchError, (str(self), self.status, self.kind, self.unknown)

    @property
    def passing(self) -> bool:
        """Whether the same may go well a little later."""
        return self.status in (0, *PASSING) and not self.unknown


def _always() -> bool:
    return True


class SearchClient:
    """Each request goes to the host that answered last, and to the next one if it does not answer.

    :raises ImportError: httpx or msgspec is not installed.
    """

    def __init__(self, place: Place) -> None:
        try:
            import httpx
            import msgspec
        except ImportError as error:
            raise ImportError(
                f"{place.dialect.title} needs httpx and msgspec: pip install 'millrace-streaming[search]' ({error})"
            ) from None
        self._httpx = httpx
        self._msgspec = msgspec
        self.place = place
        self._first = 0
        self._known = False
        self._clients: dict[str, httpx.Client] = {}

    def request(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        parameters: Mapping[str, str] | None = None,
        lines: bool = False,
        missing: bool = False,
        repeatable: Callable[[], bool] = _always,
    ) -> bytes | None:
        """The contents of the answer.

        :param lines: whether ``content`` is many documents, one a line.
        :param missing: whether it is fine if what is asked for is not there: None then.
        :param repeatable: whether the server may get the request twice; asked only when a connection was lost.
        :raises SearchError: the server refuses, or no host answers.
        """
        if not self._known:
            self._introduce()
        return self._request(method, path, content, parameters, lines, missing, repeatable=repeatable).content

    def json(self, method: str, path: str, body: Any = None, missing: bool = False, **parameters: str) -> Any:
        """The same for a document, which is decoded; None if what is asked for is not there."""
        content = None if body is None else self._msgspec.json.encode(body)
        answer = self.request(method, path, content, parameters, missing=missing)
        return None if answer is None else self._msgspec.json.decode(answer)

    def close(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def _introduce(self) -> None:
        """:raises SearchError: the server is of another kind than the dialect."""
        answer = self._request("GET", "/", None, None, False, False, (401, 403))
        if answer.status == 403:
            self._known = True  # who may not ask for its version may still write
            return
        try:
            told = self._msgspec.json.decode(answer.content or b"")["version"]
            version, distribution = str(told["number"]), str(told.get("distribution", ""))
        except (ValueError, KeyError, TypeError):
            raise SearchError(f"{self.place.where}: that is no search server: {_short(answer.content)}", 400) from None
        problem = self.place.dialect.problem(version, distribution, answer.product)
        if problem is not None:
            raise SearchError(f"{self.place.where}: {problem}", 400)
        self._known = True

    def _request(
        self,
        method: str,
        path: str,
        content: bytes | None,
        parameters: Mapping[str, str] | None,
        lines: bool,
        missing: bool,
        fine: tuple[int, ...] = (),
        repeatable: Callable[[], bool] = _always,
    ) -> _Answer:
        dialect = self.place.dialect
        headers = {"Accept": dialect.json}
        if content is not None:
            headers["Content-Type"] = dialect.lines if lines else dialect.json
        given = self._sent(method, path, content, dict(parameters or {}), headers, repeatable)
        product = given.headers.get("X-Elastic-Product") == "Elasticsearch"
        if given.status_code < 300:
            return _Answer(given.status_code, given.content, product)
        if (missing and given.status_code == 404) or (given.status_code == 403 and 403 in fine):
            return _Answer(given.status_code, None, product)
        kind, reason = _told(given.content)
        status = given.status_code
        who = self._who() if status in (401, 403) else ""
        said = f"{self.place.where}: {method} {path}: HTTP {status}{who}: {reason}"
        unknown = status in GATEWAY and not repeatable()
        raise SearchError(said + _UNKNOWN * unknown, status, kind, unknown)

    def _who(self) -> str:
        if self.place.username is not None:
            return f", for user '{self.place.username}'"
        return "" if self.place.api_key or self.place.bearer_token else ", without a user"

    def _sent(
        self,
        method: str,
        path: str,
        content: bytes | None,
        parameters: dict[str, str],
        headers: dict[str, str],
        repeatable: Callable[[], bool],
    ) -> Any:
        hosts, httpx = self.place.hosts, self._httpx
        failed: list[str] = []
        once_more = True
        while len(failed) < len(hosts):
            host = hosts[self._first]
            used = host in self._clients
            try:
                client = self._client(host)
                url = f"{host}{self.place.prefix}{path}"
                return client.request(method, url, content=content, params=parameters, headers=headers)
            except (httpx.TransportError, ConnectionError) as error:
                if not self._was_not_taken(error) and not repeatable():
                    said = f"{self.place.dialect.title} does not answer: {host}: {_cause(error, self.place)}"
                    raise SearchError(said + _UNKNOWN, unknown=True) from None
                # A connection that was kept may have been closed by the other side: the same host once more.
                closed = isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError))
                if used and once_more and closed and not isinstance(error, httpx.ConnectError):
                    once_more = False
                    continue
                failed.append(f"{host}: {_cause(error, self.place)}")
                self._first = (self._first + 1) % len(hosts)
        raise SearchError(f"{self.place.dialect.title} does not answer: {'; '.join(failed)}")

    def _was_not_taken(self, error: Exception) -> bool:
        """Whether nothing of the request can have reached the server: there was no connection yet."""
        httpx = self._httpx
        return isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))

    def _client(self, host: str) -> Any:
        client = self._clients.get(host)
        if client is None:
            place, httpx = self.place, self._httpx
            headers = {"User-Agent": "millrace"}
            if place.api_key is not None:
                headers["Authorization"] = f"ApiKey {place.api_key}"
            if place.bearer_token is not None:
                headers["Authorization"] = f"Bearer {place.bearer_token}"
            timeout = httpx.Timeout(place.answer_seconds, connect=place.connect_seconds, pool=place.pool_seconds)
            user = None if place.username is None else (place.username, place.password or "")
            verify = trust(place, host) if host.startswith("https") else True
            # Proxies of the surroundings are for the web, not for a database.
            client = httpx.Client(auth=user, headers=headers, timeout=timeout, verify=verify, trust_env=False)
            self._clients[host] = client
        return client


class _Answer:
    def __init__(self, status: int, content: bytes | None, product: bool) -> None:
        self.status, self.content, self.product = status, content, product


def _cause(error: Exception, place: Place) -> str:
    said = mask_text(str(error)) or type(error).__name__
    if "Timeout" not in type(error).__name__:
        return said
    if type(error).__name__ == "ConnectTimeout":
        return f"no connection in {place.connect_seconds:g} s"
    return f"no answer in {place.answer_seconds:g} s (timed out)"


def _told(content: bytes) -> tuple[str, str]:
    """What an answer says went wrong: its name, and a text."""
    import msgspec

    try:
        error = msgspec.json.decode(content)["error"]
    except (ValueError, KeyError, TypeError):
        return "", _short(content)
    return told(error)


def told(error: Any) -> tuple[str, str]:
    """The name and the reason of an ``error`` in an answer."""
    if not isinstance(error, dict):
        return "", str(error)
    reason = str(error.get("reason", ""))
    cause = error.get("caused_by")
    if isinstance(cause, dict) and cause.get("reason"):
        reason = f"{reason} ({cause['reason']})"
    return str(error.get("type", "")), reason


def _short(content: bytes | None) -> str:
    return mask_text((content or b"").decode(errors="replace").strip()[:SHOWN]) or "no contents"
