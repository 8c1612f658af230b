"""SQL text to statements: what the client, the table environment and the binder call.

    parse_script(text)      -> all statements of a script
    statements_of(text)     -> the same one by one: those before an error can be run
    parse_statement(text)   -> the only statement of a text
    is_complete(text)       -> whether a script ends with a semicolon, for a client that reads lines
    parse_query(text)       -> the tree of a query
    parse_expression(text)  -> the tree of an expression
    parse_type(text)        -> a data type

Statements are the dataclasses of ``statements/``. Queries and expressions are trees of sqlglot's node classes
(``sqlglot.exp``) and of the few of ``nodes.py``, which stand for what sqlglot has no class for, or one that says less.
The grammar is our own (``grammar/``), strict and Flink's, so this list is complete: whoever walks a tree meets nothing
else. An absent argument is None or missing; read with ``node.args.get(name)``. Args are given by sqlglot's names.
Every node knows its place: see ``position_of`` in ``errors.py``. ``tree.sql("flink")`` gives the text back.

Queries
-------
``exp.Select``
    ``expressions`` (see below; ``exp.Star`` for ``*``, ``exp.Column(this=exp.Star, table=..)`` for ``t.*``),
    ``distinct`` (``exp.Distinct`` or None), ``hint`` (``exp.Hint`` of ``HintCall``), ``from_`` (``exp.From(this=R)``),
    ``joins`` (list of ``exp.Join``), ``where`` (``exp.Where``), ``group`` (``exp.Group``), ``having`` (``exp.Having``),
    ``windows`` (list of ``exp.Window(this=name, ..)``), ``qualify`` (``exp.Qualify``), and the tail.
    An item with a name is ``exp.Alias(this=expression, alias=exp.Identifier)``.
``exp.Union``, ``exp.Intersect``, ``exp.Except``
    ``this``, ``expression`` (queries; one in brackets is an ``exp.Subquery``), ``distinct`` (bool), and the tail.
``exp.Values``
    ``expressions``: one ``exp.Tuple`` a row, also where a row is a single value or ``ROW(..)``; and the tail.
``exp.Subquery``
    ``this``: a query in brackets; ``alias`` in FROM; and the tail.
the tail of all of them
    ``with_`` (``exp.With(expressions=[exp.CTE(this=query, alias=exp.TableAlias)], recursive=bool)``; not in Values:
    a WITH before VALUES wraps it in an ``exp.Subquery``), ``order`` (``exp.Order(expressions=[exp.Ordered(this,
    desc=bool, nulls_first=True, False or None when it was not said)])``), ``limit``
    (``exp.Limit(expression=number literal)``, also for FETCH FIRST), ``offset`` (``exp.Offset(expression)``).
``TABLE t`` is ``SELECT * FROM t``, and ``FROM TABLE t`` is ``FROM t``.
``exp.Group``
    ``expressions`` in their order: expressions, ``exp.GroupingSets``, ``exp.Rollup``, ``exp.Cube``, each with
    ``expressions`` of expressions and ``exp.Tuple``; ``()`` is an empty ``exp.Tuple``.

Relations R (FROM, JOIN)
------------------------
``exp.Table``
    ``this``, ``db``, ``catalog`` (identifiers; ``table_path(node)`` in ``nodes.py`` gives the tuple of names),
    ``hints`` (list of ``exp.Hint``), ``version`` (``exp.Version(this="TIMESTAMP", kind="AS OF", expression)`` for
    FOR SYSTEM_TIME AS OF), ``alias`` (``exp.TableAlias(this=exp.Identifier, columns=[exp.Identifier])``).
``exp.Subquery``
    with ``alias``.
``exp.Lateral``
    ``this``: ``exp.Subquery``; ``alias``: LATERAL (SELECT ..).
``TableFunction``
    ``this``: a call (see Calls); ``lateral`` (bool: LATERAL TABLE(f(x))); ``alias``. Also ``TABLE(f(..))`` and
    ``FROM f(..)``: TUMBLE, HOP, CUMULATE, SESSION, ML_PREDICT, process table functions.
``exp.Unnest``
    ``expressions`` (one), ``offset`` (bool: WITH ORDINALITY), ``alias``.
``exp.Values``
    only inside ``exp.Subquery``.
``MatchRecognize``
    ``this`` (R), ``partition_by`` (list), ``order`` (``exp.Order``), ``measures`` (list of ``exp.Alias``), ``rows``
    ("ONE ROW PER MATCH" or "ALL ROWS PER MATCH"), ``after`` (``AfterMatch(mode, target)``: mode "PAST LAST ROW",
    "TO NEXT ROW", "TO FIRST", "TO LAST"), ``pattern`` (``PatternVariable(this=exp.Identifier)``,
    ``PatternSequence(expressions)``, ``PatternAlternation(expressions)``, ``PatternQuantifier(this, low, high or None,
    reluctant)``, ``PatternExclusion(this)``, ``PatternPermutation(expressions)``), ``anchors`` (subset of "^$"),
    ``within`` (IntervalLiteral), ``subsets`` (list of ``exp.Alias(this=exp.Tuple of identifiers, alias)``),
    ``define`` (list of ``exp.Alias(this=condition, alias=variable)``), ``alias``.
    Inside: A.price is an ``exp.Column`` with table A; FIRST, LAST, PREV, NEXT are calls; ``Final(this)``,
    ``Running(this)`` wrap one.
``Joined``
    ``this`` (R) and ``joins``: a join in brackets; the names inside are seen outside.
``exp.Join``
    ``this`` (R), ``side`` ("LEFT", "RIGHT", "FULL" or None), ``kind`` ("INNER", "OUTER", "CROSS"; a comma is
    "CROSS"), ``method`` ("NATURAL" or None), ``on`` (expression), ``using`` (list of ``exp.Identifier``).
``HintCall``
    ``this`` (name in upper case), ``expressions``: ``exp.PropertyEQ(this=literal, expression=literal)`` or names as
    ``exp.Literal``. ``hint_options(node)`` and ``hint_names(node)`` in ``nodes.py`` read it.

Expressions
-----------
``exp.Column``
    ``this``, ``table``, ``db``, ``catalog``: up to four names with dots (may be fields of rows: resolving is the
    binder's); a fifth and more: ``exp.Dot(this, expression=exp.Identifier)``. ``column_parts(node)`` gives the names.
``exp.Dot``
    a field of what is not a name: ``f(x).a``, ``a[1].b``; ``expression`` is ``exp.Identifier`` or ``exp.Star``.
``exp.Bracket``
    ``this``, ``expressions=[index]``: element of an array (from 1), value of a map.
``exp.Literal``
    number (text as written) or string. ``exp.HexString(this="1F")`` for x'1F'. ``exp.Null``, ``exp.Boolean``.
``TypedLiteral``
    ``kind`` ("DATE", "TIME", "TIMESTAMP"), ``this``: the text.
``IntervalLiteral``
    ``this`` (string literal), ``unit`` ("DAY TO SECOND"), properties ``data_type`` and ``value`` (microseconds, or
    months if ``data_type`` is a YearMonthIntervalType).
``exp.Neg``, ``exp.Add``, ``exp.Sub``, ``exp.Mul``, ``exp.Div``, ``exp.Mod``, ``exp.DPipe``
    arithmetic and ``||``; a unary plus leaves no trace.
``exp.EQ``, ``exp.NEQ``, ``exp.LT``, ``exp.LTE``, ``exp.GT``, ``exp.GTE``
    ``expression`` may be ``exp.All(this=exp.Subquery)`` or ``exp.Any(..)`` (ANY, SOME).
``exp.And``, ``exp.Or``, ``exp.Not``, ``exp.Paren``
    ``exp.Paren`` stays in the tree. Every negated predicate is ``exp.Not`` round the plain one.
``exp.Is``
    ``expression``: ``exp.Null``, ``exp.Boolean`` or ``exp.Var("UNKNOWN")``.
``exp.NullSafeNEQ``, ``exp.NullSafeEQ``
    IS DISTINCT FROM, IS NOT DISTINCT FROM.
``IsJson``
    ``this``, ``kind``: "VALUE", "SCALAR", "ARRAY", "OBJECT".
``exp.Between``
    ``this``, ``low``, ``high``, ``symmetric`` (bool).
``exp.In``
    ``this`` (an ``exp.Tuple`` for several columns) and ``expressions``, or ``query`` (``exp.Subquery``).
``exp.Like``, ``exp.SimilarTo``
    ``this``, ``expression``; with ESCAPE: ``exp.Escape(this=that, expression=literal)``.
``exp.Exists``
    ``this``: a query (not in an ``exp.Subquery``). A scalar subquery is an ``exp.Subquery``.
``exp.Case``
    ``this`` or None, ``ifs`` (``exp.If(this, true)``), ``default``.
``exp.Cast``, ``exp.TryCast``
    ``this``, ``to``: ``TypeName``, whose ``data_type`` is the relational type.
``exp.Tuple``
    ``(a, b)``. ROW(a, b) is a call.
``exp.Array``, ``MapConstructor``
    ARRAY[a, b]; MAP[k1, v1, k2, v2]: ``expressions`` as written.

Calls
-----
``exp.Anonymous``
    ``this``: the name as written (a str), ``expressions``: arguments. Nothing is renamed, no default is added.
    ``quoted`` names and ``cat.db.f(x)``: ``exp.Dot(this=exp.Identifier or exp.Dot, expression=exp.Anonymous)``;
    ``call_path(node)`` gives the names.
arguments
    expressions; ``exp.Star`` (``COUNT(*)``); one ``exp.Distinct(expressions=[..])`` instead of all of them after
    DISTINCT; ``exp.Kwarg(this=exp.Identifier, expression)`` for ``NAME => value``; ``exp.Var("DEFAULT")``;
    ``TableArgument(this=exp.Table or exp.Subquery, partition_by=list, order=exp.Order)`` for TABLE t PARTITION BY;
    ``ModelArgument(this=exp.Table)`` for MODEL m; ``Descriptor(expressions=[exp.Identifier])``.
wrapped round a call, in this order from inside
    ``exp.IgnoreNulls(this)`` or ``exp.RespectNulls(this)``, ``exp.WithinGroup(this, expression=exp.Order)``,
    ``exp.Filter(this, expression=exp.Where)``,
    ``exp.Window(this, partition_by=list, order=exp.Order, spec=exp.WindowSpec, alias=exp.Identifier)``: ``alias`` is
    the named window that OVER refers to, alone or with additions. ``exp.WindowSpec``: ``kind`` "ROWS" or "RANGE",
    ``start`` and ``end`` ("UNBOUNDED", "CURRENT ROW" or an expression), ``start_side``, ``end_side`` ("PRECEDING",
    "FOLLOWING" or None). Without BETWEEN the end is "CURRENT ROW".
calls with a syntax of their own, as plain calls
    ``EXTRACT(u FROM x)`` -> EXTRACT(Var(U), x); ``FLOOR(x TO u)``, ``CEIL``, ``CEILING`` -> FLOOR(x, Var(U));
    ``TIMESTAMPADD(u, ..)``, ``TIMESTAMPDIFF(u, ..)`` -> (Var(U), ..); ``TRIM([BOTH] [c] FROM s)`` -> TRIM(Var(BOTH),
    c or ' ', s), but ``TRIM(s)`` -> TRIM(s); ``POSITION(a IN b)`` -> POSITION(a, b); ``OVERLAY(s PLACING r FROM i FOR
    n)`` -> OVERLAY(s, r, i, n); ``SUBSTRING(s FROM i FOR n)`` -> SUBSTRING(s, i, n); ``(a, b) OVERLAPS (c, d)`` ->
    OVERLAPS(a, b, c, d); ``CURRENT_DATE``, ``CURRENT_TIME``, ``CURRENT_TIMESTAMP``, ``LOCALTIME``, ``LOCALTIMESTAMP``
    without brackets -> calls without arguments. Units ``Var`` are in upper case and singular.
calls with nodes of their own
    ``JsonValue(this, path, returning=TypeName, on_empty, empty_default, on_error, error_default)``: on_*: "NULL",
    "ERROR", "DEFAULT". ``JsonQuery(this, path, returning, wrapper, on_empty, on_error)``: wrapper "WITHOUT",
    "CONDITIONAL", "UNCONDITIONAL"; on_*: "NULL", "ERROR", "EMPTY ARRAY", "EMPTY OBJECT". ``JsonExists(this, path,
    on_error)``: "TRUE", "FALSE", "UNKNOWN", "ERROR". ``JsonObject(expressions=[JsonEntry(this, expression)],
    on_null)``, ``JsonObjectAgg(this=JsonEntry, on_null)``, ``JsonArray(expressions, on_null)``,
    ``JsonArrayAgg(this, on_null)``: on_null "NULL" or "ABSENT"; what was not said has Flink's default.
    They too may be wrapped in Filter and Window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlglot import exp

from millrace.relational.types import DataType
from millrace.table.sql import script
from millrace.table.sql.dialect import Flink as Flink  # makes the dialect known to sqlglot
from millrace.table.sql.errors import Position, SqlParseError
from millrace.table.sql.grammar import expressions, queries, types
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.statement import statement
from millrace.table.sql.script import pieces
from millrace.table.sql.source import Source
from millrace.table.sql.statements import Statement
from millrace.table.sql.tokens import tokenize

_T = TypeVar("_T")


def statements_of(text: str) -> Iterator[Statement]:
    """The statements of a script one by one. Their places are places of the script.

    :raises SqlParseError: at the statement that has the error; if a text or comment has no end, at once.
    """
    source = Source(text)
    for piece in pieces(tokenize(source)):
        yield _read(Cursor(source, piece), statement)


def parse_script(text: str) -> list[Statement]:
    """All statements of a script.

    :raises SqlParseError: one of them cannot be read.
    """
    return list(statements_of(text))


def parse_statement(text: str) -> Statement:
    """The statement of a text. A semicolon at its end is no harm.

    :raises SqlParseError: it cannot be read, or there is not exactly one.
    """
    source = Source(text)
    found = list(pieces(tokenize(source)))
    if len(found) > 1:
        second = found[1][0]
        message = "expected one statement, found more: run them one by one, or as a script"
        raise SqlParseError(message, Position(source, second.start, second.end))
    return _read(Cursor(source, found[0] if found else tokenize(source)), statement)


def is_complete(text: str) -> bool:
    """Whether every statement of a script has its semicolon. False within a text, a quoted name or a comment."""
    try:
        return script.is_complete(tokenize(Source(text)))
    except SqlParseError:
        return False


def parse_query(text: str) -> exp.Expression:
    """The tree of a query.

    :raises SqlParseError: the text is not a query.
    """
    return _whole(text, queries.query)


def parse_expression(text: str) -> exp.Expression:
    """The tree of an expression.

    :raises SqlParseError: the text is not an expression.
    """
    return _whole(text, expressions.expression)


def parse_type(text: str) -> DataType:
    """A data type.

    :raises SqlParseError: the text is not a data type.
    """
    return _whole(text, types.data_type)


def _whole(text: str, read: Callable[[Cursor], _T]) -> _T:
    """What stands in a text, up to its end; one semicolon there is no harm."""
    source = Source(text)
    cursor = Cursor(source, tokenize(source))
    found = _read(cursor, read)
    cursor.take(";")
    cursor.expect_end()
    return found


def _read(cursor: Cursor, read: Callable[[Cursor], _T]) -> _T:
    begin = cursor.index
    try:
        return read(cursor)
    except RecursionError:
        message = "brackets, queries or calls are nested too deeply: name a part with WITH, or create a view"
        raise SqlParseError(message, cursor.span(begin)) from None
