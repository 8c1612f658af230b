"""Streams of a test, on a stand-in for Amazon's service."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

import boto3

KEYS = {"aws.credentials.basic.accesskeyid": "test", "aws.credentials.basic.secretkey": "test"}


class Streams:
    def __init__(self, url: str) -> None:
        self.properties = {"aws.region": "eu-west-1", "aws.endpoint": url, **KEYS}
        self.kinesis = self.client("kinesis")

    def client(self, service: str) -> Any:
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-west-1")
        return session.client(service, endpoint_url=self.properties["aws.endpoint"])

    def create(self, shards: int) -> str:
        name = f"s-{uuid.uuid4().hex[:8]}"
        self.kinesis.create_stream(StreamName=name, ShardCount=shards)
        self.settled(name)
        return name

    def settled(self, name: str) -> None:
        until = time.monotonic() + 60
        while self.kinesis.describe_stream(StreamName=name)["StreamDescription"]["StreamStatus"] != "ACTIVE":
            assert time.monotonic() < until
            time.sleep(0.05)

    def arn(self, name: str) -> str:
        return str(self.kinesis.describe_stream(StreamName=name)["StreamDescription"]["StreamARN"])

    def write(self, name: str, values: Sequence[str], key: str | None = None) -> None:
        for begin in range(0, len(values), 500):
            records = [{"Data": each.encode(), "PartitionKey": key or each} for each in values[begin : begin + 500]]
            self.kinesis.put_records(StreamName=name, Records=records)

    def read(self, name: str) -> list[tuple[str, str]]:
        """(partition key, value), shard by shard."""
        found = []
        for shard in self.kinesis.list_shards(StreamName=name)["Shards"]:
            how = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = self.kinesis.get_shard_iterator(StreamName=name, **how)["ShardIterator"]
            while iterator is not None:
                answer = self.kinesis.get_records(ShardIterator=iterator, Limit=1000)
                found += [(each["PartitionKey"], each["Data"].decode()) for each in answer["Records"]]
                iterator = answer.get("NextShardIterator") if answer["Records"] else None
        return found

    def delete(self, name: str) -> None:
        self.kinesis.delete_stream(StreamName=name)
