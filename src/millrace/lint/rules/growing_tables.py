"""ML002: joins and aggregates of tables without end that keep all rows or keys."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject
from millrace.runtime.jobs import specs
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.aggregates.table_aggregate import TableAggregate
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.joins.regular_join import RegularJoin
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.runtime.tables.ordering.rank import TopRows
from millrace.runtime.tables.set_operations import SetOperation
from millrace.table.settings.table_config import STATE_TTL


def check(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes if subject.streaming else ():
        if isinstance(node.spec, specs.TableStep) and (what := _kept(node.spec.config)) and subject.is_endless(node):
            yield Hit(node.origin, f"{what}, for ever")


def _kept(config: TableConfig) -> str | None:
    """What grows with the input."""
    match config:
        case RegularJoin(state_ttl=ttl, left_ttl=left, right_ttl=right):
            lasting = [side for side in (left, right) if not (ttl if side is None else side)]
            return {0: None, 1: "the join keeps all rows of one side"}.get(
                len(lasting), "the join keeps all rows of both sides"
            )
        case GroupAggregate(state_ttl=0, keys=(_, *_), calls=()):
            return "DISTINCT keeps all its rows"
        case GroupAggregate(state_ttl=0, keys=(_, *_)) | TableAggregate(state_ttl=0, keys=(_, *_)):
            return "GROUP BY keeps all its groups"
        case TopRows(state_ttl=0, partition=(_, *_)):
            return "the Top-N keeps the first rows of all its partitions"
        case Deduplicate(state_ttl=0):
            return "the deduplication keeps all its keys"
        case SetOperation(state_ttl=0):
            return "the set operation keeps all its rows"
    return None


RULE = Rule(
    code="ML002",
    name="growing-tables",
    meaning="A regular join keeps all rows of both sides, since any may still find a partner; GROUP BY, DISTINCT, "
    "Top-N and deduplication keep something for each key. Over tables without end that grows until memory or "
    "disk is full.",
    cure=f"set '{STATE_TTL}', use the hint STATE_TTL, or join and group within windows or intervals of time",
    bad='''\
t_env = StreamTableEnvironment.create(env)
t_env.create_temporary_view("words", words)
t_env.execute_sql("CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'print')")
t_env.execute_sql("INSERT INTO counts SELECT f0, COUNT(*) FROM words GROUP BY f0")
''',
    good='''\
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.exec.state.ttl", "1 d")
t_env.create_temporary_view("words", words)
t_env.execute_sql("CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'print')")
t_env.execute_sql("INSERT INTO counts SELECT f0, COUNT(*) FROM words GROUP BY f0")
''',
    check=check,
)
