"""Whom clients of HTTP trust."""

from __future__ import annotations

import ssl


def trusted(url: str) -> ssl.SSLContext | bool:
    """For httpx: the machine's certificates, or those that SSL_CERT_FILE names. None are loaded where there is no TLS,
    since that takes longer than many a query."""
    return ssl.create_default_context() if url.lower().startswith("https:") else False
