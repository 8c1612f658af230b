"""Applies rules to jobs: all rules by code, the project's selection, and comments that suppress a finding. And the
rules on the shape of a job: watermarks, exchanges, checkpoints, parallelism, sinks, and how it is started.

A project chooses in ``[tool.millrace.lint]`` of pyproject.toml. The comment ``# millrace: ignore[ML003]`` ignores one
rule, ``# millrace: ignore`` all rules.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.connectors.tables.print_table import LinesSink
from millrace.graph.program import Cache, Edge, Node
from millrace.lint import function_rules
from millrace.lint.facts import Finding, Hit, Rule, Subject, place_of, sources_without_time
from millrace.lint.user_code import functions_of, pieces, tree_of_file
from millrace.runtime.exchange.partitioners import Rebalance, Rescale, Shuffle
from millrace.runtime.operators import specs

# ML004: windows, joins, patterns and timers that wait for watermarks that never come

_TIMER = "register_event_time_timer"


def _check_no_watermarks(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes if subject.streaming else ():
        for origin, what in _waiting(subject, node):
            source = next(sources_without_time(subject, node), None)
            if source is not None:
                file, line = place_of(source.origin)
                yield Hit(origin, f"{what} for watermarks, and {source.name!r} ({file}:{line}) has none")


def _waiting(subject: Subject, node: Node) -> Iterator[tuple[str, str]]:
    """Operators that wait for watermarks: (file:line, description)."""
    match node.spec:
        case specs.Window(strategy=strategy) if strategy.is_event_time:
            yield node.origin, f"{type(strategy.assigner).__name__} wait"
        case specs.IntervalJoin():
            yield node.origin, "the interval join waits"
        case specs.MatchPattern(event_time=True) | specs.MatchPatterns(event_time=True):
            yield node.origin, "the pattern goes by event time and waits"
        case specs.Process() | specs.KeyedProcess() | specs.KeyedCoProcess() | specs.KeyedBroadcastProcess():
            # At the end of an input timers fire, which some want.
            yield from _timers(node) if subject.is_endless(node) else ()


def _timers(node: Node) -> Iterator[tuple[str, str]]:
    for code in functions_of(node):
        for piece in pieces(code):
            for call in ast.walk(piece.tree):
                if isinstance(call, ast.Attribute) and call.attr == _TIMER:
                    yield piece.origin(call), "the timer waits"


NO_WATERMARKS = Rule(
    code="ML004",
    name="no-watermarks",
    meaning="Event time moves with watermarks only. Where a source has no WatermarkStrategy, elements have no "
    "timestamps, windows never close and timers never fire: nothing comes out, or all of it at the end of the "
    "input.",
    cure="call assign_timestamps_and_watermarks() before, give from_source() a strategy, or use processing time",
    bad="""\
counted = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
counted.window(TumblingEventTimeWindows.of(Time.minutes(1))).sum(1).print()
env.execute()
""",
    good="""\
class At(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return int(value.split(",")[0])


strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).with_timestamp_assigner(At())
counted = words.assign_timestamps_and_watermarks(strategy).map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
counted.window(TumblingEventTimeWindows.of(Time.minutes(1))).sum(1).print()
env.execute()
""",
    check=_check_no_watermarks,
)


# ML008: elements that are sent to other tasks for nothing

_SPREADING = (Rebalance, Rescale, Shuffle)
_STATELESS = (specs.Map, specs.FlatMap, specs.Filter)


def _check_needless_exchange(subject: Subject) -> Iterator[Hit]:
    made = subject.made.by_id()
    for node in subject.made.nodes:
        for edge in node.edges:
            upper = made[edge.source]
            if isinstance(edge.partitioner, _SPREADING):
                yield from _spread_for_nothing(subject, upper, edge, node)
        yield from _narrow(subject, node)


def _spread_for_nothing(subject: Subject, upper: Node, edge: Edge, node: Node) -> Iterator[Hit]:
    name = type(edge.partitioner).__name__.lower()
    widths = subject.nodes[upper.id].parallelism, subject.nodes[node.id].parallelism
    if widths == (1, 1):
        yield Hit(node.origin, f"{name}() between {upper.name!r} and {node.name!r}, which have one subtask each")
    elif widths[0] == widths[1] and _is_spread(upper):
        yield Hit(node.origin, f"{name}() before {node.name!r}: those of {upper.name!r} are spread evenly already")


def _is_spread(node: Node) -> bool:
    """Whether an operator that does not change the distribution gets its elements evenly."""
    evenly = all(isinstance(edge.partitioner, (Rebalance, Shuffle)) for edge in node.edges)
    return isinstance(node.spec, specs.Map) and bool(node.edges) and evenly


def _narrow(subject: Subject, node: Node) -> Iterator[Hit]:
    """Find a node with fewer subtasks than the nodes before and after it."""
    if not isinstance(node.spec, _STATELESS) or any(edge.partitioner is not None for edge in node.edges):
        return
    width = subject.nodes[node.id].parallelism or 1
    readers = [reader for reader, edge in subject.made.outputs()[node.id] if edge.partitioner is None]
    around = [edge.source for edge in node.edges], [reader.id for reader in readers]
    if all(ids and all((subject.nodes[id].parallelism or 1) > width for id in ids) for ids in around):
        yield Hit(node.origin, f"{node.name!r} has {width} subtasks, fewer than the operators before and behind it")


NEEDLESS_EXCHANGE = Rule(
    code="ML008",
    name="needless-exchange",
    meaning="An exchange costs more than most functions: elements are pickled, sent and read again, and a stage of "
    "Spark is added. disable_chaining() costs nothing here, and is no finding.",
    cure="leave out rebalance() between operators of equal parallelism, and set_parallelism() on single steps",
    bad="""\
words.rebalance().map(str.lower).rebalance().map(str.strip).set_parallelism(env.get_parallelism()).print()
env.execute()
""",
    good="""\
words.rebalance().map(str.lower).map(str.strip).print()
env.execute()
""",
    check=_check_needless_exchange,
)


# ML009: sinks that commit, in jobs without checkpoints


def _check_no_checkpoints(subject: Subject) -> Iterator[Hit]:
    if not subject.streaming or subject.checkpoints:
        return
    for node in subject.graph.nodes:
        if isinstance(node.spec, specs.Sink) and not isinstance(node.spec.sink, LinesSink):
            if node.spec.committer() is not None and subject.is_endless(node):
                yield Hit(node.origin, f"{node.name!r} writes in transactions, but the job takes no checkpoints")


NO_CHECKPOINTS = Rule(
    code="ML009",
    name="no-checkpoints",
    meaning="Exactly once means that what is committed and what the job goes on from agree. Without checkpoints a job "
    "whose driver dies begins anew, and writes again what it has committed.",
    cure="call env.enable_checkpointing(ms), or set execution.checkpointing.interval and execution.checkpointing.dir",
    bad="""\
words.sink_to(FileSink.for_row_format("out", Encoder.simple_string_encoder()).build())
env.execute()
""",
    good="""\
env.enable_checkpointing(60_000)
words.uid("words")
words.sink_to(FileSink.for_row_format("out", Encoder.simple_string_encoder()).build())
env.execute()
""",
    check=_check_no_checkpoints,
)


# ML010: windows over everything, in one subtask


def _check_one_subtask(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes:
        if isinstance(node.spec, specs.Window) and node.non_parallel and subject.is_endless(node):
            width = max(subject.nodes[edge.source].parallelism or 1 for edge in node.edges)
            if width > 1:
                yield Hit(node.origin, f"all elements of {width} subtasks go to a single one for this window")


ONE_SUBTASK = Rule(
    code="ML010",
    name="one-subtask",
    meaning="window_all() and count_window_all() bring all elements to one subtask, which no parallelism makes faster.",
    cure="fold in a keyed window before, or only there, so that few elements are left for window_all()",
    bad="""\
pairs = words.map(lambda word: (word, 1))
pairs.window_all(TumblingProcessingTimeWindows.of(Time.minutes(1))).sum(1).print()
env.execute()
""",
    good="""\
pairs = words.map(lambda word: (word, 1))
pairs.key_by(lambda pair: pair[0]).window(TumblingProcessingTimeWindows.of(Time.minutes(1))).sum(1).print()
env.execute()
""",
    check=_check_one_subtask,
)


# ML011: streams whose elements go nowhere


def _check_lost_results(subject: Subject) -> Iterator[Hit]:
    readers = subject.graph.outputs()
    for node in subject.graph.nodes:
        if not readers[node.id] and not node.is_sink and not isinstance(node.spec, Cache):
            yield Hit(node.origin, f"nothing reads what {node.name!r} gives")


LOST_RESULTS = Rule(
    code="ML011",
    name="lost-results",
    meaning="The operator runs and its results are dropped: a sink was forgotten, or the result of a method was "
    "(streams are not changed by their methods, which give new ones).",
    cure="end the stream with sink_to(), print() or execute_and_collect(); what a function writes itself belongs "
    "in a sink",
    bad="""\
shouted = words.map(str.upper)
words.print()
env.execute()
""",
    good="""\
shouted = words.map(str.upper)
shouted.print()
env.execute()
""",
    check=_check_lost_results,
)


# ML014: a job for every turn of a loop

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def _check_job_in_loop(subject: Subject) -> Iterator[Hit]:
    tree = tree_of_file(subject.program) if subject.program else None
    for loop in ast.walk(tree) if tree is not None else ():
        for statement in loop.body if isinstance(loop, _LOOPS) else ():
            for call in ast.walk(statement):
                if isinstance(call, ast.Call) and _collects(call):
                    line = call.end_lineno or call.lineno
                    yield Hit(f"{subject.program}:{line}", "every turn of the loop starts a job to collect its results")


def _collects(call: ast.Call) -> bool:
    """Whether a call collects results: ``stream.execute_and_collect()`` or ``table.execute().collect()``."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "execute_and_collect":
        return True
    inner = call.func.value
    executed = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "execute"
    return call.func.attr == "collect" and executed


JOB_IN_LOOP = Rule(
    code="ML014",
    name="job-in-loop",
    meaning="Collecting runs a job, with everything above it computed once more: a second or more for every turn.",
    cure="make one stream or table of all turns (union, a column that tells them apart) and collect once",
    bad="""\
for number in range(3):
    for word in words.filter(lambda word: len(word) == number).execute_and_collect():
        print(number, word)
""",
    good="""\
for word in words.map(lambda word: (len(word), word)).execute_and_collect():
    print(*word)
""",
    check=_check_job_in_loop,
)


# Comments

_COMMENT = re.compile(r"#.*?\bmillrace:\s*ignore(?:\[(?P<rules>[^\]]*)\])?")


def is_ignored(origin: str, code: str, name: str) -> bool:
    """Whether the finding's line, or another line of the same simple statement, has a comment that suppresses it."""
    file, _, line = origin.rpartition(":")
    if not line.isdigit():
        return False
    return any({"*", code, name} & _ignored(linecache.getline(file, each)) for each in _lines(file, int(line)))


def _ignored(text: str) -> set[str]:
    found = _COMMENT.search(text)
    if found is None:
        return set()
    rules = found["rules"]
    return {"*"} if rules is None else {each.strip() for each in rules.split(",")}


def _lines(file: str, line: int) -> Iterator[int]:
    yield line
    tree = tree_of_file(file)
    for each in ast.walk(tree) if tree is not None else ():
        if isinstance(each, ast.stmt) and not hasattr(each, "body") and not isinstance(each, ast.Match):
            lines = range(each.lineno, (each.end_lineno or each.lineno) + 1)
            yield from lines if line in lines else ()


# All rules

RULES: tuple[Rule, ...] = (
    function_rules.GROWING_STATE,
    function_rules.GROWING_TABLES,
    function_rules.RANDOM_KEY,
    NO_WATERMARKS,
    function_rules.LARGE_CLOSURE,
    function_rules.BLOCKING_CALL,
    function_rules.NO_UID,
    NEEDLESS_EXCHANGE,
    NO_CHECKPOINTS,
    ONE_SUBTASK,
    LOST_RESULTS,
    function_rules.OUTER_VARIABLE,
    function_rules.ATTRIBUTE_STATE,
    JOB_IN_LOOP,
)


# Findings


@dataclass(frozen=True)
class Chosen:
    """A selection of rules, by codes or names."""

    select: tuple[str, ...] = ()
    """rules to apply; empty: all"""
    ignore: tuple[str, ...] = ()
    """rules to leave out"""

    def rules(self) -> list[Rule]:
        """The rules, in order.

        :raises ValueError: a word that is no rule.
        """
        known = {word for rule in RULES for word in (rule.code, rule.name)}
        for word in (*self.select, *self.ignore):
            if word not in known:
                codes = ", ".join(f"{rule.code} ({rule.name})" for rule in RULES)
                raise ValueError(f"{word!r} is no rule; there are {codes}")
        wanted = [rule for rule in RULES if not self.select or _is_named(rule, self.select)]
        return [rule for rule in wanted if not _is_named(rule, self.ignore)]


def _is_named(rule: Rule, words: Collection[str]) -> bool:
    return rule.code in words or rule.name in words


def findings(subjects: Iterable[Subject], chosen: Chosen = Chosen()) -> list[Finding]:
    """The findings in some jobs of a program, without duplicates, sorted by file and line, without suppressed ones.

    :raises ValueError: a word that is no rule.
    """
    rules = chosen.rules()
    found = set()
    for subject in subjects:
        for rule in rules:
            for hit in rule.check(subject):
                if not is_ignored(hit.origin, rule.code, rule.name):
                    file, line = place_of(hit.origin)
                    found.add(Finding(file, line, rule.code, rule.name, hit.text, rule.cure))
    return sorted(found)


# pyproject.toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEYS = ("select", "ignore")


def project_settings(folder: Path) -> Chosen:
    """The selection in the nearest pyproject.toml above a folder; all rules if there is none.

    :raises ValueError: it is wrong; the text names the file.
    """
    files = (each / "pyproject.toml" for each in (folder, *folder.parents))
    file = next((each for each in files if each.is_file()), None)
    if file is None:
        return Chosen()
    try:
        table = tomllib.loads(file.read_text("utf-8")).get("tool", {}).get("millrace", {}).get("lint", {})
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: {error}") from None
    unknown = [key for key in table if key not in _KEYS]
    if unknown:
        raise ValueError(f"{file}: [tool.millrace.lint] has {' and '.join(_KEYS)}, and no {unknown[0]!r}")
    chosen = Chosen(*(_words(file, table, key) for key in _KEYS))
    try:
        chosen.rules()
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return chosen


def _words(file: Path, table: dict[str, Any], key: str) -> tuple[str, ...]:
    words = table.get(key, [])
    if not isinstance(words, list) or not all(isinstance(each, str) for each in words):
        raise ValueError(f"{file}: {key} of [tool.millrace.lint] is a list of rules, such as ['ML003']")
    return tuple(words)
