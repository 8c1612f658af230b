"""Arithmetic, comparison, logic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.table.expression_methods.base import Unary, _Handle, built_in, node_of, present
from millrace.table.sql import nodes

if TYPE_CHECKING:
    from millrace.table.expression_methods.expression import Expression


class _Numbers(_Handle):
    exp = Unary("EXP", "exp")
    log10 = Unary("LOG10", "log10")
    log2 = Unary("LOG2", "log2")
    ln = Unary("LN", "ln")
    cosh = Unary("COSH", "cosh")
    sinh = Unary("SINH", "sinh")
    sin = Unary("SIN", "sin")
    cos = Unary("COS", "cos")
    tan = Unary("TAN", "tan")
    cot = Unary("COT", "cot")
    asin = Unary("ASIN", "asin")
    acos = Unary("ACOS", "acos")
    atan = Unary("ATAN", "atan")
    tanh = Unary("TANH", "tanh")
    degrees = Unary("DEGREES", "degrees", doc="Radians as degrees.")
    radians = Unary("RADIANS", "radians", doc="Degrees as radians.")
    sqrt = Unary("SQRT", "sqrt")
    abs = Unary("ABS", "abs")
    sign = Unary("SIGN", "sign")
    bin = Unary("BIN", "bin", doc="The binary digits of a whole number.")
    hex = Unary("HEX", "hex", doc="A number or text in hexadecimal digits.")
    unhex = Unary("UNHEX", "UNHEX", doc="The bytes that hexadecimal digits stand for.")
    is_null = Unary("IS NULL", "isNull", doc="Whether the value is NULL.")
    is_not_null = Unary("IS NOT NULL", "isNotNull", doc="Whether the value is not NULL.")
    is_true = Unary("IS TRUE", "isTrue", doc="TRUE for TRUE only.")
    is_false = Unary("IS FALSE", "isFalse", doc="TRUE for FALSE only.")
    is_not_true = Unary("IS NOT TRUE", "isNotTrue", doc="TRUE for FALSE and NULL.")
    is_not_false = Unary("IS NOT FALSE", "isNotFalse", doc="TRUE for TRUE and NULL.")

    def __abs__(self) -> Expression[Any]:
        return self.abs

    def __eq__(self, other: object) -> Expression[Any]:  # type: ignore[override]
        return self._apply("=", "equals", other)

    def __ne__(self, other: object) -> Expression[Any]:  # type: ignore[override]
        return self._apply("<>", "notEquals", other)

    def __lt__(self, other: Any) -> Expression[Any]:
        return self._apply("<", "lessThan", other)

    def __gt__(self, other: Any) -> Expression[Any]:
        return self._apply(">", "greaterThan", other)

    def __le__(self, other: Any) -> Expression[Any]:
        return self._apply("<=", "lessThanOrEqual", other)

    def __ge__(self, other: Any) -> Expression[Any]:
        return self._apply(">=", "greaterThanOrEqual", other)

    def __and__(self, other: Any) -> Expression[Any]:
        return self._apply("AND", "and", other)

    def __or__(self, other: Any) -> Expression[Any]:
        return self._apply("OR", "or", other)

    def __rand__(self, other: Any) -> Expression[Any]:
        return self.__and__(other)

    def __ror__(self, other: Any) -> Expression[Any]:
        return self.__or__(other)

    def __invert__(self) -> Expression[Any]:
        """As in PyFlink: TRUE for FALSE and NULL. ``not_`` keeps NULL."""
        return self.is_not_true

    def __add__(self, other: Any) -> Expression[Any]:
        return self._apply("+", "plus", other)

    def __sub__(self, other: Any) -> Expression[Any]:
        return self._apply("-", "minus", other)

    def __mul__(self, other: Any) -> Expression[Any]:
        return self._apply("*", "times", other)

    def __truediv__(self, other: Any) -> Expression[Any]:
        return self._apply("/", "divide", other)

    def __mod__(self, other: Any) -> Expression[Any]:
        return self._apply("%", "mod", other)

    def __pow__(self, other: Any) -> Expression[Any]:
        return self._apply("POWER", "power", other)

    def __neg__(self) -> Expression[Any]:
        return self._new(nodes.Neg(self._node))

    def __pos__(self) -> Expression[Any]:
        return self._new(self._node)

    def _on_the_right(self, other: Any) -> Expression[Any]:
        return self._new(node_of(other))

    def __radd__(self, other: Any) -> Expression[Any]:
        return self._on_the_right(other) + self

    def __rsub__(self, other: Any) -> Expression[Any]:
        return self._on_the_right(other) - self

    def __rmul__(self, other: Any) -> Expression[Any]:
        return self.__mul__(other)

    def __rtruediv__(self, other: Any) -> Expression[Any]:
        return self._on_the_right(other) / self

    def __rmod__(self, other: Any) -> Expression[Any]:
        return self._on_the_right(other) % self

    def __rpow__(self, other: Any) -> Expression[Any]:
        return self._on_the_right(other) ** self

    def log(self, base: Any = None) -> Expression[Any]:
        """The natural logarithm, or that to a base.

            >>> next(orders.select(lit(8).log(2)).execute().collect())
            <Row(3.0)>
        """
        return self._new(built_in("LOG", "log", *present(base), self._node))

    def round(self, places: int | Expression[Any]) -> Expression[Any]:
        """Rounded to ``places`` digits after the point."""
        return self._apply("ROUND", "round", places)

    def truncate(self, n: int | Expression[Any] = 0) -> Expression[Any]:
        """Cut to ``n`` digits after the point."""
        return self._apply("TRUNCATE", "truncate", n)

    def between(self, lower_bound: Any, upper_bound: Any) -> Expression[Any]:
        """Whether the value lies within the bounds, both included.

            >>> list(orders.filter(col("amount").between(2, 3)).select(col("amount")).execute().collect())
            [<Row(2)>, <Row(3)>]
        """
        return self._new(nodes.Between(self._node, node_of(lower_bound), node_of(upper_bound)))

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Expression[Any]:
        """Outside of the bounds."""
        return self._new(nodes.Not(self.between(lower_bound, upper_bound)._node))

    def then(self, if_true: Any, if_false: Any) -> Expression[Any]:
        """One value where this condition is TRUE, else the other."""
        return self._new(nodes.Case(ifs=(nodes.If(self._node, node_of(if_true)),), default=node_of(if_false)))

    def if_null(self, null_replacement: Any) -> Expression[Any]:
        """This value, or a replacement for NULL."""
        return self._apply("IFNULL", "IFNULL", null_replacement)

    def elt(self, expr: Any, *exprs: Any) -> Expression[Any]:
        """The argument at this position, counted from 1."""
        return self._apply("ELT", "ELT", expr, *exprs)

    def percentile(self, percentage: Any, frequency: Any = None) -> Expression[Any]:
        """The exact percentile (an aggregate), with how often each value counts."""
        return self._apply("PERCENTILE", "PERCENTILE", percentage, *present(frequency))
