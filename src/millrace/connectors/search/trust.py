"""Which certificates of servers count: those of known authorities, one that is named, or all."""

from __future__ import annotations

import hashlib
import socket
import ssl
from typing import Any
from urllib.parse import urlsplit

from millrace.connectors.search.place import Place


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
