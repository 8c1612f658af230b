"""Queries: WITH, SELECT, VALUES, set operations, the clauses at their end, what stands in FROM; GROUP BY, TABLESAMPLE,
hints, and MATCH_RECOGNIZE with its patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions
from millrace.table.sql.grammar.expressions import named_window, order_by
from millrace.table.sql.grammar.types import interval
from millrace.table.sql.nodes import (
    AfterMatch,
    HintCall,
    Joined,
    MatchRecognize,
    PatternAlternation,
    PatternExclusion,
    PatternPermutation,
    PatternQuantifier,
    PatternSequence,
    PatternVariable,
    TableFunction,
)
from millrace.table.sql.text import Cursor, Kind, SqlParseError

# GROUP BY


def group_by(cursor: Cursor) -> nodes.Group:
    begin = cursor.index
    cursor.expect("GROUP", "BY")
    distinct = cursor.take_any("ALL", "DISTINCT") == "DISTINCT"
    return cursor.put(nodes.Group(cursor.listed(lambda: _grouping_item(cursor)), distinct), begin)


def _grouping_item(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    if cursor.take("GROUPING", "SETS"):
        return cursor.put(nodes.GroupingSets(expressions=cursor.in_brackets(lambda: _grouping_item(cursor))), begin)
    kind = cursor.take_any("ROLLUP", "CUBE")
    if kind:
        node = nodes.Rollup if kind == "ROLLUP" else nodes.Cube
        return cursor.put(node(expressions=cursor.in_brackets(lambda: _grouping_item(cursor))), begin)
    if cursor.take("(", ")"):
        return cursor.put(nodes.Tuple(expressions=()), begin)
    return expressions.expression(cursor)


# TABLESAMPLE


def sampled(cursor: Cursor, relation: nodes.Node, begin: int) -> nodes.Node:
    """The relation, with the clause if it comes next."""
    if not cursor.take("TABLESAMPLE"):
        return relation
    method = cursor.take_any("BERNOULLI", "SYSTEM")
    if not method:
        cursor.fail_expecting("BERNOULLI or SYSTEM")
    cursor.expect("(")
    percent = cursor.token.text
    if cursor.token.kind is not Kind.NUMBER or Decimal(percent) > 100:
        cursor.fail("TABLESAMPLE takes a number of percent between 0 and 100")
    cursor.advance()
    cursor.expect(")")
    seed = None
    if cursor.take("REPEATABLE"):
        cursor.expect("(")
        seed = -cursor.integer("a seed") if cursor.take("-") else cursor.integer("a seed")
        cursor.expect(")")
    return cursor.put(nodes.Sampled(relation, method, percent, seed), begin)


# Hints


def hints(cursor: Cursor) -> nodes.Hint | None:
    """The hints that come next, if any."""
    begin = cursor.index
    if not cursor.take("/*+"):
        return None
    calls = []
    while not cursor.take("*/"):
        calls.append(_hint(cursor))
        cursor.take(",")
    return cursor.put(nodes.Hint(expressions=tuple(calls)), begin)


def _hint(cursor: Cursor) -> HintCall:
    begin = cursor.index
    name = cursor.name("a name of a hint").upper()
    items: tuple[nodes.Node, ...] = ()
    if cursor.take("(") and not cursor.take(")"):
        items = cursor.listed(lambda: _hint_item(cursor))
        cursor.expect(")")
    return cursor.put(HintCall(this=name, expressions=items), begin)


def _hint_item(cursor: Cursor) -> nodes.Node:
    """``'key' = 'value'``, or a name."""
    begin = cursor.index
    key = cursor.put(nodes.Literal.string(_text(cursor)), begin)
    if not cursor.take("="):
        return key
    at = cursor.index
    value = cursor.put(nodes.Literal.string(_text(cursor)), at)
    return cursor.put(nodes.PropertyEQ(this=key, expression=value), begin)


def _text(cursor: Cursor) -> str:
    if cursor.token.kind in (Kind.STRING, Kind.NUMBER):
        return cursor.advance().text
    return ".".join(cursor.path("a name, or a key in single quotes"))


# MATCH_RECOGNIZE

_EMPTY = {
    "SHOW": ("SHOW", "EMPTY", "MATCHES"),
    "OMIT": ("OMIT", "EMPTY", "MATCHES"),
    "WITH": ("WITH", "UNMATCHED", "ROWS"),
}


def match_recognize(cursor: Cursor, source: nodes.Node, begin: int) -> MatchRecognize:
    """The clause after a relation, which stands at token ``begin``."""
    cursor.expect("MATCH_RECOGNIZE", "(")
    clauses: dict[str, Any] = {"this": source}
    if cursor.take("PARTITION", "BY"):
        clauses["partition_by"] = cursor.listed(lambda: expressions.expression(cursor))
    if cursor.at("ORDER"):
        clauses["order"] = order_by(cursor)
    if cursor.take("MEASURES"):
        clauses["measures"] = cursor.listed(lambda: _measure(cursor))
    clauses |= _ways(cursor)
    if cursor.take("WITHIN"):
        cursor.expect("INTERVAL")
        clauses["within"] = interval(cursor)
    if cursor.take("SUBSET"):
        clauses["subsets"] = cursor.listed(lambda: _subset(cursor))
    cursor.expect("DEFINE")
    clauses["define"] = cursor.listed(lambda: _definition(cursor))
    cursor.expect(")")
    return cursor.put(MatchRecognize(**clauses), begin)


def match_clauses(cursor: Cursor) -> MatchRecognize:
    """The clauses from ONE ROW or ALL ROWS to PATTERN; clauses that are missing stay empty."""
    begin = cursor.index
    clauses = _ways(cursor)
    return cursor.put(MatchRecognize(this=nodes.Var(this="table"), define=(), **clauses), begin)


def _ways(cursor: Cursor) -> dict[str, Any]:
    """Which rows come out, where the search goes on, and the pattern."""
    clauses: dict[str, Any] = {}
    rows = cursor.take_any("ONE", "ALL")
    if rows:
        cursor.expect(*(["ROW"] if rows == "ONE" else ["ROWS"]), "PER", "MATCH")
        clauses["rows"] = f"{rows} {'ROW' if rows == 'ONE' else 'ROWS'} PER MATCH"
    if rows == "ALL" and cursor.at_any("SHOW", "OMIT", "WITH"):
        words = _EMPTY[cursor.token.word]
        cursor.expect(*words)
        clauses["empty"] = " ".join(words)
    if cursor.at("AFTER"):
        clauses["after"] = _after(cursor)
    cursor.expect("PATTERN", "(")
    start = cursor.take("^")
    clauses["pattern"] = _alternation(cursor)
    end = cursor.take("$")
    clauses["anchors"] = "^" * start + "$" * end
    cursor.expect(")")
    return clauses


def _measure(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    value = expressions.expression(cursor)
    cursor.expect("AS")
    return cursor.put(nodes.Alias(this=value, alias=cursor.identifier("a name")), begin)


def _after(cursor: Cursor) -> AfterMatch:
    begin = cursor.index
    cursor.expect("AFTER", "MATCH", "SKIP")
    target = None
    if cursor.take("PAST"):
        cursor.expect("LAST", "ROW")
        mode = "PAST LAST ROW"
    else:
        cursor.expect("TO")
        mode = f"TO {cursor.take_any('NEXT', 'FIRST', 'LAST') or 'LAST'}"
        if mode == "TO NEXT":
            cursor.expect("ROW")
            mode = "TO NEXT ROW"
        else:
            target = cursor.identifier("a variable of the pattern")
    return cursor.put(AfterMatch(mode=mode, target=target), begin)


def _alternation(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    branches = [_sequence(cursor)]
    while cursor.take("|"):
        branches.append(_sequence(cursor))
    return branches[0] if len(branches) == 1 else cursor.put(PatternAlternation(expressions=tuple(branches)), begin)


def _sequence(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    parts = [_part(cursor)]
    while not cursor.at_any("|", ")", "-}", "$", ","):
        parts.append(_part(cursor))
    return parts[0] if len(parts) == 1 else cursor.put(PatternSequence(expressions=tuple(parts)), begin)


def _part(cursor: Cursor) -> nodes.Node:
    """A variable or a group, with its quantifier."""
    begin = cursor.index
    found = _element(cursor, begin)
    without_low = cursor.at("{") and cursor.peek().word == ","
    bounds = _quantifier(cursor)
    if bounds is None:
        return found
    low, high = bounds
    reluctant = cursor.take("?")
    return cursor.put(PatternQuantifier(found, low, high, reluctant, without_low), begin)


def _element(cursor: Cursor, begin: int) -> nodes.Node:
    if cursor.take("{-"):
        inner = _alternation(cursor)
        cursor.expect("-}")
        return cursor.put(PatternExclusion(this=inner), begin)
    if cursor.take("PERMUTE", "("):
        parts = cursor.listed(lambda: _alternation(cursor))
        cursor.expect(")")
        return cursor.put(PatternPermutation(expressions=parts), begin)
    if cursor.take("("):
        if cursor.take(")"):
            return cursor.put(PatternSequence(expressions=()), begin)
        inner = _alternation(cursor)
        cursor.expect(")")
        return inner
    return cursor.put(PatternVariable(this=cursor.identifier("a variable of the pattern")), begin)


def _quantifier(cursor: Cursor) -> tuple[int, int | None] | None:
    """How often at least and at most; None if it is not said."""
    begin = cursor.index
    word = cursor.take_any("*", "+", "?")
    if word:
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[word]
    if not cursor.take("{"):
        return None
    low = 0 if cursor.at(",") else cursor.integer()
    high: int | None = low
    if cursor.take(","):
        high = None if cursor.at("}") else cursor.integer()
    cursor.expect("}")
    if high is not None and high < low:
        cursor.fail(f"at least {low} and at most {high} times is never", begin)
    return low, high


def _subset(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    name = cursor.identifier("a name")
    cursor.expect("=")
    at = cursor.index
    members = cursor.in_brackets(lambda: cursor.identifier("a variable of the pattern"))
    return cursor.put(nodes.Alias(this=cursor.put(nodes.Tuple(expressions=members), at), alias=name), begin)


def _definition(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    name = cursor.identifier("a variable of the pattern")
    cursor.expect("AS")
    return cursor.put(nodes.Alias(this=expressions.expression(cursor), alias=name), begin)


# FROM

_ELSEWHERE = {
    "PIVOT": "aggregate with FILTER (WHERE ..)",
    "UNPIVOT": "use CROSS JOIN UNNEST(ARRAY[ROW(..), ..])",
}


def from_clause(cursor: Cursor) -> nodes.From:
    begin = cursor.index
    cursor.expect("FROM")
    return cursor.put(nodes.From(this=relation(cursor)), begin)


def joins(cursor: Cursor) -> tuple[nodes.Join, ...]:
    """All joins after the first relation of FROM; a comma is a CROSS JOIN."""
    found = _joins(cursor)
    while cursor.at(","):
        begin = cursor.index
        cursor.advance()
        right, at = relation(cursor), begin + 1
        more = _joins(cursor)
        if any(join.side in ("RIGHT", "FULL") for join in more):
            # Such a join keeps rows of what follows the comma alone, so it has to happen first.
            right, more = cursor.put(Joined(this=right, joins=tuple(more)), at), []
        found.append(cursor.put(nodes.Join(this=right, kind="CROSS"), begin))
        found.extend(more)
    return tuple(found)


def _joins(cursor: Cursor) -> list[nodes.Join]:
    found = []
    while (join := _join(cursor)) is not None:
        found.append(join)
    return found


def _join(cursor: Cursor) -> nodes.Join | None:
    begin = cursor.index
    method = cursor.take_any("NATURAL") or None
    side = cursor.take_any("LEFT", "RIGHT", "FULL") or None
    kind: str | None = cursor.take_any("OUTER") if side else cursor.take_any("INNER", "CROSS")
    if cursor.at_any("SEMI", "ANTI"):
        cursor.fail(f"{cursor.token.word} JOIN is not part of Flink SQL: use [NOT] EXISTS or [NOT] IN with a query")
    if cursor.at_any("APPLY", "ASOF") and cursor.peek().word in ("JOIN", "LATERAL", "TABLE", "("):
        cursor.fail(f"{cursor.token.word} is not supported: use JOIN LATERAL TABLE(..), or a temporal join")
    if not cursor.take("JOIN"):
        if cursor.index > begin:
            cursor.fail_expecting("JOIN")
        return None
    right = relation(cursor)
    join = nodes.Join(this=right, side=side, kind=kind or ("OUTER" if side else "INNER"), method=method)
    if cursor.take("ON"):
        join = replace(join, on=expressions.expression(cursor))
    elif cursor.take("USING"):
        join = replace(join, using=cursor.in_brackets(lambda: cursor.identifier("a name of a column")))
    elif kind != "CROSS" and method is None:
        cursor.fail_expecting("ON or USING of JOIN")
    return cursor.put(join, begin)


def relation(cursor: Cursor) -> nodes.Node:
    """A table, query or call, with its alias."""
    begin = cursor.index
    found = _relation(cursor, begin)
    if cursor.take("FOR", "SYSTEM_TIME", "AS", "OF"):
        if not isinstance(found, nodes.Table):
            cursor.fail("FOR SYSTEM_TIME AS OF stands after the name of a table", begin)
        moment = expressions.operand(cursor)
        found = cursor.put(replace(found, version=cursor.put(nodes.Version(moment), begin)), begin)
    if cursor.at("MATCH_RECOGNIZE"):
        found = match_recognize(cursor, found, begin)
    if cursor.token.word in _ELSEWHERE:
        cursor.fail(f"{cursor.token.word} is not supported: {_ELSEWHERE[cursor.token.word]}")
    found = _aliased(cursor, found, begin)
    if cursor.at("MATCH_RECOGNIZE") and not isinstance(found, nodes.MatchRecognize):
        # The input has a name of its own, as in the text that Flink keeps of a view.
        found = _aliased(cursor, match_recognize(cursor, found, begin), begin)
    return sampled(cursor, found, begin)


def table(cursor: Cursor, parts: Sequence[nodes.Identifier], begin: int) -> nodes.Table:
    if len(parts) > 3:
        cursor.fail("a table has three names at most: catalog, database, table", begin)
    db, catalog = [*parts[-2::-1], None, None][:2]
    return cursor.put(nodes.Table(parts[-1], db, catalog), begin)


def _relation(cursor: Cursor, begin: int) -> nodes.Node:
    if cursor.take("LATERAL"):
        return _lateral(cursor, begin)
    if cursor.at("TABLE", "("):
        return _called(cursor, begin, lateral=False)
    if cursor.at("UNNEST"):
        return _unnest(cursor)
    if cursor.at("("):
        return _in_brackets(cursor)
    if cursor.token.kind is Kind.STRING:
        return _file(cursor)
    cursor.take("TABLE")
    parts = [cursor.identifier("a table")]
    while cursor.take("."):
        parts.append(cursor.identifier("a name of a table", after_dot=True))
    if cursor.at("("):
        cursor.index = begin
        return cursor.put(TableFunction(this=_call(cursor), lateral=False), begin)
    found = table(cursor, parts, begin)
    hint = hints(cursor)
    if hint is not None:
        found = cursor.put(replace(found, hints=(hint,)), begin)
    return found


def _file(cursor: Cursor) -> nodes.Node:
    """The path of a file in quotes, which is a table, too."""
    begin = cursor.index
    path = cursor.put(nodes.Literal.string(cursor.string("a path")), begin)
    return cursor.put(TableFunction(this=cursor.put(nodes.Call("READ_FILE", (path,)), begin)), begin)


def _lateral(cursor: Cursor, begin: int) -> nodes.Node:
    if cursor.at("TABLE"):
        return _called(cursor, begin, lateral=True)
    if cursor.at("UNNEST"):
        return _unnest(cursor)
    if cursor.at("("):
        return cursor.put(nodes.Lateral(this=in_brackets(cursor)), begin)
    return cursor.put(TableFunction(this=_call(cursor), lateral=True), begin)


def _called(cursor: Cursor, begin: int, lateral: bool) -> nodes.Node:
    """TABLE( call )."""
    cursor.expect("TABLE", "(")
    call = _call(cursor)
    cursor.expect(")")
    return cursor.put(TableFunction(this=call, lateral=lateral), begin)


def _call(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    if expressions.starts_call(cursor):
        return expressions.call(cursor)
    parts = [cursor.identifier("a call of a function")]
    while cursor.take("."):
        if cursor.peek().word == "(":
            return expressions.qualified_call(cursor, parts, begin)
        parts.append(cursor.identifier("a name of a function", after_dot=True))
    return cursor.fail_expecting("'(' after the name of a function")


def _unnest(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    cursor.expect("UNNEST", "(")
    value = expressions.expression(cursor)
    if cursor.at(","):
        cursor.fail("UNNEST takes one array, map or multiset: join one UNNEST for each")
    cursor.expect(")")
    ordinality = cursor.take("WITH", "ORDINALITY")
    return cursor.put(nodes.Unnest(expressions=(value,), offset=ordinality), begin)


def _in_brackets(cursor: Cursor) -> nodes.Node:
    """A query or a join in brackets. Which of them, is only known at the end of ``((SELECT ..) ..``."""
    begin = cursor.index
    as_query: SqlParseError | None = None
    if starts(cursor):
        try:
            return in_brackets(cursor)
        except SqlParseError as error:
            if cursor.peek(begin + 1 - cursor.index).word != "(":
                raise
            as_query, cursor.index = error, begin
    try:
        cursor.expect("(")
        inner = relation(cursor)
        found = _joins(cursor)
        cursor.expect(")")
    except SqlParseError as error:
        # Of the two readings, the one that got further is what was meant.
        raise max(filter(None, [as_query, error]), key=lambda one: one.position.start if one.position else 0) from None
    return cursor.put(Joined(this=inner, joins=tuple(found)), begin) if found else inner


def _aliased(cursor: Cursor, found: nodes.Node, begin: int) -> nodes.Node:
    at = cursor.index
    if not cursor.take("AS") and not cursor.is_name():
        return found
    if isinstance(found, Joined):
        cursor.fail("a join in brackets has no name: put SELECT * FROM before it", at)
    name = cursor.identifier("a name")
    columns = cursor.in_brackets(lambda: cursor.identifier("a name of a column")) if cursor.at("(") else ()
    alias = cursor.put(nodes.TableAlias(this=name, columns=columns), at)
    changes: dict[str, Any] = {"alias": alias}
    return cursor.put(replace(found, **changes), begin)


# Queries

N = TypeVar("N", nodes.Where, nodes.Having, nodes.Qualify)
_Operand = Callable[[Cursor], nodes.Query]

_BEGINNINGS = {"SELECT", "WITH", "VALUES", "TABLE"}
_SET_OPERATIONS: dict[str, type[nodes.SetOperation]] = {
    "UNION": nodes.Union,
    "EXCEPT": nodes.Except,
    "MINUS": nodes.Except,
    "INTERSECT": nodes.Intersect,
}
_TAIL = ("ORDER", "LIMIT", "OFFSET", "FETCH")


def starts(cursor: Cursor, distance: int = 0, nested: bool = True) -> bool:
    """Whether a query begins so many tokens ahead. ``nested``: or brackets that begin with one."""
    while nested and cursor.peek(distance).word == "(":
        distance += 1
    word = cursor.peek(distance).word
    return word in _BEGINNINGS and not (word == "TABLE" and cursor.peek(distance + 1).word == "(")


def continues(cursor: Cursor) -> bool:
    """Whether what comes next can only follow a query."""
    return cursor.token.word in _SET_OPERATIONS or cursor.at_any(*_TAIL)


def query(cursor: Cursor) -> nodes.Query:
    """A query with all its clauses.

    :raises SqlParseError: something else.
    """
    begin = cursor.index
    if not cursor.take("WITH"):
        return _with_tail(cursor, _set_operations(cursor), begin)
    recursive = cursor.take("RECURSIVE")
    tables = cursor.listed(lambda: _common_table(cursor))
    with_ = cursor.put(nodes.With(expressions=tables, recursive=recursive), begin)
    body = _with_tail(cursor, _set_operations(cursor), begin)
    if isinstance(body, nodes.Values):
        body = cursor.put(nodes.Subquery(this=body), begin)
    return replace(body, with_=with_)


def rest(cursor: Cursor, first: nodes.Query, begin: int) -> nodes.Query:
    """A query whose first operand, at token ``begin``, has been read."""
    return _with_tail(cursor, _set_operations(cursor, first, begin), begin)


def in_brackets(cursor: Cursor) -> nodes.Subquery:
    """A query in brackets."""
    begin = cursor.index
    cursor.expect("(")
    if not starts(cursor):
        cursor.fail_expecting("a query")
    inner = query(cursor)
    cursor.expect(")")
    return cursor.put(nodes.Subquery(this=inner), begin)


def table_name(cursor: Cursor) -> nodes.Table:
    """A table by one to three names."""
    begin = cursor.index
    parts = [cursor.identifier("a name of a table")]
    while cursor.take("."):
        parts.append(cursor.identifier("a name of a table", after_dot=True))
    return table(cursor, parts, begin)


def _common_table(cursor: Cursor) -> nodes.CTE:
    begin = cursor.index
    name = cursor.identifier("a name of a table")
    columns = cursor.in_brackets(lambda: cursor.identifier("a name of a column")) if cursor.at("(") else ()
    alias = cursor.put(nodes.TableAlias(this=name, columns=columns), begin)
    cursor.expect("AS")
    return cursor.put(nodes.CTE(this=in_brackets(cursor).this, alias=alias), begin)


def _set_operations(cursor: Cursor, left: nodes.Query | None = None, begin: int | None = None) -> nodes.Query:
    begin = cursor.index if begin is None else begin
    left = _intersections(cursor, left, begin)
    while cursor.at_any("UNION", "EXCEPT", "MINUS"):
        left = _combined(cursor, left, begin, _intersections)
    return left


def _intersections(cursor: Cursor, left: nodes.Query | None = None, begin: int | None = None) -> nodes.Query:
    """INTERSECT binds more strongly than UNION and EXCEPT."""
    begin = cursor.index if begin is None else begin
    left = left or _operand(cursor)
    while cursor.at("INTERSECT"):
        left = _combined(cursor, left, begin, _operand)
    return left


def _combined(cursor: Cursor, left: nodes.Query, begin: int, operand: _Operand) -> nodes.Query:
    node = _SET_OPERATIONS[cursor.advance().word]
    distinct = cursor.take_any("ALL", "DISTINCT") != "ALL"
    return cursor.put(node(this=left, expression=operand(cursor), distinct=distinct), begin)


def _operand(cursor: Cursor) -> nodes.Query:
    begin = cursor.index
    if cursor.at("("):
        return in_brackets(cursor)
    if cursor.at("SELECT"):
        return _select(cursor)
    if cursor.take("VALUES"):
        return cursor.put(nodes.Values(expressions=cursor.listed(lambda: _row(cursor))), begin)
    if cursor.take("TABLE"):
        table = table_name(cursor)
        return cursor.put(nodes.Select(expressions=(nodes.Star(),), from_=nodes.From(this=table)), begin)
    return cursor.fail_expecting("SELECT, VALUES, TABLE or WITH")


def _row(cursor: Cursor) -> nodes.Tuple:
    begin = cursor.index
    value = expressions.expression(cursor)
    if isinstance(value, nodes.Tuple):
        return value
    if isinstance(value, nodes.Call) and value.name.upper() == "ROW":
        return cursor.put(nodes.Tuple(expressions=value.expressions), begin)
    return cursor.put(nodes.Tuple(expressions=(value.this if isinstance(value, nodes.Paren) else value,)), begin)


def _select(cursor: Cursor) -> nodes.Query:
    begin = cursor.index
    cursor.expect("SELECT")
    clauses: dict[str, Any] = {"hint": hints(cursor)}
    at = cursor.index
    if cursor.take_any("DISTINCT", "ALL") == "DISTINCT":
        clauses["distinct"] = cursor.put(nodes.Distinct(), at)
    clauses["expressions"] = cursor.listed(lambda: _item(cursor))
    if cursor.at("INTO"):
        cursor.fail("SELECT .. INTO is not supported: write INSERT INTO table SELECT ..")
    if cursor.at("FROM"):
        clauses["from_"] = from_clause(cursor)
        clauses["joins"] = joins(cursor)
    if cursor.at("WHERE"):
        clauses["where"] = _condition(cursor, nodes.Where)
    if cursor.at("GROUP"):
        clauses["group"] = group_by(cursor)
    if cursor.at("HAVING"):
        clauses["having"] = _condition(cursor, nodes.Having)
    if cursor.take("WINDOW"):
        clauses["windows"] = cursor.listed(lambda: named_window(cursor))
    if cursor.at("QUALIFY"):
        clauses["qualify"] = _condition(cursor, nodes.Qualify)
    return cursor.put(nodes.Select(**clauses), begin)


def _item(cursor: Cursor) -> nodes.Node:
    """One of what SELECT lists."""
    begin = cursor.index
    if cursor.take("*"):
        return cursor.put(nodes.Star(), begin)
    value = expressions.expression(cursor)
    if cursor.take("AS"):
        return cursor.put(nodes.Alias(this=value, alias=cursor.identifier("a name")), begin)
    if cursor.is_name():
        return cursor.put(nodes.Alias(this=value, alias=cursor.identifier()), begin)
    return value


def _condition(cursor: Cursor, node: type[N]) -> N:
    begin = cursor.index
    cursor.advance()
    return cursor.put(node(this=expressions.expression(cursor)), begin)


def _with_tail(cursor: Cursor, body: nodes.Query, begin: int) -> nodes.Query:
    """ORDER BY, LIMIT, OFFSET and FETCH of a query."""
    if not cursor.at_any(*_TAIL):
        return body
    clauses: dict[str, Any] = {"order": order_by(cursor)} if cursor.at("ORDER") else {}
    while cursor.at_any("LIMIT", "OFFSET", "FETCH"):
        at = cursor.index
        word = cursor.advance().word
        key = "offset" if word == "OFFSET" else "limit"
        if clauses.get(key) or getattr(body, key):
            cursor.fail(f"a second {word} in one query", at)
        if word == "LIMIT" and cursor.take("ALL"):
            continue
        if word == "FETCH":
            cursor.expect_any("FIRST", "NEXT")
        # FETCH FIRST ROW ONLY is one row.
        count = nodes.Literal.number(1) if word == "FETCH" and cursor.at_any("ROW", "ROWS") else _count(cursor)
        clauses[key] = cursor.put(nodes.Offset(count) if key == "offset" else nodes.Limit(count), at)
        if word != "LIMIT":
            cursor.take_any("ROW", "ROWS")
        if word == "FETCH":
            cursor.expect("ONLY")
    return cursor.put(replace(body, **clauses), begin)


def _count(cursor: Cursor) -> nodes.Literal:
    begin = cursor.index
    if cursor.token.kind is not Kind.NUMBER:
        cursor.fail_expecting("a number of rows")
    return cursor.put(nodes.Literal(this=str(cursor.integer("a whole number of rows")), is_string=False), begin)
