"""READ_CSV and the like in FROM: files by their path."""

from __future__ import annotations

from millrace.relational.nodes import Rel
from millrace.relational.rex import Literal
from millrace.table.sql import nodes
from millrace.table.sql.binding.constants import fold
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.relations.from_clause import From
from millrace.table.sql.binding.relations.table_functions import table_function
from millrace.table.sql.binding.relations.tables import table_plan
from millrace.table.sql.binding.scopes import Scope

FORMATS = {
    "READ_FILE": None,
    "READ_AVRO": "avro",
    "READ_CSV": "csv",
    "READ_JSON": "json",
    "READ_ORC": "orc",
    "READ_PARQUET": "parquet",
}
"""function -> the format that it reads; None: by the ending of the path"""


@table_function(*FORMATS)
def _read(call: nodes.Call, at: From) -> Rel:
    name = call.name.upper()
    block = at.block(Scope(), "an argument")
    path = fold(bind(call.expressions[0], block), block.zone) if len(call.expressions) == 1 else None
    if not isinstance(path, Literal) or not isinstance(path.value, str):
        fail(call, f"usage: {name}('path of a file, a folder or a pattern')")
    return table_plan(at.environment.resolver.file(path.value, FORMATS[name]), at.environment)
