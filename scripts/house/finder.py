"""Where to find what: from a method of the DataStream API, or from a clause of SQL, to its operator and its tests.

The tables are made of the source. What is written down here is only what programs call it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts.house.tree import PACKAGE, Module

try:
    import tomllib
except ImportError:
    import tomli as tomllib

TESTS = Path(__file__).parents[2] / "tests"
PROJECT = TESTS.parent / "pyproject.toml"
OPERATORS = "millrace.operators"
"""entry points of pyproject.toml: description -> operator; those of batch mode end with ``.batch``"""
WINDOWS = ("window_operator", f"{PACKAGE}.runtime.windows.choice")
"""chooses the operator of a window"""
MOST_MAKERS = 3
"""modules that a cell names"""

STREAMS: Sequence[tuple[str, str, Sequence[str]]] = (
    # what programs call, the function that makes the description, descriptions
    ("`map`", "datastream.data_stream:DataStream.map", ("Map",)),
    ("`flat_map`", "datastream.data_stream:DataStream.flat_map", ("FlatMap",)),
    ("`filter`", "datastream.data_stream:DataStream.filter", ("Filter",)),
    ("`process`", "datastream.data_stream:DataStream.process", ("Process",)),
    ("`key_by(...).process`", "datastream.data_stream:KeyedStream.process", ("KeyedProcess",)),
    ("`reduce`, `sum`, `min`, `max_by`, ...", "datastream.data_stream:KeyedStream.reduce", ("Reduce",)),
    ("`window(...).reduce`, `aggregate`, ...", "datastream.windowed_stream:_Windows.reduce", ("Window",)),
    ("`join`, `co_group`", "datastream.joins:CoGroupWindows.apply", ("Window",)),
    ("`interval_join`", "datastream.joins:IntervalJoined.process", ("IntervalJoin",)),
    ("`connect(...).process`", "datastream.data_stream:ConnectedStreams.process", ("CoProcess", "KeyedCoProcess")),
    (
        "`connect(...broadcast(...)).process`",
        "datastream.derived_streams:BroadcastConnectedStream.process",
        ("BroadcastProcess", "KeyedBroadcastProcess"),
    ),
    (
        "`AsyncDataStream.ordered_wait`, `unordered_wait`, ...",
        "datastream.async_data_stream:AsyncDataStream.ordered_wait",
        ("AsyncWait",),
    ),
    (
        "`assign_timestamps_and_watermarks`",
        "datastream.data_stream:DataStream.assign_timestamps_and_watermarks",
        ("AssignTimestamps",),
    ),
    (
        "`from_source` and what builds on it",
        "datastream.stream_execution_environment:StreamExecutionEnvironment.from_source",
        ("Source",),
    ),
    ("`sink_to`, `add_sink`", "datastream.data_stream:DataStream.sink_to", ("Sink",)),
    (
        "`add_sink` of a `CheckpointedFunction`",
        "datastream.data_stream:DataStream.add_sink",
        ("StatefulSink",),
    ),
    ("`print`, `execute_and_collect`", "datastream.data_stream:DataStream.print", ("Print", "Collect")),
    ("`cache`", "datastream.data_stream:DataStream.cache", ("FillCache",)),
    (
        "`iterate`, `close_with`",
        "datastream.derived_streams:IterativeStream.close_with",
        ("Iterate", "CloseWith"),
    ),
    ("`CEP.pattern(...).process`, ...", "cep.pattern_stream:PatternStream.process", ("MatchPattern",)),
    ("`CEP.dynamic_patterns`", "cep.pattern_stream:DynamicPatternStream.process", ("MatchPatterns",)),
)
TESTED_BY = {
    "KeyedProcess": "process_timers",
    "KeyedCoProcess": "co_process",
    "KeyedBroadcastProcess": "broadcast_process",
    "FillCache": "cache",
    "Print": "collect",
    "MatchPatterns": "dynamic",
    "match": "match_recognize",
    "temporal_config": "temporal_join",
    "window_config": "window_aggregate",
}
"""description or module -> the name of its test, where that is another one"""
CLAUSES: Mapping[str, str] = {
    "Scan": "FROM a table of a connector",
    "Values": "VALUES; `from_elements`",
    "StreamScan": "a DataStream as a table: `from_data_stream`",
    "Project": "SELECT of expressions; `select`, `add_columns`",
    "Filter": "WHERE, HAVING; `filter`",
    "Watermark": "WATERMARK FOR",
    "Hinted": "hints: `/*+ ... */`",
    "SetOp": "UNION, INTERSECT, EXCEPT",
    "Sort": "ORDER BY, LIMIT, OFFSET",
    "Sink": "INSERT INTO; `execute_insert`",
    "Expand": "GROUPING SETS, CUBE, ROLLUP",
    "Correlate": "LATERAL TABLE, UNNEST; `join_lateral`",
    "Aggregate": "GROUP BY, SELECT DISTINCT",
    "TableAggregate": "`flat_aggregate`",
    "WindowTable": "TABLE(TUMBLE(...)), HOP, CUMULATE, SESSION",
    "WindowAggregate": "GROUP BY window_start, window_end; `window(Tumble...)`",
    "Over": "OVER",
    "Rank": "Top-N: ROW_NUMBER() ... <= n",
    "Deduplicate": "the first or last row of a key: ROW_NUMBER() ... = 1",
    "Match": "MATCH_RECOGNIZE",
    "Join": "JOIN",
    "IntervalJoin": "interval join: JOIN ... ON a.t BETWEEN b.t - ... AND b.t + ...",
    "WindowJoin": "window join: JOIN on window_start and window_end",
    "TemporalJoin": "temporal join: FOR SYSTEM_TIME AS OF a.t",
    "LookupJoin": "look-up join: FOR SYSTEM_TIME AS OF a.proctime",
    "ToChangelog": "TO_CHANGELOG",
    "FromChangelog": "FROM_CHANGELOG",
}
"""plan node -> what SQL and the Table API call it"""


def streams(modules: Mapping[str, Module]) -> str:
    """The table of the DataStream API."""
    streaming, batch = _operators(OPERATORS), _operators(f"{OPERATORS}.batch")
    rows = ["| method | makes the description | description | operator | test |", "|---|---|---|---|---|"]
    for method, maker, specs in STREAMS:
        found = [streaming.get(spec, WINDOWS) for spec in specs]
        homes = [f"{_named([name for name, _ in found])} in `{_path(found[0][1])}`"]
        homes += [f"in batch mode {_named([batch[spec][0] for spec in specs if spec in batch])}"] * any(
            spec in batch for spec in specs
        )
        cells = (method, _maker(maker, modules), _named(specs), "; ".join(homes), _tests_of_specs(specs))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def clauses(modules: Mapping[str, Module]) -> str:
    """The table of SQL and the Table API."""
    heads = (
        "SQL; Table API | plan node | made in | streaming form | operators in `runtime/tables/` | batch form | tests"
    )
    rows = [f"| {heads} |", "|---|---|---|---|---|---|---|"]
    streaming = dict(_forms(modules, "table.planner.nodes", "streaming_form"))
    batch = dict(_forms(modules, "spark.tables.nodes", "batch_form"))
    for node, called in CLAUSES.items():
        form = streaming[node]
        homes = sorted(_runtime_modules(form, modules))
        made = sorted(_makers(node, modules), key=lambda name: (".rules." in name, ".queries." in name, name))
        cells = (
            called,
            f"`{node}`",
            ", ".join([*(f"`{_path(each)}`" for each in made[:MOST_MAKERS]), *["..."] * (len(made) > MOST_MAKERS)]),
            f"`{form[1].name}` in `{_short(form[0])}`",
            ", ".join(f"`{_path(each).removeprefix('runtime/tables/')}`" for each in homes),
            f"`{batch[node][1].name}` in `{_short(batch[node][0])}`" if node in batch else "",
            ", ".join(f"`{each}`" for each in _tests_of(homes)),
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def nodes_without_words(modules: Mapping[str, Module]) -> set[str]:
    """Plan nodes with a streaming form that ``CLAUSES`` does not name."""
    return {node for node, _ in _forms(modules, "table.planner.nodes", "streaming_form")} - set(CLAUSES)


def specs_without_methods() -> set[str]:
    """Descriptions with an operator that ``STREAMS`` does not name."""
    return set(_operators(OPERATORS)) - {spec for _, _, specs in STREAMS for spec in specs}


# DataStreams


def _operators(group: str) -> dict[str, tuple[str, str]]:
    """Description -> (operator, its module), of a group of entry points."""
    points = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["entry-points"][group]
    return {spec: (value.partition(":")[2], value.partition(":")[0]) for spec, value in points.items()}


def _maker(place: str, modules: Mapping[str, Module]) -> str:
    """``DataStream.map`` in its file; raises ``LookupError`` if there is none."""
    module, _, name = place.partition(":")
    cls, _, method = name.partition(".")
    tree = modules[f"{PACKAGE}.{module}"].tree
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == cls]
    if not any(isinstance(each, ast.FunctionDef) and each.name == method for found in classes for each in found.body):
        raise LookupError(f"{module} has no {name}: change STREAMS in scripts/house/finder.py")
    return f"`{name}` in `{module.replace('.', '/')}.py`"


def _tests_of_specs(specs: Sequence[str]) -> str:
    found = [
        each
        for spec in specs
        for each in _best_tests(TESTED_BY.get(spec, _snake(spec)), spec, ("runtime", "datastream", "cep"))
    ]
    return ", ".join(f"`{each}`" for each in dict.fromkeys(found))


# Tables


def _forms(
    modules: Mapping[str, Module], package: str, decorator: str
) -> Iterator[tuple[str, tuple[Module, ast.FunctionDef]]]:
    """Plan node -> (module, function), of the functions that are registered with a decorator."""
    for module in modules.values():
        if module.folder != f"{PACKAGE}.{package}":
            continue
        for each in module.tree.body:
            for mark in each.decorator_list if isinstance(each, ast.FunctionDef) else ():
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == decorator:
                    assert isinstance(each, ast.FunctionDef)
                    yield ast.unparse(mark.args[0]).removeprefix("n."), (module, each)


def _runtime_modules(form: tuple[Module, ast.FunctionDef], modules: Mapping[str, Module]) -> set[str]:
    """The modules of ``runtime.tables`` with the operators that a form makes, also by functions beside it."""
    module, function = form
    beside = {each.name: each for each in module.tree.body if isinstance(each, ast.FunctionDef)}
    homes = _imported(module.tree)
    waiting, seen, found = [function], {function.name}, set()
    while waiting:
        body = waiting.pop().body
        for part in (part for each in body for part in ast.walk(each)):
            if isinstance(part, ast.Name) and part.id in beside and part.id not in seen:
                seen.add(part.id)
                waiting.append(beside[part.id])
            elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
                home = homes.get(part.func.id, "")
                if home.startswith(f"{PACKAGE}.runtime.tables.") and _is_config(part.func.id, modules[home]):
                    # A description may have several operators, which it imports when it chooses one.
                    chosen = {each.target for each in modules[home].imports if each.in_function}
                    found |= {home, *(each for each in chosen if each.startswith(f"{PACKAGE}.runtime.tables."))}
    return found


def _is_config(name: str, module: Module) -> bool:
    """Is it a class that makes an operator?"""
    return any(
        isinstance(each, ast.ClassDef) and each.name == name and "def operator(" in ast.unparse(each)
        for each in module.tree.body
    )


def _makers(node: str, modules: Mapping[str, Module]) -> Iterator[str]:
    """Modules of the binder, the Table API and the rules that make a node."""
    for name, module in modules.items():
        if not name.startswith(
            tuple(f"{PACKAGE}.{each}" for each in ("table.sql.binding", "table.queries", "relational.rules"))
        ):
            continue
        imported = _imported(module.tree).get(node, "").startswith(f"{PACKAGE}.relational.nodes")
        if re.search(rf"\bn\.{node}\(" + (rf"|(?<![\w.]){node}\(" if imported else ""), module.text):
            yield name


def _tests_of(homes: Sequence[str]) -> list[str]:
    stems = [home.rpartition(".")[2] for home in homes]
    pairs = [(TESTED_BY.get(stem, stem), home) for stem, home in zip(stems, homes)]
    found = [each for stem, home in pairs for each in _best_tests(stem, home, ("runtime/tables", "table"))]
    return list(dict.fromkeys(found))


# Both


def _imported(tree: ast.Module) -> dict[str, str]:
    """Name -> the module that it is imported from."""
    return {
        alias.asname or alias.name: each.module or ""
        for each in tree.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }


def _best_tests(stem: str, mentioned: str, folders: Sequence[str]) -> list[str]:
    """The test of that name; else the one that mentions something most often."""
    files = [file for folder in folders for file in sorted((TESTS / folder).rglob("test_*.py"))]
    named = [file for file in files if file.stem == f"test_{stem}"]
    if not named:
        counts = {file: len(re.findall(rf"\b{re.escape(mentioned)}\b", file.read_text("utf-8"))) for file in files}
        best = max(files, key=lambda file: counts[file])
        named = [best] if counts[best] else []
    return [file.relative_to(TESTS.parent).as_posix() for file in named[:1]]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _path(module: str) -> str:
    return module.removeprefix(f"{PACKAGE}.").replace(".", "/") + ".py"


def _short(module: Module) -> str:
    return module.file.name


def _named(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
