"""What a client says when a server is not what it should be, and never a password. On a stand-in."""

from __future__ import annotations

import hashlib
import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.search.fake import PRODUCT, Answer, Asked, done, serving

from millrace.connectors.search.search_client import (
    ELASTICSEARCH_7,
    ELASTICSEARCH_8,
    OPENSEARCH,
    Dialect,
    Place,
    SearchClient,
    SearchError,
    hosts_of,
)
from millrace.testing.services.server import free_ports

SECRET = "Pass-Word-1234"


def ask(place: Place) -> bytes | None:
    client = SearchClient(place)
    try:
        return client.request("GET", "/_x")
    finally:
        client.close()


def failure(place: Place) -> str:
    with pytest.raises(SearchError) as caught:
        ask(place)
    assert SECRET not in str(caught.value) and SECRET not in repr(place)
    return str(caught.value)


def fine(asked: Asked) -> Answer:
    return 200, {}


def nowhere() -> str:
    (port,) = free_ports(1)
    return f"http://127.0.0.1:{port}"


def test_nobody_listens() -> None:
    first, second = nowhere(), nowhere()
    said = failure(Place(OPENSEARCH, (first, second), username="u", password=SECRET))
    assert said.startswith("OpenSearch does not answer: ")
    assert first in said and second in said and "refused" in said


def test_the_next_host_is_asked() -> None:
    with serving("opensearch", fine) as fake:
        client = SearchClient(Place(OPENSEARCH, (nowhere(), nowhere(), fake.url)))
        for _ in range(2):
            assert client.request("GET", "/_x") == b"{}"
        client.close()


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_server_that_does_not_answer(silent: str) -> None:
    assert "no answer in 0.2 s (timed out)" in failure(Place(OPENSEARCH, (silent,), answer_seconds=0.2))


def test_a_connection_that_was_closed_meanwhile_is_made_anew() -> None:
    from tests.servers.proxy import Proxy

    with serving("opensearch", fine) as fake:
        proxy = Proxy()
        proxy.start([int(fake.url.rpartition(":")[2])])
        client = SearchClient(Place(OPENSEARCH, (f"http://127.0.0.1:{proxy.ports[0]}",)))
        assert client.request("GET", "/_x") == b"{}"
        proxy.cut()
        proxy.mend()
        assert client.request("GET", "/_x") == b"{}"
        client.close()
        proxy.stop()


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_password(status: int) -> None:
    def script(asked: Asked) -> Answer:
        return status, {"error": {"type": "security_exception", "reason": "no permissions"}}

    with serving("opensearch", script) as fake:
        said = failure(Place(OPENSEARCH, (fake.url,), username="someone", password=SECRET))
    assert f"HTTP {status}, for user 'someone': no permissions" in said


def test_who_may_not_ask_for_the_version_may_write() -> None:
    def script(asked: Asked) -> Answer:
        return (403, {"error": "no"}) if asked.path == "/" else (200, {})

    script.own = {"/"}  # type: ignore[attr-defined]
    with serving("opensearch", script) as fake:
        assert ask(Place(OPENSEARCH, (fake.url,))) == b"{}"


@pytest.mark.parametrize(
    ("dialect", "kind", "headers", "said"),
    [
        (OPENSEARCH, "elasticsearch-7", {}, "it is Elasticsearch 7.10.2"),
        (ELASTICSEARCH_7, "opensearch", {}, "it is opensearch 2.19.1"),
        (ELASTICSEARCH_7, "elasticsearch-8", PRODUCT, "it is Elasticsearch 8.15.0"),
        (ELASTICSEARCH_8, "elasticsearch-7", PRODUCT, "it is Elasticsearch 7.10.2"),
        (ELASTICSEARCH_8, "elasticsearch-8", {}, "no header X-Elastic-Product"),
    ],
)
def test_servers_of_another_kind(dialect: Dialect, kind: str, headers: dict[str, str], said: str) -> None:
    with serving(kind, fine, headers) as fake:
        assert said in failure(Place(dialect, (fake.url,)))
        assert not fake.asked


def test_what_is_no_search_server_at_all() -> None:
    def script(asked: Asked) -> Answer:
        return 200, b"<html>hello</html>"

    script.own = {"/"}  # type: ignore[attr-defined]
    with serving("opensearch", script) as fake:
        assert "that is no search server: <html>hello</html>" in failure(Place(OPENSEARCH, (fake.url,)))


@pytest.mark.parametrize(
    ("how", "header"),
    [
        ({"username": "me", "password": SECRET}, "Basic bWU6UGFzcy1Xb3JkLTEyMzQ="),
        ({"api_key": SECRET}, f"ApiKey {SECRET}"),
        ({"bearer_token": SECRET}, f"Bearer {SECRET}"),
        ({}, None),
    ],
)
def test_who_asks(how: dict[str, str], header: str | None) -> None:
    with serving("elasticsearch-8", fine, PRODUCT) as fake:
        place = Place(ELASTICSEARCH_8, (fake.url,), prefix="/behind", **how)
        ask(place)
        (asked,) = (each for each in fake.asked if each.path.endswith("_x"))
    assert asked.path == "/behind/_x"
    assert asked.headers.get("Authorization") == header
    assert asked.headers["Accept"] == "application/vnd.elasticsearch+json; compatible-with=8"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("http://a:9200;https://b", ("http://a:9200", "https://b:9200")),
        (["localhost:9201", "http://[::1]:1/"], ("http://localhost:9201", "http://[::1]:1")),
    ],
)
def test_hosts(given: Any, wanted: tuple[str, ...]) -> None:
    assert hosts_of(given) == wanted


@pytest.mark.parametrize("given", ["", ";", "ftp://a", "http://", "http://a:b", f"http://u:{SECRET}@a", "http://a/x"])
def test_what_is_no_host(given: str) -> None:
    with pytest.raises(ValueError, match=r"host|URL|path") as caught:
        hosts_of(given)
    assert SECRET not in str(caught.value)


class Secured:
    """A certificate of one's own, and a server that shows it."""

    def __init__(self, folder: Path) -> None:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "elsewhere")])
        begin = datetime.now(timezone.utc) - timedelta(days=1)
        builder = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + timedelta(days=9))
        made = builder.add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256())
        certificate, secret = folder / "c.pem", folder / "k.pem"
        certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, secret)
        self.fingerprint = hashlib.sha256(made.public_bytes(serialization.Encoding.DER)).hexdigest()


def test_certificates_that_are_trusted_or_not(tmp_path: Path) -> None:
    secured = Secured(tmp_path)
    with serving("elasticsearch-8", fine, PRODUCT, secured.context) as fake:
        assert "CERTIFICATE_VERIFY_FAILED" in failure(Place(ELASTICSEARCH_8, (fake.url,)))
        assert ask(Place(ELASTICSEARCH_8, (fake.url,), insecure=True)) == b"{}"
        for text in (secured.fingerprint, ":".join(re.findall("..", secured.fingerprint.upper()))):
            assert ask(Place(ELASTICSEARCH_8, (fake.url,), fingerprint=text)) == b"{}"
        wrong = "00" + secured.fingerprint[2:]
        assert "shows no certificate with the fingerprint 00" in failure(
            Place(ELASTICSEARCH_8, (fake.url,), fingerprint=wrong)
        )


def test_a_slow_server_is_given_up_in_time(silent: str) -> None:
    began = time.monotonic()
    failure(Place(OPENSEARCH, (silent, silent), answer_seconds=0.2))
    assert time.monotonic() - began < 60


def test_a_bulk_request_says_what_it_is() -> None:
    with serving("elasticsearch-8", done, PRODUCT) as fake:
        client = SearchClient(Place(ELASTICSEARCH_8, (fake.url,)))
        client.request("POST", "/_bulk", b'{"delete":{"_index":"i","_id":"1"}}\n', lines=True)
        client.close()
        (asked,) = fake.bulks
    assert asked.headers["Content-Type"] == "application/vnd.elasticsearch+x-ndjson; compatible-with=8"
