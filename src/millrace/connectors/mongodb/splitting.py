"""Parts of a collection, by ranges of ``_id`` that are read side by side."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from millrace.connectors.mongodb.connection import Connected, library

logger = logging.getLogger(__name__)

MEGABYTE = 1 << 20
STRATEGIES = ("default", "single", "sample", "split-vector", "sharded", "pagination")


@dataclass(frozen=True)
class Splitting:
    """How a collection is cut."""

    strategy: str = "default"
    """one of STRATEGIES"""
    size: int = 64 * MEGABYTE
    """bytes of a part"""
    samples: int = 10
    """that are taken for each part, where samples are"""
    records: int | None = None
    """of a part, where documents are counted; None: by the size"""


@dataclass(frozen=True)
class MongoPart:
    """A range of ``_id`` that is still to be read."""

    split_id: str
    low: Any = None
    """the first value; None: from the beginning"""
    high: Any = None
    """the value after the last one; None: to the end"""

    def condition(self) -> dict[str, Any] | None:
        # Comparisons of expressions go by the order of all of BSON's types; others would see one type only.
        bounds: list[Any] = []
        if self.low is not None:
            bounds.append({"$gte": ["$_id", {"$literal": self.low}]})
        if self.high is not None:
            bounds.append({"$lt": ["$_id", {"$literal": self.high}]})
        return {"$expr": {"$and": bounds}} if bounds else None


def parts(connection: Connected, splitting: Splitting) -> list[MongoPart]:
    """The parts of a collection as it is now; documents that come later are in one of them, too."""
    bounds = _bounds(connection, splitting)
    ends: list[Any] = [None, *bounds, None]
    return [MongoPart(str(number), low, high) for number, (low, high) in enumerate(pairwise(ends))]


def _bounds(connection: Connected, splitting: Splitting) -> Sequence[Any]:
    strategy = splitting.strategy
    if strategy == "single":
        return ()
    if strategy in ("default", "sharded"):
        chunks = _chunks(connection)
        if chunks is not None:
            return chunks
        if strategy == "sharded":
            logger.warning("%s is not sharded by its _id: it is read in one part", connection.collection.full_name)
            return ()
        strategy = "split-vector"
    if strategy == "split-vector":
        found = _split_vector(connection, splitting)
        if found is not None:
            return found
        strategy = "sample"  # which every server lets every reader do
    statistics = _statistics(connection)
    count, size = int(statistics.get("count", 0)), int(statistics.get("size", 0))
    if not count or not size:
        return ()
    records = splitting.records or max(1, int(splitting.size * count / size))
    number = math.ceil(count / records)
    if number <= 1:
        return ()
    return _counted(connection, records) if strategy == "pagination" else _sampled(connection, splitting, number)


def _statistics(connection: Connected) -> dict[str, Any]:
    errors = library().errors
    try:
        found: dict[str, Any] = connection.database.command("collStats", connection.collection.name)
    except errors.OperationFailure as error:  # a view
        logger.warning("%s is read in one part: %s", connection.collection.full_name, error)
        return {}
    return found


def _chunks(connection: Connected) -> list[Any] | None:
    """Where the chunks of a sharded collection begin; None: it is not sharded by its ``_id``, or may not be seen."""
    errors = library().errors
    configuration = connection.client["config"]
    try:
        sharded = configuration["collections"].find_one({"_id": connection.collection.full_name})
        if not sharded or sharded.get("dropped") or list(sharded.get("key", {})) != ["_id"]:
            return None
        which = {"uuid": sharded["uuid"]} if "uuid" in sharded else {"ns": connection.collection.full_name}
        chunks = configuration["chunks"].find(which, {"min": 1}).sort("min", 1)
        return [chunk["min"]["_id"] for chunk in chunks][1:]
    except errors.OperationFailure:
        return None


def _split_vector(connection: Connected, splitting: Splitting) -> list[Any] | None:
    """None: the server has no such command, or does not let this user call it."""
    errors = library().errors
    try:
        answer = connection.database.command(
            "splitVector",
            connection.collection.full_name,
            keyPattern={"_id": 1},
            maxChunkSizeBytes=splitting.size,
        )
    except errors.OperationFailure as error:
        logger.info("splitVector: %s; samples are taken instead", error)
        return None
    return [key["_id"] for key in answer.get("splitKeys", ())]


def _sampled(connection: Connected, splitting: Splitting, number: int) -> list[Any]:
    stages = [{"$sample": {"size": splitting.samples * number}}, {"$project": {"_id": 1}}, {"$sort": {"_id": 1}}]
    found = [each["_id"] for each in connection.collection.aggregate(stages, allowDiskUse=True)]
    return _different(found[splitting.samples :: splitting.samples][: number - 1])


def _counted(connection: Connected, records: int) -> list[Any]:
    bounds: list[Any] = []
    found = connection.collection.find({}, {"_id": 1}).sort("_id", 1)
    for place, document in enumerate(found):
        if place and place % records == 0:
            bounds.append(document["_id"])
    return bounds


def _different(bounds: Sequence[Any]) -> list[Any]:
    return [bound for place, bound in enumerate(bounds) if not place or bound != bounds[place - 1]]
