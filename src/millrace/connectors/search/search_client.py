"""``SearchClient``: requests to a server of OpenSearch or Elasticsearch by httpx; with the server's address,
credentials, trusted certificates, and the differences between the versions."""

from __future__ import annotations

import hashlib
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from millrace.util.secrets import mask_text

JSON = "application/json"
LINES = "application/x-ndjson"
_COMPATIBLE = "application/vnd.elasticsearch+{}; compatible-with=8"


@dataclass(frozen=True)
class Dialect:
    """
    :ivar title: for messages.
    :ivar json: the type of contents that are one document; ``lines`` of those that are many.
    :ivar product: whether answers say that they come from Elasticsearch, as those of 7.14 and later do.
    :ivar distribution: what a server says of itself; "": nothing, as Elasticsearch.
    :ivar points_in_time: whether all pages of a search are asked of a point in time; else they are scrolled through.
    """

    title: str
    json: str = JSON
    lines: str = LINES
    product: bool = False
    distribution: str = ""
    points_in_time: bool = False

    def problem(self, version: str, distribution: str, said_product: bool) -> str | None:
        """Why a server is none of this kind; None if it is.

        :param version: that it says of itself.
        """
        if distribution != self.distribution:
            return f"it is {distribution or 'Elasticsearch'} {version}"
        if self.product and not said_product:
            return f"its answers have no header X-Elastic-Product; it says version {version}"
        if self is ELASTICSEARCH_7 and not version.startswith("7."):
            return f"it is Elasticsearch {version}"
        if self is ELASTICSEARCH_8 and version.partition(".")[0] not in ("8", "9"):
            return f"it is Elasticsearch {version}"
        return None


OPENSEARCH = Dialect("OpenSearch", distribution="opensearch")
ELASTICSEARCH_7 = Dialect("Elasticsearch 7")
ELASTICSEARCH_8 = Dialect(
    "Elasticsearch 8", _COMPATIBLE.format("json"), _COMPATIBLE.format("x-ndjson"), product=True, points_in_time=True
)


CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0


@dataclass(frozen=True)
class Place:
    """
    :ivar hosts: URLs; each request goes to one that answers.
    :ivar prefix: of all paths.
    :ivar insecure: whether certificates count for nothing.
    :ivar fingerprint: SHA-256 of a certificate that is trusted if the server shows it, in hexadecimal digits.
    :ivar authorities: a file with the certificates of those that sign servers' ones.
    """

    dialect: Dialect
    hosts: tuple[str, ...]
    prefix: str = ""
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    bearer_token: str | None = field(default=None, repr=False)
    insecure: bool = False
    fingerprint: str | None = None
    authorities: str | None = None
    connect_seconds: float = CONNECT_SECONDS
    answer_seconds: float = ANSWER_SECONDS
    pool_seconds: float = CONNECT_SECONDS

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.dialect.title} at {', '.join(self.hosts)}"

    def problem(self) -> str | None:
        """What cannot be; None if all can."""
        if (self.username is None) != (self.password is None):
            return "'username' and 'password' belong together"
        given = [each for each in (self.username, self.api_key, self.bearer_token) if each is not None]
        if len(given) > 1:
            return "of a password, an API key and a token there can be one"
        return None


def hosts_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """URLs of hosts.

    :param given: URLs, or host:port, several of them between semicolons or as a list.
    :raises ValueError: one is none.
    """
    texts = given.split(";") if isinstance(given, str) else list(given)
    found = tuple(dict.fromkeys(_host(text.strip()) for text in texts if text.strip()))
    if not found:
        raise ValueError("there is no host")
    return found


def _host(text: str) -> str:
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"'{text}' is no host: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"a host is written http://name:9200 or https://name:9200, not '{text}'")
    if parts.username or parts.password:
        raise ValueError(f"user and password do not belong into the URL of {parts.hostname}: they have options")
    if parts.path not in ("", "/") or parts.query:
        raise ValueError(f"'{text}' has a path: that has an option of its own, the prefix of all paths")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{name}:{port or 9200}"


def trust(place: Place, host: str) -> ssl.SSLContext:
    """:raises ConnectionError: a server does not show the certificate that is named, or cannot be asked for it."""
    if place.fingerprint is not None:
        return _by_fingerprint(place.fingerprint, host, place.connect_seconds)
    context = ssl.create_default_context(cafile=place.authorities)
    if place.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _by_fingerprint(fingerprint: str, host: str, seconds: float) -> ssl.SSLContext:
    """Trusts what the named certificate has signed, or that one itself. What it is comes from the server, and is
    compared with the fingerprint; names do not count then, as in Elasticsearch's own clients."""
    wanted = fingerprint.replace(":", "").lower()
    for certificate in _shown(host, seconds):
        if hashlib.sha256(certificate).hexdigest() == wanted:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_flags |= getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0x80000)
            context.load_verify_locations(cadata=certificate)
            return context
    raise ConnectionError(f"{host} shows no certificate with the fingerprint {fingerprint}")


def _shown(host: str, seconds: float) -> list[bytes]:
    parts = urlsplit(host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection((parts.hostname or "", parts.port or 9200), seconds) as plain,
            context.wrap_socket(plain, server_hostname=parts.hostname) as secure,
        ):
            return _chain(secure)
    except OSError as error:
        raise ConnectionError(f"{host} cannot be asked for its certificate: {error}") from error


def _chain(secure: Any) -> list[bytes]:
    """The certificates that a server shows, in DER."""
    if hasattr(secure, "get_unverified_chain"):  # from Python 3.13 on
        return list(secure.get_unverified_chain())
    inner = getattr(secure, "_sslobj", None)
    if inner is not None and hasattr(inner, "get_unverified_chain"):
        return [ssl.PEM_cert_to_DER_cert(each.public_bytes()) for each in inner.get_unverified_chain() or ()]
    own = secure.getpeercert(binary_form=True)
    return [own] if own else []


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
        """Send a JSON document and return the decoded answer; None if ``missing`` allows that the requested object
        does not exist."""
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
            self._known = True  # a user who may not read the version may still write
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
        kind, reason = _error_of_answer(given.content)
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
                # The server may have closed an idle connection: try the same host a second time.
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


def _error_of_answer(content: bytes) -> tuple[str, str]:
    """What an answer says went wrong: its name, and a text."""
    import msgspec

    try:
        error = msgspec.json.decode(content)["error"]
    except (ValueError, KeyError, TypeError):
        return "", _short(content)
    return error_and_reason(error)


def error_and_reason(error: Any) -> tuple[str, str]:
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
