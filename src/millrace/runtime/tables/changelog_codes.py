"""Converts between the kinds of rows and codes in a column: TO_CHANGELOG and FROM_CHANGELOG."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types import RowKind
from millrace.relational.rows import Rows
from millrace.runtime.tables.base import TableConfig, TableOperator


@dataclass(frozen=True, kw_only=True)
class KindsToCodes(TableConfig):
    """The output is the code of each row's kind, then its columns; every row is an insertion. Rows of other kinds are
    dropped."""

    codes: tuple[tuple[str, str], ...]
    """(name of a ``RowKind``, its code)"""

    def operator(self) -> KindsToCodesOperator:
        return KindsToCodesOperator(self)


class KindsToCodesOperator(TableOperator[KindsToCodes]):
    def receive(self, rows: Rows, input: int) -> None:
        codes = {RowKind[name].value: code for name, code in self.config.codes}
        kinds = rows.kind_values()
        wanted = np.isin(kinds, list(codes))
        rows, kinds = rows.where(wanted), kinds[wanted]
        column = pa.array([codes[kind] for kind in kinds.tolist()], pa.string())
        self.emit_columns([column, *rows.columns], len(rows))


@dataclass(frozen=True, kw_only=True)
class CodesToKinds(TableConfig):
    """The output is the rows without their code column, with the kinds that the codes stand for."""

    op: int
    codes: tuple[tuple[str, str], ...]
    """(code, name of a ``RowKind``)"""
    skip: bool = False
    """whether rows with unknown codes are dropped and counted (``numInvalidOpRecordsDropped``); else they are errors"""

    def operator(self) -> CodesToKindsOperator:
        return CodesToKindsOperator(self)


class CodesToKindsOperator(TableOperator[CodesToKinds]):
    def open(self) -> None:
        super().open()
        self._dropped = self.context.runtime.get_metrics_group().counter("numInvalidOpRecordsDropped")

    def receive(self, rows: Rows, input: int) -> None:
        config = self.config
        known = pa.array([code for code, _ in config.codes], pa.string())
        places = pc.index_in(rows.batch.column(config.op), known)
        if places.null_count:
            if not config.skip:
                code = rows.batch.column(config.op).filter(places.is_null())[0].as_py()
                raise ValueError(
                    f"FROM_CHANGELOG: a row has the operation code {code!r}, and those that are known are "
                    f"{', '.join(known.to_pylist())}: add it to op_mapping, or set invalid_op_handling => 'SKIP'"
                )
            self._dropped.inc(places.null_count)
            rows, places = rows.where(places.is_valid()), places.drop_null()
        kinds = np.array([RowKind[name].value for _, name in config.codes], np.uint8)[places.to_numpy()]
        columns = [column for place, column in enumerate(rows.columns) if place != config.op]
        changed = rows.with_columns(columns)
        self.emit_rows(Rows(changed.batch, kinds if kinds.any() else None))
