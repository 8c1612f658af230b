"""Makes topics that are missing, as large as the brokers make theirs."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.connectors.kafka.library import client_log, confluent_kafka
from millrace.connectors.kafka.properties import reaching

ANSWER_SECONDS = 30.0
_AS_THE_BROKER_SAYS = -1


def ensure_topic(name: str, properties: Mapping[str, str]) -> None:
    """:param properties: of the client, in the names of Java's.

    :raises ConnectionError: it is not there, and cannot be made.
    """
    library = confluent_kafka()
    from confluent_kafka import admin

    client = admin.AdminClient(dict(reaching(properties)), logger=client_log)
    topic = admin.NewTopic(name, _AS_THE_BROKER_SAYS, _AS_THE_BROKER_SAYS)
    try:
        client.create_topics([topic], request_timeout=ANSWER_SECONDS)[name].result(ANSWER_SECONDS * 2)
    except library.KafkaException as error:
        if error.args[0].code() != library.KafkaError.TOPIC_ALREADY_EXISTS:
            raise ConnectionError(f"topic {name!r} cannot be made: {error.args[0].str()}") from None
