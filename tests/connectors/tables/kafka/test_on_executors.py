"""Records of a table that cannot be read, on three executors that are all killed: none is lost, each counts once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from tests.cluster.tables.test_tables import ALL, OUT, Statements
from tests.connectors.kafka.topics import Topics
from tests.connectors.tables.kafka.topic_tables import BOUNDED

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(900)]

RECORDS = 450


class ReadsTopic(Statements):
    """It has begun when there are dead letters."""

    topics: Topics
    letters: str

    def has_begun(self) -> bool:
        return bool(self.topics.read(self.letters))


def test_what_cannot_be_read_is_in_the_other_topic_and_counts_once(topics: Topics, tmp_path: Path) -> None:
    topic, letters = topics.create(3), topics.create(1)
    records = [f'{{"id": {at}}}' if at % 7 else f'{{"id": "no number {at}"}}' for at in range(RECORDS)]
    for partition in range(3):
        topics.write(topic, records[partition::3], partition)
    table = (
        f"CREATE TABLE t (id BIGINT) WITH ('connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json', "
        f"'properties.bootstrap.servers' = '{topics.bootstrap}', 'scan.dead-letter.topic' = '{letters}', {BOUNDED})"
    )
    run = ReadsTopic(tmp_path, table, OUT, "INSERT INTO s SELECT SLOW(id, 10) FROM t")
    run.topics, run.letters = topics, letters
    run.survives(ALL)
    assert run.lines(run.out / "rows", 1) == Counter((at,) for at in range(RECORDS) if at % 7)
    assert set(topics.values(letters)) == set(records[::7]), "those of lost epochs are there twice"
    (said,) = set(re.findall(r"is FINISHED(.*)", run.said()))
    assert f"{len(records[::7])} " in said, said
