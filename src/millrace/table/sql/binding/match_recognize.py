"""Binds MATCH_RECOGNIZE in FROM: its PATTERN (what only the SQL standard allows in it is refused), the expressions of
MEASURES and DEFINE (columns of variables, functions of the rows of a match), and the clause as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise

from millrace.relational.nodes import PROCTIME, ROWTIME, Field, Match, Rel, Schema
from millrace.relational.nodes.keyed_nodes import ALL_ROWS, SHOW_EMPTY, WITH_UNMATCHED
from millrace.relational.rex import (
    Alternation,
    Call,
    Classifier,
    Concatenation,
    Exclusion,
    Literal,
    MatchAggregate,
    MatchNumber,
    MatchRowtime,
    Navigation,
    Pattern,
    Permutation,
    Ref,
    Repetition,
    Rex,
    SortKey,
    Subquery,
    Variable,
    parts_of,
    variables_of,
    walk,
)
from millrace.relational.types import MAX_LENGTH, BigIntType, LocalZonedTimestampType, TimestampType, VarCharType
from millrace.runtime.cep.pattern_program import compile_pattern
from millrace.table.sql import nodes
from millrace.table.sql.binding.calls import (
    bind_aggregate,
    built_in,
    call_name,
    core,
    find_user_function,
    is_aggregate_call,
    sort_key,
    take_apart,
)
from millrace.table.sql.binding.expressions import milliseconds
from millrace.table.sql.binding.from_clause import From, Source, aliased, bind_relation, binds_relation
from millrace.table.sql.binding.scope import Block, Scope, bind, bind_condition, constant, fail, resolve, scope_of
from millrace.util.names import did_you_mean

# PATTERN


def bound_pattern(tree: nodes.Node) -> Pattern:
    """The pattern of a tree."""
    if isinstance(tree, nodes.PatternVariable):
        return Variable(tree.this.name)
    if isinstance(tree, nodes.PatternSequence):
        # Brackets alone mean nothing.
        parts = map(bound_pattern, tree.expressions)
        items = (each.items if isinstance(each, Concatenation) else (each,) for each in parts)
        return Concatenation(tuple(chain.from_iterable(items)))
    if isinstance(tree, nodes.PatternAlternation):
        return Alternation(tuple(map(bound_pattern, tree.expressions)))
    if isinstance(tree, nodes.PatternPermutation):
        return Permutation(tuple(map(bound_pattern, tree.expressions)))
    if isinstance(tree, nodes.PatternExclusion):
        return Exclusion(bound_pattern(tree.this))
    if not isinstance(tree, nodes.PatternQuantifier):
        fail(tree, f"{type(tree).__name__} is no part of a pattern")
    if tree.high == 0:
        fail(tree, "a part of a pattern that comes 0 times: leave it out")
    return Repetition(bound_pattern(tree.this), tree.low, tree.high, tree.reluctant)


def beyond_flink(tree: nodes.Node, pattern: Pattern) -> Iterator[str]:
    """What of a pattern Flink refuses, for people."""
    if any(part.without_low for part in tree.find_all(nodes.PatternQuantifier)):
        yield "a quantifier without its lower bound"
    items = pattern.items if isinstance(pattern, Concatenation) else (pattern,)
    for part in chain.from_iterable(map(parts_of, items)):
        if isinstance(part, Alternation):
            yield "an alternation"
        elif isinstance(part, Permutation):
            yield "PERMUTE"
        elif isinstance(part, Exclusion):
            yield "an exclusion"
        elif isinstance(part, Concatenation) or (isinstance(part, Repetition) and not isinstance(part.inner, Variable)):
            yield "a group"
    names = [part.name for part in parts_of(pattern) if isinstance(part, Variable)]
    if len(set(names)) < len(names):
        yield "a variable that comes several times"
    repeated = [part for part in items if isinstance(part, Repetition)]
    if any(part.reluctant and (part.low, part.high) == (0, 1) for part in repeated):
        yield "the quantifier ??"
    if len(repeated) == len(items) and all(part.low == 0 for part in repeated):
        yield "a pattern that may take no row"
    pairs = pairwise(items)
    if any(_is_greedy(one) and isinstance(other, Repetition) and other.low == 0 for one, other in pairs):
        yield "a variable that may be left out right behind a greedy quantifier"
    last = items[-1] if items else None
    if last is not None and _is_greedy(last):
        yield "a greedy quantifier on the last variable"


def _is_greedy(part: Pattern) -> bool:
    """As Flink has it: what can only come once is not."""
    return isinstance(part, Repetition) and not part.reluctant and part.low != part.high and part.high != 1


# MEASURES and DEFINE

_NAVIGATION = ("FIRST", "LAST", "PREV", "NEXT")
_MATCH_FUNCTIONS = (*_NAVIGATION, "CLASSIFIER", "MATCH_NUMBER", "MATCH_ROWTIME", "MATCH_PROCTIME")


@dataclass
class MatchNames:
    """What the expressions of one MATCH_RECOGNIZE may name."""

    block: Block
    """the columns of the input"""
    variables: tuple[str, ...]
    subsets: tuple[str, ...]
    time: Ref
    """the first column of the order"""
    all_rows: bool = False
    beyond: list[str] = field(default_factory=list)
    """what of the expressions Flink refuses, for people"""

    def measure(self, tree: nodes.Node) -> Rex:
        """An expression of MEASURES."""
        return self._bound(tree, None, bind)

    def condition(self, name: str, tree: nodes.Node) -> Rex:
        """The definition of a variable."""
        return self._bound(tree, name, bind_condition)

    def _bound(self, tree: nodes.Node, own: str | None, how: Callable[[nodes.Node, Block], Rex]) -> Rex:
        place = "MEASURES" if own is None else "DEFINE"
        binder = _Expression(self, own, place)
        found = how(tree, replace(self.block, place=place, intercept=binder.intercept))
        if any(isinstance(part, Subquery) for part in walk(found)):
            fail(tree, f"a subquery is not allowed in {place} of MATCH_RECOGNIZE")
        return found


@dataclass
class _Expression:
    """One expression of MEASURES, or the definition of a variable."""

    names: MatchNames
    own: str | None
    """the variable that is defined"""
    place: str
    final: bool = False

    def intercept(self, tree: nodes.Node) -> Rex | None:
        if isinstance(tree, (nodes.Final, nodes.Running)):
            return self._moment(tree)
        name = call_name(core(tree))
        user = find_user_function(tree, self.names.block)
        if user is not None:
            self.names.beyond.append("a function of the user")
        if name in _MATCH_FUNCTIONS and user is None:
            assert isinstance(tree, nodes.Call)
            return self._function(name, tree)
        if isinstance(core(tree), (nodes.Call, nodes.Dot, nodes.JsonObjectAgg, nodes.JsonArrayAgg)):
            if not isinstance(tree, nodes.Dot) or isinstance(tree.expression, nodes.Call):
                return self._aggregate(tree) if is_aggregate_call(tree, self.names.block) else None
        if isinstance(tree, (nodes.Column, nodes.Dot)):
            return self._column(tree)
        return None

    def _moment(self, tree: nodes.Final | nodes.Running) -> Rex:
        """FINAL and RUNNING before a call."""
        word = type(tree).__name__.upper()
        if self.own is not None and word == "FINAL":
            fail(tree, "FINAL is not allowed in DEFINE: the match is not known yet")
        if word == "RUNNING":
            self.names.beyond.append("RUNNING")
        inside = replace(self, final=word == "FINAL" and self.names.all_rows)
        found = inside.intercept(tree.this)
        if found is None or isinstance(tree.this, (nodes.Column, nodes.Dot)):
            fail(tree, f"{word} stands before FIRST, LAST, CLASSIFIER or an aggregate function")
        return found

    # -- columns and navigation -------------------------------------------------------------------------------------

    def _column(self, tree: nodes.Column | nodes.Dot) -> Rex | None:
        parts = _names_of(tree)
        if parts is None:
            return None
        inner = _OneVariable(self)
        value = inner.column(tree, parts)
        return self._navigation(value, inner.variable)

    def _navigation(self, value: Rex, variable: str | None, first: bool = False, offset: int = 0) -> Navigation:
        if variable == self.own and not first and offset == 0:
            variable = None  # the row that is looked at
        return Navigation(value.type.nullable(), value, variable, first, offset, 0, self.final)

    def _function(self, name: str, tree: nodes.Call) -> Rex:
        given = tree.expressions
        if name in _NAVIGATION:
            return self._navigated(name, tree)
        if name == "CLASSIFIER":
            self.names.beyond.append("CLASSIFIER")
            return Classifier(VarCharType(MAX_LENGTH), self._argument_variable(tree), self.final)
        if name == "MATCH_NUMBER":
            self.names.beyond.append("MATCH_NUMBER")
            if given:
                fail(tree, "MATCH_NUMBER takes no arguments")
            return MatchNumber(BigIntType(False))
        if self.own is not None:
            fail(tree, f"{name} is not allowed in DEFINE: the match is not known yet")
        if name == "MATCH_PROCTIME":
            if given:
                fail(tree, "MATCH_PROCTIME takes no arguments")
            return built_in(tree, "PROCTIME", [])
        if len(given) > 1:
            fail(tree, "MATCH_ROWTIME takes the time attribute of the input, or nothing")
        time = self._value(given[0], name)[0] if given else None
        if time is not None and time != self.names.time:
            fail(given[0], "MATCH_ROWTIME takes the time attribute that the rows are ordered by")
        type_ = self.names.time.type
        return MatchRowtime(type_ if given else type_.not_null(), self.names.time)

    def _navigated(self, name: str, tree: nodes.Call) -> Rex:
        given = tree.expressions
        if not 1 <= len(given) <= 2:
            fail(tree, f"{name} is called as {name}(expression [, offset])")
        physical = name in ("PREV", "NEXT")
        offset = self._offset(name, given[1]) if len(given) == 2 else int(physical)
        if not physical:
            value, variable = self._value(given[0], name)
            return self._navigation(value, variable, name == "FIRST", offset)
        self.names.beyond.append(name)
        inner = given[0]
        if call_name(inner) in ("FIRST", "LAST"):
            assert isinstance(inner, nodes.Call)
            found = self._navigated(call_name(inner), inner)
        else:
            found = self._navigation(*self._value(inner, name))
        assert isinstance(found, Navigation)
        return replace(found, shift=-offset if name == "PREV" else offset)

    def _offset(self, name: str, tree: nodes.Node) -> int:
        found = constant(bind(tree, replace(self.names.block, intercept=None)), self.names.block.zone)
        if not isinstance(found, Literal) or not isinstance(found.value, int) or found.value < 0:
            fail(tree, f"the offset of {name} is a whole number from 0 on that is written in the query")
        return found.value

    def _value(self, tree: nodes.Node, name: str) -> tuple[Rex, str | None]:
        """(a value of one row, the variable whose row it is)"""
        if call_name(tree) == "CLASSIFIER":
            assert isinstance(tree, nodes.Call)
            self.names.beyond.append("CLASSIFIER")
            return Classifier(VarCharType(MAX_LENGTH)), self._argument_variable(tree)
        inner = _OneVariable(self)
        place = f"an argument of {name}"
        value = bind(tree, replace(self.names.block, place=place, intercept=inner.intercept))
        if isinstance(value, Literal):
            fail(tree, f"{name} needs a column of a row of the match")
        return value, inner.variable

    def _argument_variable(self, tree: nodes.Call) -> str | None:
        if not tree.expressions:
            return None
        parts = _names_of(tree.expressions[0]) or ()
        if len(tree.expressions) > 1 or len(parts) != 1:
            fail(tree, "CLASSIFIER takes a variable of the pattern or a subset, or nothing")
        return self.variable_named(tree.expressions[0], parts[0])

    def variable_named(self, tree: nodes.Node, name: str) -> str:
        known = (*self.names.variables, *self.names.subsets)
        if name not in known:
            fail(tree, f"the pattern has no variable '{name}'{did_you_mean(name, known)}")
        return name

    # -- aggregates -------------------------------------------------------------------------------------------------

    def _aggregate(self, tree: nodes.Node) -> Rex:
        inner = _OneVariable(self)
        block = replace(self.names.block, place=self.place, intercept=inner.intercept)
        call = bind_aggregate(self._counting(tree, inner), block, may_be_empty=True)
        if call.distinct or isinstance(_first_argument(tree), nodes.Distinct):
            self.names.beyond.append("DISTINCT")
        if call.filter is not None or call.order:
            self.names.beyond.append("FILTER or an order in an aggregate")
        if call.udf is not None:
            self.names.beyond.append("a function of the user")
        return MatchAggregate(call.type, call, inner.variable, self.final)

    def _counting(self, tree: nodes.Node, inner: _OneVariable) -> nodes.Node:
        """COUNT(A.*) counts the rows of A."""
        given = _first_argument(tree)
        if isinstance(given, nodes.Column) and isinstance(given.this, nodes.Star) and given.table is not None:
            if isinstance(tree, nodes.Call) and call_name(tree) == "COUNT" and len(tree.expressions) == 1:
                inner.variable = self.variable_named(given, given.table.name)
                return replace(tree, expressions=(nodes.Star(),))
        return tree


@dataclass
class _OneVariable:
    """The inside of FIRST, LAST, PREV, NEXT and of aggregates: columns of one variable."""

    outer: _Expression
    variable: str | None = None
    seen: bool = False

    def intercept(self, tree: nodes.Node) -> Rex | None:
        if isinstance(tree, (nodes.Final, nodes.Running)) or call_name(tree) in _MATCH_FUNCTIONS:
            what = call_name(tree) or type(tree).__name__.upper()
            fail(tree, f"{what} cannot stand inside of FIRST, LAST, PREV, NEXT or an aggregate function")
        if find_user_function(tree, self.outer.names.block) is not None:
            self.outer.names.beyond.append("a function of the user")
        if isinstance(tree, (nodes.Column, nodes.Dot)):
            parts = _names_of(tree)
            return None if parts is None else self.column(tree, parts)
        return None

    def column(self, tree: nodes.Node, parts: Sequence[str]) -> Rex:
        names = self.outer.names
        variable = None
        if len(parts) > 1 and parts[0] in (*names.variables, *names.subsets):
            variable, parts = parts[0], parts[1:]
        elif len(parts) > 1 and not names.block.scope.find(parts[0]) and not _is_relation(names.block, parts):
            self.outer.variable_named(tree, parts[0])
        if self.seen and variable != self.variable:
            pair = " and ".join(f"'{each}'" if each else "all rows" for each in (self.variable, variable))
            fail(tree, f"columns of {pair} cannot stand in one call: FIRST, LAST and aggregates look at one variable")
        self.variable, self.seen = variable, True
        return resolve(tree, list(parts), names.block)


def _is_relation(block: Block, parts: Sequence[str]) -> bool:
    return any(block.scope.relations_named(tuple(parts[:length])) for length in range(1, len(parts)))


def _names_of(tree: nodes.Node) -> list[str] | None:
    """The names of ``a.b.c``; None of what is no name."""
    if isinstance(tree, nodes.Column):
        return None if isinstance(tree.this, nodes.Star) else [part.name for part in nodes.column_parts(tree)]
    if isinstance(tree, nodes.Dot) and isinstance(tree.expression, nodes.Identifier):
        front = _names_of(tree.this)
        return None if front is None else [*front, tree.expression.name]
    return None


def _first_argument(tree: nodes.Node) -> nodes.Node | None:
    call = take_apart(tree).call
    call = call.expression if isinstance(call, nodes.Dot) else call
    given = getattr(call, "expressions", ())
    return given[0] if given else None


def is_time(expression: Rex) -> str | None:
    """ROWTIME or PROCTIME if a measure is the time of its match."""
    if isinstance(expression, MatchRowtime):
        return "ROWTIME"
    return "PROCTIME" if isinstance(expression, Call) and expression.function == "PROCTIME" else None


# The clause


@binds_relation(nodes.MatchRecognize)
def _match_recognize(tree: nodes.MatchRecognize, at: From) -> Source:
    source = bind_relation(tree.this, at)
    plan = bound_match(tree, source, at)
    return aliased(tree, Source(plan, scope_of(None, plan.schema)))


def bound_match(tree: nodes.MatchRecognize, source: Source, at: From) -> Match:
    """The plan of a clause over its input.

    :raises SqlValidationError: a part of it is wrong.
    """
    block = at.block(source.scope, "MATCH_RECOGNIZE")
    partition = _partition(tree, block)
    order = _order(tree, block)
    pattern = bound_pattern(tree.pattern)
    with_ways(tree, pattern)
    variables = variables_of(pattern)
    subsets = _subsets(tree, variables)
    names = MatchNames(
        block,
        # As in Flink a variable may be defined that the pattern does not have: it has no rows.
        tuple(dict.fromkeys([*variables, *(each.alias.name for each in tree.define)])),
        tuple(name for name, _ in subsets),
        _time(order),
        tree.rows == ALL_ROWS,
    )
    defines = _defines(tree, names, variables)
    if not tree.measures:
        fail(tree, "MATCH_RECOGNIZE needs MEASURES: the columns that a match gives")
    measures = [names.measure(each.this) for each in tree.measures]
    beyond = [*beyond_flink(tree.pattern, pattern), *names.beyond]
    if tree.rows == ALL_ROWS:
        beyond.append(ALL_ROWS)
    target = _target(tree, dict(subsets), variables, beyond)
    standard = bool(beyond) or at.environment.resolver.matches_as_standard
    node = Match(
        source.plan,
        partition,
        order,
        pattern,
        defines,
        tuple(measures),
        (),
        rows=tree.rows,
        empty=tree.empty or SHOW_EMPTY,
        skip=tree.after.mode if tree.after is not None else "PAST LAST ROW" if standard else "TO NEXT ROW",
        target=target,
        within=_within(tree, at),
        subsets=subsets,
        anchors=tree.anchors,
        standard=standard,
    )
    return _with_columns(node, [each.alias.name for each in tree.measures], tree)


def with_ways(tree: nodes.MatchRecognize, pattern: Pattern) -> None:
    """Refuse a pattern that is too large to be looked for."""
    try:
        compile_pattern(pattern)
    except ValueError as error:
        fail(tree.pattern, str(error))


def _partition(tree: nodes.MatchRecognize, block: Block) -> tuple[int, ...]:
    found = []
    for each in tree.partition_by:
        column = bind(each, block.named("PARTITION BY"))
        if not isinstance(column, Ref):
            fail(each, "PARTITION BY of MATCH_RECOGNIZE takes columns: compute others in a subquery")
        found.append(column.index)
    return tuple(dict.fromkeys(found))


def _order(tree: nodes.MatchRecognize, block: Block) -> tuple[SortKey, ...]:
    if tree.order is None:
        fail(tree, "MATCH_RECOGNIZE needs ORDER BY: You must specify either rowtime or proctime for order by.")
    items = tree.order.expressions
    keys = tuple(sort_key(each, bind(each.this, block.named("ORDER BY"))) for each in items)
    first = keys[0].expression
    if block.environment.resolver.streaming:
        attribute = isinstance(first, Ref) and block.columns[first.index].time is not None
        if not attribute:
            fail(
                items[0],
                "You must specify either rowtime or proctime for order by. The first column of ORDER BY is a time "
                "attribute: one with a WATERMARK, or PROCTIME(), that no computation and no regular join has come "
                "between",
            )
    elif not isinstance(first, Ref) or not isinstance(first.type, (TimestampType, LocalZonedTimestampType)):
        fail(items[0], f"the first column of ORDER BY is a TIMESTAMP or TIMESTAMP_LTZ, and this is {first.type}")
    if keys[0].descending:
        fail(items[0], "Primary sort order of a streaming table must be ascending on time.")
    return keys


def _time(order: tuple[SortKey, ...]) -> Ref:
    first = order[0].expression
    assert isinstance(first, Ref)
    return first


def _subsets(tree: nodes.MatchRecognize, variables: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, tuple[str, ...]] = {}
    for each in tree.subsets:
        name, members = each.alias.name, each.this
        assert isinstance(members, nodes.Tuple)
        if name in variables or name in found:
            fail(each, f"there is '{name}' twice")
        for member in members.expressions:
            if nodes.name_of(member) not in variables:
                fail(member, _no_variable(nodes.name_of(member), variables))
        found[name] = tuple(map(nodes.name_of, members.expressions))
    return tuple(found.items())


def _no_variable(name: str, variables: Iterable[str]) -> str:
    return f"the pattern has no variable '{name}'{did_you_mean(name, list(variables))}"


def _defines(tree: nodes.MatchRecognize, names: MatchNames, variables: Sequence[str]) -> tuple[tuple[str, Rex], ...]:
    found: dict[str, Rex] = {}
    for each in tree.define:
        name = each.alias.name
        if name in found:
            fail(each, f"variable '{name}' is defined twice")
        if name in names.subsets:
            fail(each, f"'{name}' is a subset: its members are defined")
        found[name] = names.condition(name, each.this)
    return tuple((name, condition) for name, condition in found.items() if name in variables)


def _target(
    tree: nodes.MatchRecognize, subsets: dict[str, tuple[str, ...]], variables: Sequence[str], beyond: list[str]
) -> tuple[str, ...]:
    """The variables that AFTER MATCH SKIP names."""
    after = tree.after
    if after is None or after.target is None:
        return ()
    name = after.target.name
    if name in subsets:
        beyond.append("AFTER MATCH SKIP to a subset")
        return subsets[name]
    if name not in variables:
        fail(after, _no_variable(name, [*variables, *subsets]))
    return (name,)


def _within(tree: nodes.MatchRecognize, at: From) -> int | None:
    if tree.within is None:
        return None
    span = milliseconds(tree.within, at.block(Scope(), "WITHIN"))
    if span < 0:
        fail(tree.within, "the interval of WITHIN is not negative")
    return span or None  # as in Flink: an interval of 0 is no limit


# -- the columns of the result ----------------------------------------------------------------------------------------


def _with_columns(node: Match, names: Sequence[str], tree: nodes.MatchRecognize) -> Match:
    source = node.input.schema
    timed = _is_timed(node)
    optional = node.rows == ALL_ROWS and node.empty == WITH_UNMATCHED
    measured = []
    for name, each in zip(names, node.measures):
        kind = each.type.nullable() if optional else each.type
        time = is_time(each)
        measured.append(Field(name, kind, None if time == ROWTIME and not timed else _time_of(time, node, optional)))
    keys = tuple(replace(source[index], time=None) for index in node.partition)
    if node.rows != ALL_ROWS:
        return replace(node, columns=_distinct((*keys, *measured), tree))
    ordered = [key.expression.index for key in node.order if isinstance(key.expression, Ref)]
    ordered = [index for index in dict.fromkeys(ordered) if index not in node.partition]
    rest = [index for index in range(len(source)) if index not in (*node.partition, *ordered)]
    before, after = (_passed(source, each, timed) for each in (ordered, rest))
    columns = _distinct((*keys, *before, *measured, *after), tree)
    return replace(node, columns=columns, passed=(*ordered, *rest), ordered=len(ordered))


def _passed(source: Schema, columns: Sequence[int], timed: bool) -> Schema:
    """Columns of the input that every row of the result has."""
    found = (source[index] for index in columns)
    return tuple(each if each.time == ROWTIME and timed else replace(each, time=None) for each in found)


def _time_of(time: str | None, node: Match, optional: bool) -> str | None:
    """The time attribute that a measure is: of the clock that orders the rows, and of every row."""
    source = node.input.schema[_time(node.order).index]
    if optional or (time == ROWTIME and source.time == PROCTIME):
        return None
    return time


def _is_timed(node: Match) -> bool:
    """Whether it is known how long a match may remain open: rows that follow no clock have no time attribute."""
    if not node.standard:
        return True
    parts = (part for each in (*node.measures, *(condition for _, condition in node.defines)) for part in walk(each))
    ahead = any(isinstance(part, Navigation) and part.shift > 0 for part in parts)
    return node.within is not None and "$" not in node.anchors and not ahead


def _distinct(columns: Schema, tree: nodes.MatchRecognize) -> Schema:
    names = [each.name for each in columns]
    for measure in tree.measures:
        if names.count(measure.alias.name) > 1:
            fail(measure, f"the result has a column '{measure.alias.name}' already")
    return columns


def rel_of(plan: Rel, tree: nodes.MatchRecognize, at: From) -> Match:
    """The plan of a clause over a plan, as the Table API has it."""
    return bound_match(tree, Source(plan, scope_of(None, plan.schema)), at)
