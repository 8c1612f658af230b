"""Aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.table.expression_methods.base import Unary, _Handle, present
from millrace.table.queries import unbound as u

if TYPE_CHECKING:
    from millrace.table.expression import Expression


class _Aggregates(_Handle):
    sum = Unary("SUM", "sum", aggregate=True, doc="The sum; NULL of nothing.")
    sum0 = Unary("$SUM0", "sum0", aggregate=True, doc="The sum; 0 of nothing.")
    min = Unary("MIN", "min", aggregate=True)
    max = Unary("MAX", "max", aggregate=True)
    count = Unary("COUNT", "count", aggregate=True, doc="The number of values that are not NULL.")
    avg = Unary("AVG", "avg", aggregate=True)
    first_value = Unary("FIRST_VALUE", "first_value", aggregate=True)
    last_value = Unary("LAST_VALUE", "last_value", aggregate=True)
    stddev_pop = Unary("STDDEV_POP", "stddevPop", aggregate=True)
    stddev_samp = Unary("STDDEV_SAMP", "stddevSamp", aggregate=True)
    var_pop = Unary("VAR_POP", "varPop", aggregate=True)
    var_samp = Unary("VAR_SAMP", "varSamp", aggregate=True)
    collect = Unary("COLLECT", "collect", aggregate=True, doc="All values as a MULTISET.")
    array_agg = Unary("ARRAY_AGG", "ARRAY_AGG", aggregate=True, doc="All values as an ARRAY.")

    def list_agg(self, separator: str | Expression[Any] | None = None) -> Expression[Any]:
        """All values as one text."""
        return self._aggregate("LISTAGG", "listAgg", *present(separator))

    @property
    def distinct(self) -> Expression[Any]:
        """This aggregate over different values only: ``col("a").sum.distinct``."""
        return self._new(u.Distinct(self._node))
