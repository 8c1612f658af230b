"""TLS and SASL on a real broker, by the properties that programs for Java have: reading, and writing exactly once."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from tests.connectors.kafka.topics import Topics
from tests.services import missing

from millrace.common.serialization import SimpleStringSchema
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from millrace.runtime.failure import JobFailedError
from millrace.testing.local import run_locally
from millrace.testing.services import Kafka, ServiceUnavailable

pytestmark = pytest.mark.services

PASSWORD = "changeit-please"
PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}"{};'
SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="{}" password="{}";'


@dataclass(frozen=True)
class Secured:
    """A broker with a listener of each kind, and the files that clients need."""

    broker: Kafka
    topics: Topics
    pem: Path
    jks: Path
    p12: Path


def keytool(*arguments: str) -> None:
    done = subprocess.run(["keytool", "-noprompt", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("security")
    own, pem, jks, p12 = (folder / name for name in ("own.p12", "ca.pem", "trust.jks", "trust.p12"))
    store = ["-storepass", PASSWORD]
    keytool("-genkeypair", "-alias", "broker", "-keyalg", "RSA", "-keysize", "2048", "-validity", "2",
            "-dname", "CN=localhost", "-ext", "SAN=DNS:localhost,IP:127.0.0.1", "-ext", "bc:c",
            "-storetype", "PKCS12", "-keystore", str(own), *store)  # fmt: skip
    keytool("-exportcert", "-rfc", "-alias", "broker", "-keystore", str(own), *store, "-file", str(pem))
    for kind, file in (("JKS", jks), ("PKCS12", p12)):
        keytool("-importcert", "-alias", "ca", "-file", str(pem), "-storetype", kind, "-keystore", str(file), *store)
    listeners = {"INNER": "PLAINTEXT", "TLS": "SSL", "PLAIN": "SASL_PLAINTEXT", "SCRAM": "SASL_SSL"}
    settings = {
        "ssl.keystore.location": str(own),
        "ssl.keystore.password": PASSWORD,
        "ssl.keystore.type": "PKCS12",
        "inter.broker.listener.name": "INNER",
        "listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plain.plain.sasl.jaas.config": PLAIN.format("broker", "x", ' user_ann="secret"'),
        "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.scram.scram-sha-512.sasl.jaas.config": SCRAM.format("broker", "x"),
    }
    broker = Kafka(settings=settings, listeners=listeners)
    try:
        broker.start()
    except ServiceUnavailable as error:
        missing(error)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    (made,) = admin.alter_user_scram_credentials([UserScramCredentialUpsertion("ann", info, b"secret")]).values()
    made.result()
    yield Secured(broker, Topics(broker.bootstrap), pem, jks, p12)
    broker.stop()


def ways(secured: Secured) -> dict[str, dict[str, str]]:
    """How clients get in: name -> properties."""

    def trust(file: Path) -> dict[str, str]:
        kind = {".pem": "PEM", ".jks": "JKS", ".p12": "PKCS12"}[file.suffix]
        password = {} if kind == "PEM" else {"ssl.truststore.password": PASSWORD}
        return {"ssl.truststore.location": str(file), "ssl.truststore.type": kind, **password}

    tls = {"bootstrap.servers": secured.broker.servers("TLS"), "security.protocol": "SSL"}
    plain = {"bootstrap.servers": secured.broker.servers("PLAIN"), "security.protocol": "SASL_PLAINTEXT"}
    scram = {"bootstrap.servers": secured.broker.servers("SCRAM"), "security.protocol": "SASL_SSL"}
    return {
        "pem": {**tls, **trust(secured.pem)},
        "jks": {**tls, **trust(secured.jks)},
        "p12": {**tls, **trust(secured.p12)},
        "plain": {**plain, "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN.format("ann", "secret", "")},
        "scram": {**scram, **trust(secured.jks), "sasl.mechanism": "SCRAM-SHA-512",
                  "sasl.jaas.config": SCRAM.format("ann", "secret")},
    }  # fmt: skip


def copy(properties: dict[str, str], source: str, target: str) -> None:
    reading = KafkaSource.builder().set_properties(properties).set_topics(source)
    reading.set_value_only_deserializer(SimpleStringSchema()).set_bounded(KafkaOffsetsInitializer.latest())
    schema = KafkaRecordSerializationSchema.builder().set_topic(target)
    writing = KafkaSink.builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    writing.set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build())
    writing.set_transactional_id_prefix(target)
    for name, value in properties.items():
        if name == "bootstrap.servers":
            writing.set_bootstrap_servers(value)
        else:
            writing.set_property(name, value)
    environment = StreamExecutionEnvironment().set_parallelism(1)
    stream = environment.from_source(reading.build(), WatermarkStrategy.no_watermarks(), "source")
    stream.sink_to(writing.build())
    run_locally(environment)


@pytest.mark.parametrize("way", ["pem", "jks", "p12", "plain", "scram"])
def test_every_way_in(secured: Secured, way: str) -> None:
    topics = secured.topics
    source, target = topics.create(1), topics.create(1)
    values = [f"{way} {number}" for number in range(20)]
    topics.write(source, values)
    copy(ways(secured)[way], source, target)
    topics.expect(target, sorted(values))


@pytest.mark.parametrize(("way", "mechanism"), [("plain", PLAIN), ("scram", SCRAM)])
def test_a_wrong_password(secured: Secured, way: str, mechanism: str) -> None:
    properties = ways(secured)[way] | {"sasl.jaas.config": mechanism.format("ann", "wrong-one", "")}
    source = secured.topics.create(1)
    with pytest.raises((JobFailedError, ConnectionError), match=r"(?i)authentication") as caught:
        copy(properties, source, source)
    assert "wrong-one" not in str(caught.value)
