"""Which files a scan reads: those whose path fits, in the partitions that conditions leave."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from millrace.connectors.file_system.enumerate import FileEnumeratorProvider
from millrace.connectors.file_system.listing import FoundFile
from millrace.connectors.tables.filesystem.layout.columns import Layout
from millrace.connectors.tables.filesystem.layout.partitions import partition_values
from millrace.relational.arrow import arrow_type
from millrace.relational.functions.evaluate import Evaluator, repeat
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Rex
from millrace.relational.values import to_arrow


@dataclass(frozen=True)
class TableFiles(FileEnumeratorProvider):
    """Lists the files of a table."""

    layout: Layout = field(kw_only=True)
    default_name: str = ""
    """of the folder of NULL"""
    pattern: str | None = None
    """what the whole path of a file has to match"""
    conditions: tuple[Rex, ...] = ()
    """over the partition columns, numbered as in PARTITIONED BY"""
    zone: str = "UTC"
    """of the session"""

    def files(self, paths: tuple[str, ...], by_time: bool) -> list[FoundFile]:
        try:
            found = super().files(paths, by_time)
        except FileNotFoundError:
            if not self.layout.partition_keys:
                raise
            return []  # before the first row is written there is no folder
        if self.pattern is not None:
            pattern = re.compile(self.pattern)
            found = [file for file in found if pattern.fullmatch(file.path)]
        return self._in_partitions(found) if self.conditions else found

    def _in_partitions(self, files: list[FoundFile]) -> list[FoundFile]:
        """The files of the partitions for which every condition is TRUE."""
        folders = list(dict.fromkeys(map(_folder, files)))
        columns = self.layout.partition_columns
        rows = [partition_values(each + "/", columns, self.default_name, self.layout.table) for each in folders]
        arrays = [to_arrow([row[place] for row in rows], each.type) for place, each in enumerate(columns)]
        evaluator = Evaluator(arrays, Surroundings(len(rows), self.zone))
        kept = set(folders)
        for condition in self.conditions:
            kept &= set(_passing(evaluator, condition, folders))
        return [file for file in files if _folder(file) in kept]


def _folder(file: FoundFile) -> str:
    return file.path.rpartition("/")[0]


def _passing(evaluator: Evaluator, condition: Rex, folders: list[str]) -> list[str]:
    try:
        passes = evaluator.mask(condition).tolist()
    except (ValueError, ArithmeticError):
        # What fails for some partition fails for its rows, too, if they get that far.
        return folders
    return [folder for folder, each in zip(folders, passes) if each]


def constant(value: Any, kind: Any, length: int) -> Any:
    """A column of equal values, given in their Python form."""
    if value is None:
        return pa.nulls(length, arrow_type(kind))
    return repeat(to_arrow([value], kind)[0], length)
