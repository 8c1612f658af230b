"""The client libraries, which are an extra of the installation."""

from __future__ import annotations

import logging
import re
from typing import Any

from millrace.util.not_again import NotAgain

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
