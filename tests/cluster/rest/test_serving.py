"""Listening: ports, threads, TLS, and what is refused."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from pathlib import Path

import httpx
import pytest
from tests.cluster.rest.client import sample_holder

from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.endpoints import new_token
from millrace.cluster.rest.serving import NoPortError, RestServer
from millrace.cluster.rest.settings import (
    PORTS,
    Binding,
    RestSettings,
    UnsafeServerError,
    binding,
    is_loopback,
    parse_ports,
    rest_settings,
)


def app() -> object:
    return make_app(sample_holder(), None, RestSettings())


def test_it_answers_until_it_is_stopped() -> None:
    server = RestServer(app(), Binding(ports=[0]))
    server.start()
    assert server.address == f"http://localhost:{server.port}"
    assert httpx.get(f"{server.address}/overview").json()["jobs-running"] == 3
    server.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.address}/overview")


def test_the_next_port_that_is_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        first = taken.getsockname()[1]
        server = RestServer(app(), Binding(ports=[first, 0]))
        assert server.port not in (0, first)
        server.stop()
        with pytest.raises(NoPortError, match=f"port {first} is taken"):
            RestServer(app(), Binding(ports=[first]))
        with pytest.raises(NoPortError, match=f"ports {first} to {first} are all taken"):
            RestServer(app(), Binding(ports=[first, first]))


def test_two_servers_never_share_a_port() -> None:
    one = RestServer(app(), Binding(ports=[0]))
    with pytest.raises(NoPortError):
        RestServer(app(), Binding(ports=[one.port]))
    one.stop()
    RestServer(app(), Binding(ports=[one.port])).stop()  # it is free at once


def test_it_runs_in_the_thread_that_calls_it() -> None:
    server = RestServer(app(), Binding(ports=[0]))
    thread = threading.Thread(target=server.run)
    thread.start()
    assert httpx.get(f"{server.address}/config", timeout=30).status_code == 200  # the port is open already
    server.stop()
    thread.join(30)
    assert not thread.is_alive()


def test_tls(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    server = RestServer(app(), Binding(ports=[0], certificate=certificate, key=key))
    server.start()
    try:
        context = ssl.create_default_context(cafile=certificate)
        assert server.address.startswith("https://")
        assert httpx.get(f"{server.address}/overview", verify=context).status_code == 200
    finally:
        server.stop()


def make_certificate(folder: Path) -> tuple[str, str]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now.replace(2099))
    alternative = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    certificate = builder.add_extension(alternative, critical=False).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(private)
    return str(folder / "certificate.pem"), str(folder / "key.pem")


@pytest.mark.parametrize(
    ("address", "expected"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("localhost", True), ("::1", True), ("[::1]", True), ("0.0.0.0", False),
     ("::", False), ("", False), ("10.0.0.1", False), ("millrace.example", False), ("localhost.example", False)],
)  # fmt: skip
def test_loopback(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "millrace.example"])
def test_beyond_loopback_there_must_be_a_token(address: str) -> None:
    where = Binding(address)
    for options in ({}, {"security.rest.auth": "none"}, {"security.rest.auth": "NONE"}):
        with pytest.raises(UnsafeServerError, match="needs a token"):
            rest_settings(options, "token" if options else None, where)
    settings = rest_settings({}, "token", where)
    assert settings.beyond_loopback and settings.protect_reads, "others may not even look without the token"
    assert settings.hosts == {socket.gethostname(), address}


def test_on_loopback_a_token_can_be_done_without() -> None:
    assert rest_settings({"security.rest.auth": "none"}, "token", Binding()).token is None
    settings = rest_settings({}, "token", Binding())
    assert settings.token == "token" and not settings.protect_reads and not settings.beyond_loopback
    assert rest_settings({"security.rest.protect-reads": "true"}, "token", Binding()).protect_reads
    assert not settings.yarn_cancel
    assert rest_settings({"security.rest.yarn-cancel": "true"}, "token", Binding()).yarn_cancel


def test_options_are_settings() -> None:
    options = {
        "rest.bind-address": "127.0.0.1", "rest.port": "9000", "rest.allowed-hosts": "a.example, b.example",
        "rest.address": "c.example", "web.cancel.enable": "false", "web.refresh-interval": "5 s",
        "rest.server.max-content-length": "1000",
    }  # fmt: skip
    assert binding(options) == Binding("127.0.0.1", [9000])
    settings = rest_settings(options, "t", binding(options))
    assert settings.hosts == {"a.example", "b.example", "c.example"} and settings.cancel is False
    assert (settings.refresh_interval, settings.max_upload) == (5000, 1000)
    assert binding({}) == Binding("127.0.0.1", PORTS)
    assert binding({"rest.port": "1", "rest.bind-port": "2-3"}).ports == [2, 3]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rest.port": "x"}, "'x' is no port"),
        ({"rest.port": "5-"}, "'5-' is no port"),
        ({"rest.port": "99999"}, "from 0 to 65535"),
        ({"security.rest.certificate": "c.pem"}, "belong together"),
    ],
)
def test_bad_options_of_the_binding(options: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        binding(options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"web.cancel.enable": "perhaps"}, "web.cancel.enable is true or false, not 'perhaps'"),
        ({"rest.server.max-content-length": "-1"}, "is a whole number, not '-1'"),
        ({"web.refresh-interval": "soon"}, "not a span of time: 'soon'"),
    ],
)
def test_bad_options_of_the_settings(options: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        rest_settings(options, "t", Binding())


def test_ranges_of_ports() -> None:
    assert parse_ports("8081, 9000-9002") == [8081, 9000, 9001, 9002]
    assert (PORTS[0], PORTS[-1]) == (8081, 8099)


def test_tokens_are_long_and_never_the_same() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100 and min(map(len, tokens)) >= 43
