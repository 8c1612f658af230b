"""Certificates are checked where there are any, and loaded only then."""

from __future__ import annotations

import ssl

from millrace.connectors.stores import trusted


def test_certificates() -> None:
    assert trusted("http://127.0.0.1:8123") is False
    found = trusted("HTTPS://store:8443")
    assert isinstance(found, ssl.SSLContext)
    assert found.verify_mode is ssl.CERT_REQUIRED
    assert found.check_hostname
