"""The client libraries, which are an extra of the installation."""

from __future__ import annotations

import logging
from typing import Any

client_log = logging.getLogger("millrace.kafka.client")
"""what librdkafka says"""
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
    return found
