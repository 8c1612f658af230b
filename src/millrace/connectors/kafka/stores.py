"""Java's stores of keys and certificates, as PEM texts or files that librdkafka reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PEM, _PKCS12, _JKS = "PEM", "PKCS12", "JKS"


def trust_store(properties: Mapping[str, str]) -> dict[str, Any]:
    """The certificates that are trusted.

    :raises ValueError: the store cannot be read here.
    """
    place = properties.get("ssl.truststore.location")
    if not place:
        return {}
    kind = _kind(properties.get("ssl.truststore.type"), place)
    if kind == _PEM:
        return {"ssl.ca.location": place}
    if kind == _PKCS12:
        return {"ssl.ca.pem": _pkcs12_certificates(place, properties.get("ssl.truststore.password"))}
    store = _java_store(place, properties.get("ssl.truststore.password"), "ssl.truststore.location")
    return {"ssl.ca.pem": "".join(_pem(each.cert, "CERTIFICATE") for each in store.certs.values())}


def key_store(properties: Mapping[str, str]) -> dict[str, Any]:
    """The client's own key and certificate.

    :raises ValueError: the store cannot be read here.
    """
    secret = properties.get("ssl.key.password")
    place = properties.get("ssl.keystore.location")
    if not place:
        return {} if secret is None else {"ssl.key.password": secret}
    kind, password = _kind(properties.get("ssl.keystore.type"), place), properties.get("ssl.keystore.password")
    if kind == _PEM:
        found = {"ssl.certificate.location": place, "ssl.key.location": place}
        return found if secret is None else {**found, "ssl.key.password": secret}
    if kind == _PKCS12:
        return {"ssl.keystore.location": place, **({} if password is None else {"ssl.keystore.password": password})}
    store = _java_store(place, password, "ssl.keystore.location")
    for entry in store.private_keys.values():
        if not entry.is_decrypted():
            entry.decrypt(secret or password or "")
        chain = "".join(_pem(each, "CERTIFICATE") for _, each in entry.cert_chain)
        return {"ssl.certificate.pem": chain, "ssl.key.pem": _pem(entry.pkey_pkcs8, "PRIVATE KEY")}
    raise ValueError(f"Kafka's setting 'ssl.keystore.location': {place} has no private key")


def _kind(named: str | None, place: str) -> str:
    if named:
        return named.upper()
    ending = place.rpartition(".")[2].lower()
    return {"pem": _PEM, "crt": _PEM, "p12": _PKCS12, "pfx": _PKCS12}.get(ending, _JKS)


def _java_store(place: str, password: str | None, setting: str) -> Any:
    try:
        import jks
    except ImportError:
        raise ValueError(
            f"Kafka's setting {setting!r} is a JKS store, which `pip install pyjks` lets Millrace read; or give a PEM "
            "file or a PKCS12 store, and its type ('ssl.truststore.type', 'ssl.keystore.type')"
        ) from None
    return jks.KeyStore.load(place, password or "")


def _pkcs12_certificates(place: str, password: str | None) -> str:
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, pkcs12
    except ImportError:
        raise ValueError(
            "Kafka's setting 'ssl.truststore.location' is a PKCS12 store, which `pip install cryptography` lets "
            "Millrace read; or give a PEM file and 'ssl.truststore.type' = 'PEM'"
        ) from None
    with open(place, "rb") as file:
        store = pkcs12.load_pkcs12(file.read(), None if password is None else password.encode())
    found = [*store.additional_certs, *([] if store.cert is None else [store.cert])]
    return "".join(each.certificate.public_bytes(Encoding.PEM).decode() for each in found)


def _pem(content: bytes, what: str) -> str:
    import base64
    import textwrap

    lines = textwrap.wrap(base64.b64encode(content).decode(), 64)
    return "\n".join([f"-----BEGIN {what}-----", *lines, f"-----END {what}-----", ""])
