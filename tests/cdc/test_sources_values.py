"""Events in a pipeline's file that cannot be."""

from __future__ import annotations

import pytest
from tests.cdc.running import run

from millrace.cdc.yaml_tree import PipelineError

HEAD = "source:\n  type: values\n  events:\n"
CREATE = "    - {table: a.t, create: {columns: {id: INT, s: STRING}, primary-key: [id]}}\n"


@pytest.mark.parametrize(
    ("events", "line", "said"),
    [
        ("    - {table: a.t, insert: [[1, x]]}\n", 4, "table a.t is not there"),
        ("    - {table: a.t}\n", 4, "one of insert, update"),
        ("    - {table: a..t, drop: true}\n", 4, "an event has 'table'"),
        (CREATE + "    - {table: a.t, inser: [[1, x]]}\n", 5, "did you mean 'insert'"),
        (CREATE + "    - {table: a.t, insert: [[1]]}\n", 5, r"a row has 2 values \(id, s\), not 1"),
        (CREATE + "    - {table: a.t, insert: [[one, x]]}\n", 5, "column id"),
        (CREATE + "    - {table: a.t, update: [[1, x]]}\n", 5, "an old and a new row"),
        (CREATE + "    - {table: a.t, add-column: {name: y, type: NUMBER}}\n", 5, "'type'"),
        ("    - {table: a.t, create: {columns: {id: INT}, primary-key: [no]}}\n", 4, "no column no"),
    ],
)
def test_events_that_cannot_be(events: str, line: int, said: str) -> None:
    with pytest.raises(PipelineError, match=said) as error:
        run(f"{HEAD}{events}sink: {{type: print}}\n")
    assert error.value.line == line
