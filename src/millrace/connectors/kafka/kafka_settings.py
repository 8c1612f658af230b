"""The client libraries of Kafka, which are an extra of the installation, and the settings of Kafka's Java clients for
librdkafka.

Each name that the Java clients know is mapped, accepted without effect, or refused. Names that only librdkafka knows go
through as they are; what it does not know itself it refuses by name when a client is made. Java's stores of keys and
certificates become PEM.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from millrace.util.logs import NotAgain

if TYPE_CHECKING:
    from typing_extensions import Self


client_log = logging.getLogger("millrace.kafka.client")
"""what librdkafka says, each text once a minute: while a broker is not there it says so some times a second"""
client_log.addFilter(NotAgain(60, re.compile(r"rdkafka#\w+-\d+|\d+ms")))
_MISSING = "{} can't be imported, which the Kafka connector needs: pip install 'millrace-streaming[kafka]' ({})"


def confluent_kafka() -> Any:
    """librdkafka for Python: it reads and writes.

    :raises ImportError: it is not installed.
    """
    try:
        import confluent_kafka as found
    except ImportError as error:
        raise ImportError(_MISSING.format("confluent-kafka", error)) from error
    return found


def kafka_python() -> Any:
    """A second client: it speaks of transactions, which librdkafka does not.

    :raises ImportError: it is not installed.
    """
    try:
        import kafka as found
        import kafka.admin
    except ImportError as error:
        raise ImportError(_MISSING.format("kafka-python", error)) from error
    log = logging.getLogger("kafka")
    if log.level == logging.NOTSET:  # the program has not said what it wants to hear
        log.setLevel(logging.WARNING)
    return found


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


Settings = dict[str, Any]

_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "sasl.kerberos.kinit.cmd": "sasl.kerberos.kinit.cmd",
    "sasl.login.refresh.min.period.seconds": "sasl.kerberos.min.time.before.relogin",
    "sasl.oauthbearer.token.endpoint.url": "sasl.oauthbearer.token.endpoint.url",
    "compression.gzip.level": "compression.level",
    "compression.lz4.level": "compression.level",
    "compression.zstd.level": "compression.level",
    "group.remote.assignor": "group.remote.assignor",
}
_WITHOUT_EFFECT = frozenset({
    # what to do there is decided by the connector, as in Flink
    "key.deserializer", "value.deserializer", "key.serializer", "value.serializer", "enable.auto.commit",
    "auto.commit.interval.ms", "partition.assignment.strategy", "max.poll.records", "exclude.internal.topics",
    "partition.discovery.interval.ms", "commit.offsets.on.checkpoint", "client.id.prefix",
    "register.consumer.metrics", "register.producer.metrics", "default.api.timeout.ms", "max.block.ms",
    # of the Java Virtual Machine
    "metric.reporters", "metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms",
    "auto.include.jmx.reporter", "security.providers", "ssl.provider", "ssl.protocol", "ssl.enabled.protocols",
    "ssl.keymanager.algorithm", "ssl.trustmanager.algorithm", "ssl.secure.random.implementation",
    "enable.metrics.push", "partitioner.ignore.keys", "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms", "metadata.max.idle.ms", "metadata.recovery.strategy",
    "metadata.recovery.rebootstrap.trigger.ms", "sasl.login.class", "sasl.login.callback.handler.class",
    "sasl.client.callback.handler.class", "throw.on.fetch.stable.offset.unsupported", "group.protocol",
    "flink.partition-discovery.interval-millis", "flink.poll-timeout",
    "millrace.kafka.on-lost-transaction",
    # read together with their stores
    "ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password", "ssl.truststore.type",
    "ssl.truststore.location", "ssl.truststore.password", "ssl.key.password",
})  # fmt: skip
_REFUSED = {
    "interceptor.classes": "interceptors are Java classes: use a map() before the sink or after the source",
    "partitioner.class": "partitioners are Java classes: give the sink a partitioner in Python",
    "transactional.id": "transactional ids are the sink's own: set its prefix, set_transactional_id_prefix(...)",
    "ssl.engine.factory.class": "it is a Java class: give PEM files or a PKCS12 store",
    "config.providers": "they are Java classes: put the values into the properties",
}
_JAAS_MODULE = re.compile(r"^\s*([\w.]+)\s+\w+")
_JAAS_OPTION = re.compile(r"([\w.]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;]+))")


def client_settings(properties: Mapping[str, str]) -> Settings:
    """librdkafka's settings.

    :raises ValueError: a setting that cannot be had, by name, with what to do.
    """
    found: Settings = {}
    for name, value in properties.items():
        if name in _REFUSED and value not in ("", None):
            raise ValueError(f"Kafka's setting {name!r} cannot be used: {_REFUSED[name]}")
        if name in _WITHOUT_EFFECT or name in _REFUSED:
            continue
        special = _SPECIAL.get(name)
        if special is not None:
            found |= special(str(value))
        else:
            found[_RENAMED.get(name, name)] = value
    found |= key_store(properties) | trust_store(properties)
    _check_mechanism(found)
    return found


def reaching(properties: Mapping[str, str]) -> Settings:
    """The settings that any client needs to reach the same brokers: addresses, client id, security."""
    return {
        name: value
        for name, value in client_settings(properties).items()
        if name in ("bootstrap.servers", "client.id") or name.startswith(("security.", "sasl.", "ssl."))
    }


def _jaas(text: str) -> Settings:
    """The user and password of a login module."""
    module = _JAAS_MODULE.match(text)
    if module is None:
        raise ValueError("Kafka's setting 'sasl.jaas.config' is not 'class required option=\"value\" ...;'")
    options = {name: a or b or c for name, a, b, c in _JAAS_OPTION.findall(text)}
    kind = module.group(1).rpartition(".")[2]
    if kind in ("PlainLoginModule", "ScramLoginModule"):
        return {"sasl.username": options.get("username", ""), "sasl.password": options.get("password", "")}
    if kind == "Krb5LoginModule":
        known = {"principal": "sasl.kerberos.principal", "keyTab": "sasl.kerberos.keytab"}
        return {known[name]: value for name, value in options.items() if name in known}
    if kind == "OAuthBearerLoginModule":
        known = {"clientId": "sasl.oauthbearer.client.id", "clientSecret": "sasl.oauthbearer.client.secret"}
        known["scope"] = "sasl.oauthbearer.scope"
        return {known[name]: value for name, value in options.items() if name in known}
    raise ValueError(f"Kafka's setting 'sasl.jaas.config' names {kind}, which only Java has")


def _memory(value: str) -> Settings:
    return {"queue.buffering.max.kbytes": max(1, int(value) // 1024)}


def _host_check(value: str) -> Settings:
    return {"ssl.endpoint.identification.algorithm": value.lower() or "none"}


def _largest_record(fetch: int) -> Settings:
    return {"message.max.bytes": max(1_000, fetch)} if fetch < 1_000_000 else {}


_SPECIAL: dict[str, Callable[[str], Settings]] = {
    "sasl.jaas.config": _jaas,
    "buffer.memory": _memory,
    "ssl.endpoint.identification.algorithm": _host_check,
    "ssl.truststore.certificates": lambda value: {"ssl.ca.pem": value},
    "ssl.keystore.certificate.chain": lambda value: {"ssl.certificate.pem": value},
    "ssl.keystore.key": lambda value: {"ssl.key.pem": value},
    "sasl.mechanism": lambda value: {"sasl.mechanisms": value},
    "isolation.level": lambda value: {"isolation.level": value.lower()},
    "acks": lambda value: {"acks": "all" if value == "-1" else value},
    # A record larger than a fetch comes alone with Java's clients; librdkafka wants to know of none.
    "fetch.max.bytes": lambda value: {"fetch.max.bytes": value, **_largest_record(int(value))},
}


def _check_mechanism(settings: Settings) -> None:
    if str(settings.get("sasl.mechanisms", "")).upper() != "GSSAPI":
        return

    features = str(confluent_kafka().libversion())
    producer = confluent_kafka().Producer
    try:
        producer({"sasl.mechanisms": "GSSAPI", "security.protocol": "SASL_PLAINTEXT"})
    except Exception as error:
        raise ValueError(
            f"Kafka's setting 'sasl.mechanism' is GSSAPI, which this build of librdkafka {features} lacks: install "
            "librdkafka with Kerberos (Debian: librdkafka-dev, libsasl2-modules-gssapi-mit) and "
            "`pip install --no-binary confluent-kafka confluent-kafka`"
        ) from error


class ClientBuilder:
    """Base of all builders of sources and sinks that have a client: collects the properties of the client."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}

    def set_property(self, key: str, value: str) -> Self:
        """A setting of the client, in the name that Java's clients have."""
        self._properties[key] = str(value)
        return self
