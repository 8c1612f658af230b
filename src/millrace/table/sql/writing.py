"""Writes syntax trees as Flink SQL: parsing the text gives an equal tree. Each kind of node has its writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch

from millrace.table.sql import nodes
from millrace.table.sql.nodes import Identifier, Node
from millrace.table.sql.text import RESERVED


@singledispatch
def written(node: Node) -> str:
    """The text of a node."""
    raise TypeError(f"{type(node).__name__} has no text")


def listed(nodes: Iterable[Node]) -> str:
    return ", ".join(map(written, nodes))


def after(words: str, node: Node | None) -> str:
    """A clause that begins with these words; an empty text if there is none."""
    return "" if node is None else f"{words}{written(node)}"


def spaced(*parts: str) -> str:
    """Join the parts that are not empty, with a blank between them."""
    return " ".join(filter(None, parts))


def text(value: str) -> str:
    """A text in single quotes."""
    return "'" + value.replace("'", "''") + "'"


def named(name: str, allowed: frozenset[str] = frozenset()) -> str:
    """A name, quoted where it has to be. ``allowed``: keywords that need no quotes."""
    plain = name.isascii() and name.isidentifier() and (name.upper() not in RESERVED or name.upper() in allowed)
    return name if plain else f"`{name.replace('`', '``')}`"


@written.register
def _identifier(node: Identifier) -> str:
    return f"`{node.this.replace('`', '``')}`" if node.quoted else named(node.this)


# Names, literals, operators


@written.register
def _built_in(node: nodes.BuiltIn) -> str:
    if node.this in ("ARRAY", "MAP"):
        return f"{node.this}[{listed(node.expressions)}]"
    first, *rest = map(written, node.expressions)
    if node.this == "ITEM":
        return f"{first}[{rest[0]}]"
    return spaced(first, node.this, " ESCAPE ".join(rest))


@written.register
def _star(node: nodes.Star) -> str:
    return "*"


@written.register
def _var(node: nodes.Var) -> str:
    return node.this


@written.register
def _column(node: nodes.Column) -> str:
    return ".".join(written(part) for part in (node.catalog, node.db, node.table, node.this) if part is not None)


@written.register
def _dot(node: nodes.Dot) -> str:
    return f"{written(node.this)}.{written(node.expression)}"


@written.register
def _literal(node: nodes.Literal) -> str:
    return text(node.this) if node.is_string else node.this


@written.register
def _hex(node: nodes.HexString) -> str:
    return f"x'{node.this}'"


@written.register
def _null(node: nodes.Null) -> str:
    return "NULL"


@written.register
def _boolean(node: nodes.Boolean) -> str:
    return "TRUE" if node.this else "FALSE"


@written.register
def _typed(node: nodes.TypedLiteral) -> str:
    return f"{node.kind} {text(node.this)}"


@written.register
def _interval(node: nodes.IntervalLiteral) -> str:
    # Its type has the precisions that were written; these two units have no type of their own.
    units = node.unit if node.unit in ("WEEK", "QUARTER") else node.data_type.sql().removeprefix("INTERVAL ")
    units = units.replace("SECOND(6)", "SECOND")  # microseconds, which it has without a precision, too
    return f"INTERVAL {'-' * node.negative}{written(node.this)} {units}"


@written.register
def _type(node: nodes.TypeName) -> str:
    return str(node.data_type)


@written.register
def _not(node: nodes.Not) -> str:
    return f"NOT {written(node.this)}"


@written.register
def _neg(node: nodes.Neg) -> str:
    # Two minuses without a blank begin a comment.
    return f"- {written(node.this)}"


@written.register
def _paren(node: nodes.Paren) -> str:
    return f"({written(node.this)})"


@written.register
def _between(node: nodes.Between) -> str:
    symmetric = "SYMMETRIC " * node.symmetric
    return f"{written(node.this)} BETWEEN {symmetric}{written(node.low)} AND {written(node.high)}"


@written.register
def _in(node: nodes.In) -> str:
    return f"{written(node.this)} IN {_compared(node)}"


def _compared(node: nodes.In | nodes.All | nodes.Any) -> str:
    return f"({listed(node.expressions)})" if node.query is None else written(node.query)


@written.register
def _all(node: nodes.All) -> str:
    return f"ALL {_compared(node)}"


@written.register
def _any(node: nodes.Any) -> str:
    return f"ANY {_compared(node)}"


@written.register
def _exists(node: nodes.Exists) -> str:
    return f"EXISTS ({written(node.this)})"


@written.register
def _case(node: nodes.Case) -> str:
    branches = (f"WHEN {written(each.this)} THEN {written(each.true)}" for each in node.ifs)
    return spaced(f"CASE{after(' ', node.this)}", *branches, after("ELSE ", node.default), "END")


@written.register
def _cast(node: nodes.Cast) -> str:
    return f"CAST({written(node.this)} AS {written(node.to)})"


@written.register
def _try_cast(node: nodes.TryCast) -> str:
    return f"TRY_CAST({written(node.this)} AS {written(node.to)})"


@written.register
def _tuple(node: nodes.Tuple) -> str:
    return f"({listed(node.expressions)})"


# Calls

_BARE = {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"}
_KEYWORDS = frozenset({"LEFT", "RIGHT", "ROW", "GROUPING", "ARRAY"})
"""Keywords that are functions as well."""

Form = Callable[[str, Sequence[nodes.Node]], str]
"""A call in its own syntax. Empty if these arguments do not have it."""


def _extract(name: str, arguments: Sequence[nodes.Node]) -> str:
    return f"{name}({written(arguments[0])} FROM {written(arguments[1])})"


def _rounded(name: str, arguments: Sequence[nodes.Node]) -> str:
    return f"{name}({' TO '.join(map(written, arguments))})" if isinstance(arguments[-1], nodes.Var) else ""


def _trim(name: str, arguments: Sequence[nodes.Node]) -> str:
    side, *rest = map(written, arguments)
    return f"{name}({side} {rest[0]} FROM {rest[1]})" if isinstance(arguments[0], nodes.Var) else ""


def _position(name: str, arguments: Sequence[nodes.Node]) -> str:
    return f"{name}({' IN '.join(map(written, arguments))})"


def _overlaps(name: str, arguments: Sequence[nodes.Node]) -> str:
    return f"({listed(arguments[:2])}) OVERLAPS ({listed(arguments[2:])})"


_FORMS: dict[str, Form] = {
    "EXTRACT": _extract,
    "FLOOR": _rounded,
    "CEIL": _rounded,
    "CEILING": _rounded,
    "TRIM": _trim,
    "POSITION": _position,
    "OVERLAPS": _overlaps,
}


@written.register
def _call(node: nodes.Call) -> str:
    if node.this.upper() in _BARE and not node.expressions:
        return node.this
    form = _FORMS.get(node.this.upper())
    special = form(node.this, node.expressions) if form is not None and node.expressions else ""
    return special or f"{named(node.this, _KEYWORDS)}({listed(node.expressions)})"


@written.register
def _distinct(node: nodes.Distinct) -> str:
    return spaced("DISTINCT", listed(node.expressions))


@written.register
def _kwarg(node: nodes.Kwarg) -> str:
    return f"{written(node.this)} => {written(node.expression)}"


@written.register
def _table_argument(node: nodes.TableArgument) -> str:
    partition = f"PARTITION BY ({listed(node.partition_by)})" if node.partition_by else ""
    order = f"ORDER BY ({listed(node.order.expressions)})" if node.order is not None else ""
    return spaced(f"TABLE {written(node.this)}", partition, order)


@written.register
def _model(node: nodes.ModelArgument) -> str:
    return f"MODEL {written(node.this)}"


@written.register
def _descriptor(node: nodes.Descriptor) -> str:
    return f"DESCRIPTOR({listed(node.expressions)})"


@written.register
def _ignore(node: nodes.IgnoreNulls) -> str:
    return f"{written(node.this)} IGNORE NULLS"


@written.register
def _respect(node: nodes.RespectNulls) -> str:
    return f"{written(node.this)} RESPECT NULLS"


@written.register
def _within(node: nodes.WithinGroup) -> str:
    return f"{written(node.this)} WITHIN GROUP ({written(node.expression)})"


@written.register
def _filter(node: nodes.Filter) -> str:
    return f"{written(node.this)} FILTER ({written(node.expression)})"


@written.register
def _final(node: nodes.Final) -> str:
    return f"FINAL {written(node.this)}"


@written.register
def _running(node: nodes.Running) -> str:
    return f"RUNNING {written(node.this)}"


@written.register
def _window(node: nodes.Window) -> str:
    defines = isinstance(node.this, nodes.Identifier)
    partition = f"PARTITION BY {listed(node.partition_by)}" if node.partition_by else ""
    more = spaced(partition, after("", node.order), after("", node.spec))
    alias = after("", node.alias)
    inside = alias if alias and not more and not defines else f"({spaced(alias, more)})"
    return f"{written(node.this)} {'AS' if defines else 'OVER'} {inside}"


@written.register
def _frame(node: nodes.WindowSpec) -> str:
    start, end = _bound(node.start, node.start_side), _bound(node.end, node.end_side)
    return f"{node.kind} BETWEEN {start} AND {end}"


def _bound(value: nodes.Node | str, side: str | None) -> str:
    return spaced(value if isinstance(value, str) else written(value), side or "")


# JSON functions, with all their defaults


@written.register
def _value(node: nodes.JsonValue) -> str:
    empty = _action(node.on_empty, node.empty_default) + " ON EMPTY"
    error = _action(node.on_error, node.error_default) + " ON ERROR"
    return f"JSON_VALUE({spaced(_document(node), after('RETURNING ', node.returning), empty, error)})"


@written.register
def _query(node: nodes.JsonQuery) -> str:
    wrapper = "WITHOUT ARRAY WRAPPER" if node.wrapper == "WITHOUT" else f"WITH {node.wrapper} ARRAY WRAPPER"
    events = f"{node.on_empty} ON EMPTY {node.on_error} ON ERROR"
    return f"JSON_QUERY({spaced(_document(node), after('RETURNING ', node.returning), wrapper, events)})"


@written.register
def _json_exists(node: nodes.JsonExists) -> str:
    return f"JSON_EXISTS({_document(node)} {node.on_error} ON ERROR)"


@written.register
def _entry(node: nodes.JsonEntry) -> str:
    return f"KEY {written(node.this)} VALUE {written(node.expression)}"


@written.register
def _object(node: nodes.JsonObject) -> str:
    return f"JSON_OBJECT({spaced(listed(node.expressions), node.on_null)} ON NULL)"


@written.register
def _object_agg(node: nodes.JsonObjectAgg) -> str:
    return f"JSON_OBJECTAGG({written(node.this)} {node.on_null} ON NULL)"


@written.register
def _array(node: nodes.JsonArray) -> str:
    return f"JSON_ARRAY({spaced(listed(node.expressions), node.on_null)} ON NULL)"


@written.register
def _array_agg(node: nodes.JsonArrayAgg) -> str:
    return f"JSON_ARRAYAGG({written(node.this)} {node.on_null} ON NULL)"


def _document(node: nodes.JsonValue | nodes.JsonQuery | nodes.JsonExists) -> str:
    return f"{written(node.this)}, {written(node.path)}"


def _action(action: str, default: nodes.Node | None) -> str:
    return action if default is None else f"DEFAULT {written(default)}"


# Queries


def _whole(node: nodes.Query, body: str) -> str:
    """A query with what stands before and behind its body."""
    return spaced(after("", node.with_), body, after("", node.order), after("", node.limit), after("", node.offset))


@written.register
def _select(node: nodes.Select) -> str:
    body = spaced(
        "SELECT",
        after("", node.hint),
        after("", node.distinct),
        listed(node.expressions),
        after("FROM ", node.from_ and node.from_.this),
        *map(written, node.joins),
        after("", node.where),
        after("", node.group),
        after("", node.having),
        f"WINDOW {listed(node.windows)}" if node.windows else "",
        after("", node.qualify),
    )
    return _whole(node, body)


@written.register
def _set_operation(node: nodes.SetOperation) -> str:
    word = type(node).__name__.upper() + " ALL" * (not node.distinct)
    return _whole(node, f"{written(node.this)} {word} {written(node.expression)}")


@written.register
def _values(node: nodes.Values) -> str:
    return _whole(node, f"VALUES {listed(node.expressions)}")


@written.register
def _subquery(node: nodes.Subquery) -> str:
    return _whole(node, f"({written(node.this)}){after(' AS ', node.alias)}")


@written.register
def _with(node: nodes.With) -> str:
    return f"WITH {'RECURSIVE ' * node.recursive}{listed(node.expressions)}"


@written.register
def _cte(node: nodes.CTE) -> str:
    return f"{written(node.alias)} AS ({written(node.this)})"


@written.register
def _alias(node: nodes.Alias) -> str:
    return f"{written(node.this)} AS {written(node.alias)}"


@written.register
def _table_alias(node: nodes.TableAlias) -> str:
    return written(node.this) + (f" ({listed(node.columns)})" if node.columns else "")


@written.register
def _ordered(node: nodes.Ordered) -> str:
    nulls = "" if node.nulls_first is None else f" NULLS {'FIRST' if node.nulls_first else 'LAST'}"
    return f"{written(node.this)}{' DESC' * node.desc}{nulls}"


@written.register
def _order(node: nodes.Order) -> str:
    return f"ORDER BY {listed(node.expressions)}"


@written.register
def _limit(node: nodes.Limit) -> str:
    return f"LIMIT {written(node.expression)}"


@written.register
def _offset(node: nodes.Offset) -> str:
    return f"OFFSET {written(node.expression)}"


@written.register
def _where(node: nodes.Where) -> str:
    return f"WHERE {written(node.this)}"


@written.register
def _having(node: nodes.Having) -> str:
    return f"HAVING {written(node.this)}"


@written.register
def _qualify(node: nodes.Qualify) -> str:
    return f"QUALIFY {written(node.this)}"


@written.register
def _group(node: nodes.Group) -> str:
    return f"GROUP BY {'DISTINCT ' if node.distinct else ''}{listed(node.expressions)}"


@written.register
def _grouping_sets(node: nodes.GroupingSets) -> str:
    return f"GROUPING SETS ({listed(node.expressions)})"


@written.register
def _rollup(node: nodes.Rollup) -> str:
    return f"ROLLUP ({listed(node.expressions)})"


@written.register
def _cube(node: nodes.Cube) -> str:
    return f"CUBE ({listed(node.expressions)})"


# FROM and hints


@written.register
def _table(node: nodes.Table) -> str:
    name = ".".join(written(part) for part in (node.catalog, node.db, node.this) if part is not None)
    moment = "" if node.version is None else f"FOR SYSTEM_TIME AS OF {written(node.version.expression)}"
    return spaced(name, *map(written, node.hints), moment, after("AS ", node.alias))


@written.register
def _lateral(node: nodes.Lateral) -> str:
    return f"LATERAL {written(node.this)}{after(' AS ', node.alias)}"


@written.register
def _function(node: nodes.TableFunction) -> str:
    return f"{'LATERAL ' * node.lateral}TABLE({written(node.this)}){after(' AS ', node.alias)}"


@written.register
def _unnest(node: nodes.Unnest) -> str:
    return f"UNNEST({listed(node.expressions)}){' WITH ORDINALITY' * node.offset}{after(' AS ', node.alias)}"


@written.register
def _join(node: nodes.Join) -> str:
    # OUTER is what a side says already.
    kind = "" if node.side else node.kind
    using = f"USING ({listed(node.using)})" if node.using else ""
    words = spaced(node.method or "", node.side or "", kind, "JOIN")
    return spaced(words, written(node.this), after("ON ", node.on), using)


@written.register
def _sampled(node: nodes.Sampled) -> str:
    seed = "" if node.seed is None else f" REPEATABLE ({node.seed})"
    return f"{written(node.this)} TABLESAMPLE {node.method} ({node.percent}){seed}"


@written.register
def _joined(node: nodes.Joined) -> str:
    return f"({spaced(written(node.this), *map(written, node.joins))})"


@written.register
def _hint(node: nodes.Hint) -> str:
    return f"/*+ {listed(node.expressions)} */"


@written.register
def _hint_call(node: nodes.HintCall) -> str:
    return f"{named(node.this)}({listed(node.expressions)})"


@written.register
def _option(node: nodes.PropertyEQ) -> str:
    return f"{written(node.this)} = {written(node.expression)}"


# MATCH_RECOGNIZE


@written.register
def _match(node: nodes.MatchRecognize) -> str:
    pattern = spaced("^" * ("^" in node.anchors), written(node.pattern), "$" * ("$" in node.anchors))
    clauses = spaced(
        f"PARTITION BY {listed(node.partition_by)}" if node.partition_by else "",
        after("", node.order),
        f"MEASURES {listed(node.measures)}" if node.measures else "",
        node.rows,
        node.empty,
        after("", node.after),
        f"PATTERN ({pattern})",
        after("WITHIN ", node.within),
        _definitions("SUBSET", "=", node.subsets),
        _definitions("DEFINE", "AS", node.define),
    )
    return f"{written(node.this)} MATCH_RECOGNIZE ({clauses}){after(' AS ', node.alias)}"


def _definitions(word: str, between: str, items: Sequence[nodes.Alias]) -> str:
    texts = (f"{written(item.alias)} {between} {written(item.this)}" for item in items)
    return f"{word} {', '.join(texts)}" if items else ""


@written.register
def _after(node: nodes.AfterMatch) -> str:
    return f"AFTER MATCH SKIP {node.mode}{after(' ', node.target)}"


@written.register
def _variable(node: nodes.PatternVariable) -> str:
    return written(node.this)


@written.register
def _sequence(node: nodes.PatternSequence) -> str:
    parts = (_grouped(part, nodes.PatternSequence, nodes.PatternAlternation) for part in node.expressions)
    return " ".join(parts) or "()"


@written.register
def _alternation(node: nodes.PatternAlternation) -> str:
    return " | ".join(_grouped(part, nodes.PatternAlternation) for part in node.expressions)


@written.register
def _permutation(node: nodes.PatternPermutation) -> str:
    return f"PERMUTE({listed(node.expressions)})"


@written.register
def _exclusion(node: nodes.PatternExclusion) -> str:
    return f"{{- {written(node.this)} -}}"


@written.register
def _quantifier(node: nodes.PatternQuantifier) -> str:
    part = _grouped(node.this, nodes.PatternSequence, nodes.PatternAlternation, nodes.PatternQuantifier)
    high = "" if node.high is None else node.high
    low = "" if node.without_low else node.low
    return f"{part}{{{low},{high}}}{'?' * node.reluctant}"


def _grouped(part: nodes.Node, *kinds: type[nodes.Node]) -> str:
    """A part, in brackets if it is one of these."""
    text = written(part)
    return f"({text})" if isinstance(part, kinds) and text != "()" else text
