"""Services behind TLS, which may want to know who asks."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.connectors.http.conftest import HttpTables
from tests.connectors.http.service import Service

from millrace.runtime.failure import JobFailedError


def certificate(folder: Path, name: str, issuer: Any = None) -> Any:
    """A certificate and its key, in files of that name."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.timezone.utc)
    by, by_key = (subject, key) if issuer is None else issuer
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(issuer is None, None), True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(by_key, hashes.SHA256())
    )
    (folder / f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / f"{name}.key").write_bytes(private)
    return subject, key


def test_both_sides_show_who_they_are(tmp_path: Path, serve: Callable[..., Service], tables: HttpTables) -> None:
    authority = certificate(tmp_path, "authority")
    for name in ("server", "client"):
        certificate(tmp_path, name, authority)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    context.load_verify_locations(tmp_path / "authority.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    service = serve(lambda asked: {"name": "safe"}, context)
    at = "http.security"
    known = {f"{at}.cert.server": str(tmp_path / "authority.pem"), "lookup.max-retries": "0"}
    client = {f"{at}.cert.client": str(tmp_path / "client.pem"), f"{at}.key.client": str(tmp_path / "client.key")}
    tables.over("good", "id BIGINT, name STRING", service.url, **known, **client)
    assert tables.joined("good", [1], what="r.name") == [(1, "safe")]
    anyone = {f"{at}.cert.server.allowSelfSigned": "true", "lookup.max-retries": "0"}
    tables.over("lenient", "id BIGINT, name STRING", service.url, **anyone, **client)
    assert tables.joined("lenient", [1], what="r.name") == [(1, "safe")]
    for name, options, message in [
        ("nobody", known, r"no answer \(\w+Error"),
        ("stranger", {**client, "lookup.max-retries": "0"}, r"CERTIFICATE_VERIFY_FAILED"),
        ("nothing", {**known, f"{at}.cert.client": str(tmp_path / "x.pem")}, r"x\.pem is not one"),
    ]:
        tables.over(name, "id BIGINT, name STRING", service.url, **options)
        with pytest.raises(JobFailedError, match=message):
            tables.joined(name, [1], what="r.name")
