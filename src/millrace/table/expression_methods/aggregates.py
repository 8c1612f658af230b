"""Aggregates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.table.expression_methods.base import Unary, _Handle, present
from millrace.table.sql import nodes

if TYPE_CHECKING:
    from millrace.table.expression_methods.expression import Expression


class _Aggregates(_Handle):
    sum = Unary("SUM", "sum", doc="The sum; NULL of nothing.")
    sum0 = Unary("$SUM0", "sum0", doc="The sum; 0 of nothing.")
    min = Unary("MIN", "min")
    max = Unary("MAX", "max")
    count = Unary("COUNT", "count", doc="The number of values that are not NULL.")
    avg = Unary("AVG", "avg")
    first_value = Unary("FIRST_VALUE", "first_value")
    last_value = Unary("LAST_VALUE", "last_value")
    stddev_pop = Unary("STDDEV_POP", "stddevPop")
    stddev_samp = Unary("STDDEV_SAMP", "stddevSamp")
    var_pop = Unary("VAR_POP", "varPop")
    var_samp = Unary("VAR_SAMP", "varSamp")
    collect = Unary("COLLECT", "collect", doc="All values as a MULTISET.")
    array_agg = Unary("ARRAY_AGG", "ARRAY_AGG", doc="All values as an ARRAY.")

    def list_agg(self, separator: str | Expression[Any] | None = None) -> Expression[Any]:
        """All values as one text."""
        return self._apply("LISTAGG", "listAgg", *present(separator))

    @property
    def distinct(self) -> Expression[Any]:
        """This aggregate over different values only: ``col("a").sum.distinct``.

            >>> list(orders.select(col("name").count.distinct).execute().collect())
            [<Row(2)>]
        """
        node = self._node
        if isinstance(node, nodes.Dot):
            return self._new(replace(node, expression=_distinct(node.expression)))
        return self._new(_distinct(node))


def _distinct(call: nodes.Node) -> nodes.Node:
    if not isinstance(call, nodes.Call):
        return nodes.Distinct((call,))
    return replace(call, expressions=(nodes.Distinct(call.expressions),))
