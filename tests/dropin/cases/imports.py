"""Names that programs import, perhaps without using them."""

from __future__ import annotations


def connectors_can_be_imported() -> None:
    """The classes of connectors are there without the jars that they need."""
    from pyflink.datastream.connectors import FlinkKafkaConsumer as Older
    from pyflink.datastream.connectors.hybrid_source import HybridSource
    from pyflink.datastream.connectors.kafka import FlinkKafkaConsumer, FlinkKafkaProducer
    from pyflink.datastream.connectors.pulsar import PulsarSink, PulsarSource

    assert Older is FlinkKafkaConsumer
    assert all(isinstance(each, type) for each in (HybridSource, FlinkKafkaProducer, PulsarSink, PulsarSource))


def the_state_backends_helper_can_be_imported() -> None:
    """A private helper that programs name."""
    from pyflink.datastream.state_backend import _from_j_state_backend

    assert callable(_from_j_state_backend)
