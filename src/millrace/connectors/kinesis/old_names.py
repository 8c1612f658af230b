"""``FlinkKinesisConsumer``: the source under PyFlink's name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from millrace.common.serialization import DeserializationSchema
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.delegating import DelegatingSource
from millrace.connectors.kinesis.shards import Kinesis
from millrace.connectors.kinesis.source import KinesisStreamsSource
from millrace.connectors.messages.message import Message, MessageDecoder, MessageError, SchemaDecoder

_START = "flink.stream.initpos"
_SINCE = "flink.stream.initpos.timestamp"
_DISCOVERY = "flink.shard.discovery.intervalmillis"
_MOST = "flink.shard.getrecords.maxrecordcount"
_PAUSE = "flink.shard.getrecords.intervalmillis"
_PUBLISHER = "flink.stream.recordpublisher"
DEFAULT_PAUSE_MS = 200


class KinesisShardAssigner:
    """Which subtask reads which shard. Shards go round, whichever of these is chosen.

        >>> assigner = KinesisShardAssigner.uniform_shard_assigner()
    """

    @staticmethod
    def default_shard_assigner() -> KinesisShardAssigner:
        """Accepted: shards are spread evenly anyway."""
        return KinesisShardAssigner()

    @staticmethod
    def uniform_shard_assigner() -> KinesisShardAssigner:
        """Accepted: shards are spread evenly anyway."""
        return KinesisShardAssigner()


class KinesisDeserializationSchema(ABC):
    """Elements of whole records (our addition: PyFlink's takes Java objects only).

        >>> sorted(KinesisDeserializationSchema.__abstractmethods__)
        ['deserialize']
    """

    @abstractmethod
    def deserialize(
        self,
        record_value: bytes,
        partition_key: str,
        seq_num: str,
        approx_arrival_timestamp: int | None,
        stream: str,
        shard_id: str,
    ) -> Any:
        """The element, None to leave the record out. The time is in ms."""

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the elements."""
        return None


class WatermarkTracker:
    """Made by ``job_manager_watermark_tracker``; setting one is refused.

        >>> tracker = WatermarkTracker.job_manager_watermark_tracker("group")
    """

    @staticmethod
    def job_manager_watermark_tracker(
        aggregate_name: str, log_accumulator_interval_millis: int = -1
    ) -> WatermarkTracker:
        """Accepted for programs of PyFlink."""
        return WatermarkTracker()


class _WholeRecords(MessageDecoder[Any]):
    def __init__(self, schema: KinesisDeserializationSchema) -> None:
        self._schema = schema

    def decode(self, messages: Sequence[Message]) -> tuple[list[Any], list[int] | None]:
        elements: list[Any] = []
        times: list[int | None] = []
        for each in messages:
            known = each.metadata
            place = known["stream"], known["shard-id"]
            try:
                element = self._schema.deserialize(
                    each.value, known["partition-key"], known["sequence-number"], each.timestamp, *place
                )
            except Exception as error:
                raise MessageError(each, error) from error
            if element is not None:
                elements.append(element)
                times.append(each.timestamp)
        known_times = [time for time in times if time is not None]
        return elements, known_times if known_times and len(known_times) == len(elements) else None

    def produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()


class FlinkKinesisConsumer(DelegatingSource):
    """Reads streams: ``env.add_source(FlinkKinesisConsumer("stream", schema, {"aws.region": ...}))``.

        >>> consumer = FlinkKinesisConsumer("orders", SimpleStringSchema(), {"aws.region": "eu-central-1"})

    :param config_props: ``aws.*`` and ``flink.stream.*``, ``flink.shard.*`` as Flink has them.
    :raises ValueError: a property's value is none.
    """

    def __init__(
        self,
        streams: str | Sequence[str],
        deserializer: DeserializationSchema | KinesisDeserializationSchema,
        config_props: Mapping[str, Any],
    ) -> None:
        names = (streams,) if isinstance(streams, str) else tuple(streams)
        given = {key: str(value) for key, value in config_props.items()}
        if given.get(_PUBLISHER, "POLLING").upper() != "POLLING":
            raise NotImplementedError(f"FlinkKinesisConsumer reads by polling: leave out '{_PUBLISHER}' = 'EFO'")
        decoder: MessageDecoder[Any]
        if isinstance(deserializer, KinesisDeserializationSchema):
            decoder = _WholeRecords(deserializer)
        else:
            decoder = SchemaDecoder(deserializer)
        start = given.get(_START, "LATEST").upper()
        self._made = KinesisStreamsSource(
            Kinesis(given),
            names,
            decoder,
            start,
            instant(given.get(_SINCE)) if start == "AT_TIMESTAMP" else None,
            discovery_ms=int(given.get(_DISCOVERY, "10000")),
            most=int(given.get(_MOST, "10000")),
            pause_ms=int(given.get(_PAUSE, str(DEFAULT_PAUSE_MS))),
            empty_pause_ms=int(given.get(_PAUSE, str(DEFAULT_PAUSE_MS))),
        )

    @property
    def _source(self) -> KinesisStreamsSource:
        return self._made

    def set_shard_assigner(self, shard_assigner: KinesisShardAssigner) -> FlinkKinesisConsumer:
        """Shards go round; nothing changes."""
        return self

    def set_periodic_watermark_assigner(self, periodic_watermark_assigner: Any) -> FlinkKinesisConsumer:
        """:raises NotImplementedError: always; a strategy does the same, for each shard."""
        raise NotImplementedError(
            "FlinkKinesisConsumer.set_periodic_watermark_assigner; nearest: env.from_source(consumer, "
            "WatermarkStrategy..., name), which makes watermarks for each shard, too"
        )

    def set_watermark_tracker(self, watermark_tracker: WatermarkTracker) -> FlinkKinesisConsumer:
        """:raises NotImplementedError: always; strategies align shards."""
        raise NotImplementedError(
            "FlinkKinesisConsumer.set_watermark_tracker; nearest: env.from_source(consumer, "
            "WatermarkStrategy....with_watermark_alignment(group, drift), name)"
        )


def instant(text: str | None) -> int:
    """ms of a time as properties have it: seconds since the epoch, or ISO 8601.

    :raises ValueError: it is none.
    """
    if text is None:
        raise ValueError(f"'{_START}' = 'AT_TIMESTAMP' needs '{_SINCE}'")
    try:
        return int(float(text) * 1000)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        like = "seconds since the epoch, or like 2024-05-01T12:00:00.000+00:00"
        raise ValueError(f"{text!r} is no time: {like}") from None
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return int(found.timestamp() * 1000)
