"""What the session knows: CURRENT_DATABASE."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import STRING, takes
from millrace.relational.rex import Call


@scalar("CURRENT_DATABASE", takes(result=STRING, nullable=False), dynamic=True)
def _current_database(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pa.scalar(around.database, pa.string())
