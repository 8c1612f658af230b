"""Shards: what Kinesis and DynamoDB call the parts of a stream, how each is asked, and how to reach Amazon: the
properties of Flink's connectors, for boto3.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

from millrace.connectors.messages import Message

_MISSING = "boto3 can't be imported, which the Kinesis connector needs: pip install 'millrace-streaming[kinesis]' ({})"
_CREDENTIALS = ("aws.credentials.provider.", "aws.credentials.")
"""what stands before a credential's name: in properties, in options of tables"""
CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 20.0
ATTEMPTS = 3


def boto3() -> Any:
    """The client library. :raises ImportError: it is not installed."""
    try:
        import boto3 as found
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


def _patience() -> Any:
    """Otherwise an endpoint that is silent would be noticed after five minutes only."""
    from botocore.config import Config

    return Config(
        connect_timeout=CONNECT_SECONDS, read_timeout=ANSWER_SECONDS, retries={"total_max_attempts": ATTEMPTS}
    )


def client(service: str, properties: Mapping[str, str]) -> Any:
    """A client of boto3, which several threads may use.

    :raises ValueError: a property that is none, or that Python cannot follow.
    """
    session = _session(properties)
    more: dict[str, Any] = {"config": _patience()}
    if properties.get("aws.endpoint"):
        more["endpoint_url"] = properties["aws.endpoint"]
    if properties.get("aws.trust.all.certificates", "").lower() == "true":
        more["verify"] = False
    return session.client(service, **more)


def _session(properties: Mapping[str, str]) -> Any:
    def credential(name: str) -> str | None:
        found = [properties[prefix + name] for prefix in _CREDENTIALS if prefix + name in properties]
        return found[0] if found else None

    library = boto3()
    region = properties.get("aws.region")
    key, secret = credential("basic.accesskeyid"), credential("basic.secretkey")
    provider = properties.get("aws.credentials.provider", "BASIC" if key else "AUTO").upper()
    if provider == "BASIC":
        if not key or not secret:
            raise ValueError(
                "'aws.credentials.provider' = 'BASIC' needs an access key and a secret: "
                "'aws.credentials.basic.accesskeyid' and 'aws.credentials.basic.secretkey'"
            )
        return library.Session(aws_access_key_id=key, aws_secret_access_key=secret, region_name=region)
    if provider == "PROFILE":
        if credential("profile.path"):
            raise ValueError("a profile's path is given by AWS_SHARED_CREDENTIALS_FILE, not by a property")
        return library.Session(profile_name=credential("profile.name"), region_name=region)
    if provider in ("AUTO", "ENV_VAR", "WEB_IDENTITY_TOKEN"):
        return library.Session(region_name=region)  # boto3 looks at the same places
    if provider == "ASSUME_ROLE":
        return _assumed(library.Session(region_name=region), credential, region)
    raise ValueError(
        f"'aws.credentials.provider' = '{provider}' is for Java; there are AUTO, BASIC, PROFILE, ENV_VAR, "
        "WEB_IDENTITY_TOKEN and ASSUME_ROLE"
    )


def _assumed(session: Any, credential: Any, region: str | None) -> Any:
    """A session in a role, which takes new credentials by itself before its own end."""
    from botocore.credentials import DeferredRefreshableCredentials
    from botocore.session import get_session

    role = credential("role.arn")
    if not role:
        raise ValueError("'aws.credentials.provider' = 'ASSUME_ROLE' needs 'aws.credentials.role.arn'")
    more = {"ExternalId": credential("role.externalId")} if credential("role.externalId") else {}
    endpoint = credential("role.stsEndpoint")

    def taken() -> dict[str, str]:
        answer = session.client("sts", endpoint_url=endpoint).assume_role(
            RoleArn=role, RoleSessionName=credential("role.sessionName") or "millrace", **more
        )["Credentials"]
        return {
            "access_key": answer["AccessKeyId"],
            "secret_key": answer["SecretAccessKey"],
            "token": answer["SessionToken"],
            "expiry_time": answer["Expiration"].isoformat(),
        }

    inner = get_session()
    inner._credentials = DeferredRefreshableCredentials(taken, "assume-role")
    return boto3().Session(botocore_session=inner, region_name=region)


_AGGREGATED = b"\xf3\x89\x9a\xc2"
"""what records of the Kinesis Producer Library begin with that hold several"""


@dataclass(frozen=True)
class Shard:
    """
    :ivar parents: shards that were split or merged into this one; they come first.
    """

    stream: str
    id: str
    parents: tuple[str, ...] = ()
    open: bool = True


@dataclass(frozen=True)
class ShardSplit:
    """A shard and how far it is read.

    :ivar after: the sequence number of the last record that was read; None: none was.
    :ivar since: ms: where reading begins if ``after`` is None; None: at the oldest record.
    """

    stream: str
    shard: str
    after: str | None = None
    since: int | None = None

    @property
    def split_id(self) -> str:
        return f"{self.stream} {self.shard}"


@dataclass(frozen=True)
class Answer:
    """
    :ivar next: the iterator to go on with; None: the shard is closed, and this was all of it.
    """

    messages: list[Message]
    sequences: list[str]
    next: str | None


class ShardService(ABC):
    """Asks for the shards of streams, and for their records. Pickled into the tasks, where it connects."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = dict(properties)
        self._connected: Any = None

    name: str
    sequence_parameter = "StartingSequenceNumber"

    @property
    def _client(self) -> Any:
        if self._connected is None:
            self._connected = client(self.name, self._properties)
        return self._connected

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connected": None}

    @property
    def errors(self) -> Any:
        """The service's exceptions."""
        return self._client.exceptions

    @abstractmethod
    def shards(self, stream: str) -> list[Shard]:
        """All shards that hold records. :raises ValueError: there is no such stream."""

    def iterator(self, split: ShardSplit) -> str:
        """Where the records begin that follow. :raises ValueError: they are not there any more."""
        how: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
        if split.after is not None:
            how = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", self.sequence_parameter: split.after}
        elif split.since is not None:
            how = self._since(split.since)
        answer = self._client.get_shard_iterator(**self._named(split.stream), ShardId=split.shard, **how)
        return str(answer["ShardIterator"])

    def _since(self, time: int) -> dict[str, Any]:
        return {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": datetime.fromtimestamp(time / 1000, timezone.utc)}

    def _asked_of(self, stream: str) -> dict[str, str]:
        """What a request for records says of the stream, beside the iterator."""
        return {}

    @abstractmethod
    def _named(self, stream: str) -> dict[str, str]:
        """A stream as a parameter."""

    def records(self, split: ShardSplit, iterator: str, most: int) -> Answer:
        answer = self._client.get_records(ShardIterator=iterator, Limit=most, **self._asked_of(split.stream))
        records = answer["Records"]
        sequences = [self._sequence(each) for each in records]
        messages = [self._message(split, each) for each in records]
        return Answer(messages, sequences, answer.get("NextShardIterator"))

    @abstractmethod
    def _sequence(self, record: Any) -> str: ...

    @abstractmethod
    def _message(self, split: ShardSplit, record: Any) -> Message: ...


class Kinesis(ShardService):
    """Streams by their names or ARNs."""

    name = "kinesis"

    def _named(self, stream: str) -> dict[str, str]:
        return {"StreamARN" if stream.startswith("arn:") else "StreamName": stream}

    def _asked_of(self, stream: str) -> dict[str, str]:
        return self._named(stream) if stream.startswith("arn:") else {}

    def shards(self, stream: str) -> list[Shard]:
        found: list[Any] = []
        how: dict[str, Any] = self._named(stream)
        try:
            while True:
                answer = self._client.list_shards(**how)
                found += answer["Shards"]
                if not answer.get("NextToken"):
                    break
                how = {"NextToken": answer["NextToken"]}
        except self.errors.ResourceNotFoundException:
            raise ValueError(f"there is no Kinesis stream {stream!r}") from None
        return [
            Shard(
                stream,
                each["ShardId"],
                tuple(each[name] for name in ("ParentShardId", "AdjacentParentShardId") if each.get(name)),
                "EndingSequenceNumber" not in each["SequenceNumberRange"],
            )
            for each in found
        ]

    def _sequence(self, record: Any) -> str:
        return str(record["SequenceNumber"])

    def _message(self, split: ShardSplit, record: Any) -> Message:
        place = f"stream {split.stream!r}, {split.shard}, sequence number {record['SequenceNumber']}"
        data = bytes(record["Data"])
        if data.startswith(_AGGREGATED):
            raise ValueError(
                f"{place} holds several records that the Kinesis Producer Library has put together, which is not "
                "supported: set AggregationEnabled=false where they are written"
            )
        arrived = record.get("ApproximateArrivalTimestamp")
        time = None if arrived is None else int(arrived.timestamp() * 1000)
        known = {"timestamp": time, "shard-id": split.shard, "sequence-number": record["SequenceNumber"]}
        key = record["PartitionKey"]
        return Message(data, place, time, {**known, "partition-key": key, "stream": split.stream})


class DynamoDbStreams(ShardService):
    """The changes of tables, by the ARNs of their streams; each change is a JSON object as Amazon describes it."""

    name = "dynamodbstreams"
    sequence_parameter = "SequenceNumber"

    def _named(self, stream: str) -> dict[str, str]:
        return {"StreamArn": stream}

    def _since(self, time: int) -> dict[str, Any]:
        # There is no beginning by time: what comes from now on.
        return {"ShardIteratorType": "LATEST"}

    def shards(self, stream: str) -> list[Shard]:
        found: list[Any] = []
        how: dict[str, Any] = {}
        try:
            while True:
                answer = self._client.describe_stream(StreamArn=stream, **how)["StreamDescription"]
                found += answer["Shards"]
                if not answer.get("LastEvaluatedShardId"):
                    break
                how = {"ExclusiveStartShardId": answer["LastEvaluatedShardId"]}
        except self.errors.ResourceNotFoundException:
            raise ValueError(f"there is no DynamoDB stream {stream!r}") from None
        return [
            Shard(
                stream,
                each["ShardId"],
                (each["ParentShardId"],) if each.get("ParentShardId") else (),
                "EndingSequenceNumber" not in each.get("SequenceNumberRange", {}),
            )
            for each in found
        ]

    def _sequence(self, record: Any) -> str:
        return str(record["dynamodb"]["SequenceNumber"])

    def _message(self, split: ShardSplit, record: Any) -> Message:
        place = f"stream {split.stream!r}, {split.shard}, sequence number {self._sequence(record)}"
        made = record["dynamodb"].get("ApproximateCreationDateTime")
        time = None if made is None else int(made.timestamp() * 1000)
        known = {"timestamp": time, "shard-id": split.shard, "sequence-number": self._sequence(record)}
        return Message(json.dumps(record, default=_plain).encode(), place, time, known)


def _plain(value: Any) -> Any:
    """What JSON does not have."""
    if isinstance(value, datetime):
        return int(value.timestamp() * 1000)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.decode("latin-1")
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def parents_first(shards: Sequence[Shard], finished: set[str], known: set[str]) -> list[Shard]:
    """Shards that are not known yet and whose parents, as far as they are there, are finished."""
    there = {each.id for each in shards}
    return [
        each
        for each in shards
        if f"{each.stream} {each.id}" not in known
        and all(parent not in there or f"{each.stream} {parent}" in finished for parent in each.parents)
    ]
