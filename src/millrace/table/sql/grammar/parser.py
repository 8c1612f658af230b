"""SQL text to statements: what the client, the table environment and the binder call (``parse_script``,
``parse_statement``, ``parse_query``, ``parse_expression``, ...). A script is cut into statements at its semicolons,
and each is read by its first word.

The readers of ALTER and of statements about rows and about the session stand here: INSERT, statement sets, DELETE,
UPDATE, TRUNCATE, CALL, queries; SHOW, DESCRIBE, USE; EXPLAIN, SET, RESET, modules, jars, jobs, ANALYZE, plans.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from millrace.relational.rex import deep_calls
from millrace.relational.types import DataType
from millrace.table.sql import nodes
from millrace.table.sql.grammar import create, expressions, queries, types
from millrace.table.sql.grammar.create import (
    at_constraint,
    at_watermark,
    column,
    constraint,
    create_statement,
    if_exists,
    if_not_exists,
    language_of,
    names,
    option_keys,
    options,
    partition,
    read_distribution,
    read_watermark,
    table_options,
    with_options,
    written_expression,
    written_query,
)
from millrace.table.sql.statements import (
    Add,
    AddPartitions,
    Alter,
    Analyze,
    Call,
    Change,
    ClientCommand,
    CompilePlan,
    CreateTable,
    Delete,
    Describe,
    DescribeJob,
    DescribeQuery,
    DropColumns,
    DropPart,
    DropPartitions,
    Element,
    ExecutePlan,
    Explain,
    Insert,
    Jar,
    LoadModule,
    Modify,
    Pattern,
    PlacedColumn,
    Query,
    Refresh,
    Rename,
    RenameColumn,
    Reset,
    ResetOptions,
    Resume,
    Set,
    SetComment,
    SetFunction,
    SetOptions,
    SetQuery,
    Show,
    Statement,
    StatementSet,
    StopJob,
    Summarize,
    Suspend,
    Truncate,
    UnloadModule,
    Update,
    UseCatalog,
    UseDatabase,
    UseModules,
    Written,
)
from millrace.table.sql.text import Cursor, Kind, Name, Path, Position, Source, SqlParseError, Token, Upper, tokenize
from millrace.util.names import did_you_mean

# Tables


def alter_table(cursor: Cursor) -> Change:
    """What follows the name of the table."""
    return _changed(cursor, "ADD", "MODIFY", "DROP", "RENAME", "SET", "RESET")


def alter_materialized_table(cursor: Cursor) -> Change:
    return _changed(cursor, "AS", "SUSPEND", "RESUME", "REFRESH", "ADD", "MODIFY", "DROP", "RENAME", "SET", "RESET")


def _changed(cursor: Cursor, *words: str) -> Change:
    return _CHANGES[cursor.expect_any(*words)](cursor)


def _add(cursor: Cursor) -> Change:
    begin = cursor.index
    missing = if_not_exists(cursor)
    if cursor.at("PARTITION"):
        partitions = []
        while cursor.take("PARTITION"):
            partitions.append((partition(cursor), with_options(cursor)))
            cursor.take(",")
        return AddPartitions(tuple(partitions), missing)
    if missing:
        cursor.fail("IF NOT EXISTS stands only before PARTITION here", begin)
    return Add(_elements(cursor))


def _modify(cursor: Cursor) -> Change:
    return Modify(_elements(cursor))


def _elements(cursor: Cursor) -> tuple[Element, ...]:
    """One element, or several in brackets."""
    if cursor.at("("):
        return tuple(element for part in cursor.in_brackets(lambda: _element(cursor)) for element in part)
    return tuple(_element(cursor))


def _element(cursor: Cursor) -> list[Element]:
    """A column (with its key, if it says PRIMARY KEY), a watermark, a key or a distribution."""
    if at_watermark(cursor):
        return [read_watermark(cursor)]
    if at_constraint(cursor):
        return [constraint(cursor)]
    if cursor.take("DISTRIBUTION"):
        return [read_distribution(cursor)]
    found, key = column(cursor)
    first = cursor.take("FIRST")
    after = cursor.name("a name of a column") if cursor.take("AFTER") else None
    placed: list[Element] = [PlacedColumn(found, first, after)]
    return [*placed, key] if key else placed


def _drop(cursor: Cursor) -> Change:
    exists = if_exists(cursor)
    if cursor.take("PARTITION"):
        specs = [partition(cursor)]
        while cursor.take(","):
            cursor.expect("PARTITION")
            specs.append(partition(cursor))
        return DropPartitions(tuple(specs), exists)
    if cursor.take("PRIMARY", "KEY"):
        return DropPart("PRIMARY KEY")
    if cursor.take("CONSTRAINT"):
        return DropPart("CONSTRAINT", cursor.name("a name of the constraint"))
    for part in ("WATERMARK", "DISTRIBUTION"):
        if cursor.take(part):
            return DropPart(part)
    if cursor.at("("):
        return DropColumns(tuple(cursor.in_brackets(lambda: cursor.path("a name of a column"))))
    return DropColumns((cursor.path("a name of a column"),))


def _rename_in_table(cursor: Cursor) -> Change:
    if cursor.take("TO"):
        return Rename(cursor.path("a new name"))
    old = cursor.path("a name of a column")
    cursor.expect("TO")
    return RenameColumn(old, cursor.name("a new name"))


def _refresh(cursor: Cursor) -> Change:
    return Refresh(partition(cursor) if cursor.take("PARTITION") else ())


_CHANGES: dict[str, Callable[[Cursor], Change]] = {
    "ADD": _add,
    "MODIFY": _modify,
    "DROP": _drop,
    "RENAME": _rename_in_table,
    "SET": lambda cursor: SetOptions(options(cursor)),
    "RESET": lambda cursor: ResetOptions(option_keys(cursor)),
    "AS": lambda cursor: SetQuery(written_query(cursor)),
    "SUSPEND": lambda cursor: Suspend(),
    "RESUME": lambda cursor: Resume(with_options(cursor)),
    "REFRESH": _refresh,
}


# Other objects


def alter(cursor: Cursor) -> Statement:
    begin = cursor.index
    cursor.expect("ALTER")
    temporary = cursor.take("TEMPORARY")
    system = temporary and cursor.take("SYSTEM")
    kind = cursor.expect_any("TABLE", "MATERIALIZED", "VIEW", "DATABASE", "FUNCTION", "CATALOG", "MODEL")
    if temporary and kind != "FUNCTION":
        cursor.fail(f"there is no ALTER TEMPORARY {kind}: drop it and create it anew", begin)
    if kind == "MATERIALIZED":
        cursor.expect("TABLE")
        kind = "MATERIALIZED TABLE"
    exists = if_exists(cursor)
    path = cursor.path(f"a name of a {kind.lower()}")
    if kind == "FUNCTION":
        return Alter(kind, path, _function(cursor, temporary, system), exists)
    return Alter(kind, path, _ALTER_READERS[kind](cursor), exists)


def _function(cursor: Cursor, temporary: bool, system: bool) -> SetFunction:
    cursor.expect("AS")
    identifier = cursor.string("'module.name' of the function")
    return SetFunction(identifier, language_of(cursor), temporary, system)


def _view(cursor: Cursor) -> Change:
    if cursor.expect_any("RENAME", "AS") == "AS":
        return SetQuery(written_query(cursor))
    return _rename_object(cursor)


def _rename_object(cursor: Cursor) -> Rename:
    cursor.expect("TO")
    return Rename(cursor.path("a new name"))


def _database(cursor: Cursor) -> Change:
    return _settings(cursor, "SET", "RESET")


def _catalog(cursor: Cursor) -> Change:
    return _settings(cursor, "SET", "RESET", "COMMENT")


def _model(cursor: Cursor) -> Change:
    return _settings(cursor, "SET", "RESET", "RENAME")


def _settings(cursor: Cursor, *words: str) -> Change:
    word = cursor.expect_any(*words)
    if word == "SET":
        return SetOptions(options(cursor))
    if word == "RESET":
        return ResetOptions(option_keys(cursor))
    return SetComment(cursor.string()) if word == "COMMENT" else _rename_object(cursor)


_ALTER_READERS: dict[str, Callable[[Cursor], Change]] = {
    "TABLE": alter_table,
    "MATERIALIZED TABLE": alter_materialized_table,
    "VIEW": _view,
    "DATABASE": _database,
    "CATALOG": _catalog,
    "MODEL": _model,
}


# Rows


def query(cursor: Cursor) -> Query:
    begin = cursor.index
    tree = queries.query(cursor)
    return Query(tree, position=cursor.span(begin))


def insert(cursor: Cursor) -> Insert:
    begin = cursor.index
    cursor.expect("INSERT")
    overwrite = cursor.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
    path = cursor.path("a name of a table")
    options = table_options(cursor)
    spec = partition(cursor) if cursor.take("PARTITION") else ()
    columns = () if queries.starts(cursor) or not cursor.at("(") else names(cursor)
    found = written_query(cursor)
    on_conflict = None
    if cursor.take("ON", "CONFLICT"):
        cursor.expect("DO")
        on_conflict = cursor.expect_any("ERROR", "NOTHING", "DEDUPLICATE")
    return Insert(path, found, columns, spec, overwrite, options, on_conflict, position=cursor.span(begin))


def statement_block(cursor: Cursor) -> StatementSet:
    """BEGIN STATEMENT SET; .. END as a statement of its own: nothing may be in it, as in Flink's client."""
    return statement_set(cursor, may_be_empty=True)


def statement_set(cursor: Cursor, may_be_empty: bool = False) -> StatementSet:
    """BEGIN STATEMENT SET; .. END, or STATEMENT SET BEGIN .. END.

    :raises SqlParseError: something else than INSERT in it, or nothing.
    """
    begin = cursor.index
    if cursor.take("BEGIN"):
        if cursor.at_any("TRANSACTION", "WORK"):
            cursor.fail("there are no transactions; BEGIN STATEMENT SET runs INSERTs as one job")
        cursor.expect("STATEMENT", "SET")
        cursor.expect(";")
    else:
        cursor.expect("STATEMENT", "SET", "BEGIN")
    inserts: list[Insert] = []
    while not cursor.take("END"):
        if not cursor.at("INSERT"):
            cursor.fail_expecting("INSERT, or END of the statement set")
        inserts.append(insert(cursor))
        cursor.expect(";")
    if not inserts and not may_be_empty:
        cursor.fail("a statement set needs an INSERT at least", begin)
    return StatementSet(tuple(inserts), position=cursor.span(begin))


def executable(cursor: Cursor) -> Query | Insert | StatementSet:
    """What EXPLAIN and EXECUTE take: a query, an insert or a statement set."""
    if cursor.at("INSERT"):
        return insert(cursor)
    if cursor.at_any("STATEMENT", "BEGIN"):
        return statement_set(cursor)
    if not queries.starts(cursor):
        cursor.fail_expecting("a query, INSERT or STATEMENT SET")
    return query(cursor)


def execute(cursor: Cursor) -> Statement:
    """EXECUTE and what it runs; EXECUTE PLAN is elsewhere."""
    begin = cursor.index
    cursor.expect("EXECUTE")
    return replace(executable(cursor), position=cursor.span(begin))


def delete(cursor: Cursor) -> Delete:
    cursor.expect("DELETE", "FROM")
    path = cursor.path("a name of a table")
    return Delete(path, _where(cursor))


def update(cursor: Cursor) -> Update:
    cursor.expect("UPDATE")
    path = cursor.path("a name of a table")
    cursor.expect("SET")
    assignments = tuple(cursor.listed(lambda: _assignment(cursor)))
    return Update(path, assignments, _where(cursor))


def _assignment(cursor: Cursor) -> tuple[Name, Written]:
    column = cursor.name("a name of a column")
    cursor.expect("=")
    return column, written_expression(cursor)


def _where(cursor: Cursor) -> Written | None:
    return written_expression(cursor) if cursor.take("WHERE") else None


def truncate(cursor: Cursor) -> Truncate:
    cursor.expect("TRUNCATE", "TABLE")
    return Truncate(cursor.path("a name of a table"))


def call(cursor: Cursor) -> Call:
    cursor.expect("CALL")
    path = cursor.path("a name of a procedure")
    cursor.expect("(")
    arguments = [] if cursor.at(")") else cursor.listed(lambda: expressions.argument(cursor))
    cursor.expect(")")
    return Call(path, tuple(arguments))


# SHOW, DESCRIBE, USE

_WITH_DATABASE = ("TABLES", "VIEWS", "MATERIALIZED TABLES", "FUNCTIONS", "USER FUNCTIONS", "PROCEDURES", "MODELS")
"""May have FROM or IN, and a pattern."""

_WITH_PATH = ("CREATE TABLE", "CREATE VIEW", "CREATE MATERIALIZED TABLE", "CREATE MODEL", "CREATE CATALOG")

_KINDS = (
    *("CURRENT CATALOG", "CURRENT DATABASE", "CATALOGS", "DATABASES", "COLUMNS", "PARTITIONS"),
    *("FULL MODULES", "MODULES", "JARS", "JOBS"),
    *_WITH_DATABASE,
    *_WITH_PATH,
)


def show(cursor: Cursor) -> Show:
    cursor.expect("SHOW")
    kind = next((kind for kind in _KINDS if cursor.take(*kind.split())), None)
    if kind is None and cursor.take("CREATE", "OR", "ALTER", "MATERIALIZED", "TABLE"):
        kind = "CREATE MATERIALIZED TABLE"
    if kind is None:
        word = cursor.token.text
        cursor.fail(f"there is no SHOW {word}{did_you_mean(word, _KINDS)}" if word else "SHOW what?")
    if kind in _WITH_PATH:
        return Show(kind, cursor.path("a name"))
    if kind == "PARTITIONS":
        path = cursor.path("a name of a table")
        return Show(kind, path, partition=partition(cursor) if cursor.take("PARTITION") else ())
    if kind == "COLUMNS":
        cursor.expect_any("FROM", "IN")
        return Show(kind, cursor.path("a name of a table"), _pattern(cursor))
    if kind in ("CATALOGS", "DATABASES", *_WITH_DATABASE):
        return Show(kind, None if kind == "CATALOGS" else _from(cursor), _pattern(cursor))
    if kind in ("JARS", "JOBS"):
        return Show(kind, pattern=_pattern(cursor))
    return Show(kind)


def _from(cursor: Cursor) -> Path | None:
    return cursor.path("a name of a database") if cursor.take_any("FROM", "IN") else None


def _pattern(cursor: Cursor) -> Pattern | None:
    if not cursor.at_any("NOT", "LIKE", "ILIKE"):
        return None
    negated = cursor.take("NOT")
    ignore_case = cursor.expect_any("LIKE", "ILIKE") == "ILIKE"
    return Pattern(cursor.string("a pattern in single quotes"), negated, ignore_case)


def describe(cursor: Cursor) -> Statement:
    cursor.expect_any("DESCRIBE", "DESC")
    if cursor.take("JOB"):
        return DescribeJob(cursor.string("the id of a job in single quotes"))
    if queries.starts(cursor):
        return DescribeQuery(queries.query(cursor))
    # A table may be called CATALOG or EXTENDED: then no name follows.
    kind = cursor.take_any("CATALOG", "DATABASE", "FUNCTION", "MODEL") if cursor.is_name(1) else ""
    extended = cursor.is_name(1) and cursor.take("EXTENDED")
    return Describe(kind or "TABLE", cursor.path(f"a name of a {kind.lower() or 'table'}"), extended)


def summarize(cursor: Cursor) -> Statement:
    cursor.expect("SUMMARIZE")
    begin = cursor.index
    if queries.starts(cursor, nested=False):
        return Summarize(cursor.put(nodes.Subquery(this=queries.query(cursor)), begin))
    return Summarize(queries.relation(cursor))


def use(cursor: Cursor) -> Statement:
    cursor.expect("USE")
    if cursor.at("CATALOG") and cursor.is_name(1):
        cursor.advance()
        return UseCatalog(cursor.name("a name of a catalog"))
    if cursor.at("MODULES") and cursor.is_name(1):
        cursor.advance()
        return UseModules(tuple(cursor.listed(lambda: cursor.name("a name of a module"))))
    return UseDatabase(cursor.path("a name of a database"))


# The session

DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")
_PLAIN_KEY, _PLAIN_VALUE = re.compile(r"[^\s'\"`;=]+"), re.compile(r"[^\s'\"`;]+")


def explain(cursor: Cursor) -> Explain:
    cursor.expect("EXPLAIN")
    details: tuple[str, ...] = ()
    if not cursor.take("PLAN", "FOR") and cursor.at_any(*DETAILS):
        details = tuple(cursor.listed(lambda: cursor.expect_any(*DETAILS)))
    if not cursor.at_any("CREATE", "REPLACE"):
        # EXECUTE says no more than the statement itself.
        cursor.take("EXECUTE")
        return Explain(executable(cursor), details)
    begin = cursor.index
    made = create_statement(cursor)
    if not isinstance(made, CreateTable) or made.query is None:
        cursor.fail("of what is created only CREATE TABLE .. AS SELECT has a plan", begin)
    return Explain(made, details)


def set_option(cursor: Cursor) -> Set:
    cursor.expect("SET")
    if cursor.token.kind is Kind.END:
        return Set()
    key = _key(cursor)
    cursor.expect("=")
    if cursor.token.kind is Kind.STRING:
        return Set(key, cursor.string())
    return Set(key, cursor.unbroken(_PLAIN_VALUE, "a value"))


def reset(cursor: Cursor) -> Reset:
    cursor.expect("RESET")
    if cursor.token.kind is Kind.END:
        return Reset()
    return Reset(_key(cursor))


def _key(cursor: Cursor) -> Name:
    """A key of the configuration, in single quotes or without."""
    return cursor.unbroken(_PLAIN_KEY, "a key") if cursor.token.kind is Kind.WORD else cursor.string("a key")


def load(cursor: Cursor) -> LoadModule:
    cursor.expect("LOAD", "MODULE")
    name = cursor.name("a name of a module")
    return LoadModule(name, with_options(cursor))


def unload(cursor: Cursor) -> UnloadModule:
    cursor.expect("UNLOAD", "MODULE")
    return UnloadModule(cursor.name("a name of a module"))


def jar(cursor: Cursor) -> Jar:
    action = cursor.expect_any("ADD", "REMOVE")
    cursor.expect("JAR")
    return Jar(action, cursor.string("a path in single quotes"))


def stop(cursor: Cursor) -> StopJob:
    cursor.expect("STOP", "JOB")
    job = cursor.string("the id of a job in single quotes")
    flags = {"SAVEPOINT": False, "DRAIN": False}
    while cursor.take("WITH"):
        flags[cursor.expect_any(*flags)] = True
    return StopJob(job, flags["SAVEPOINT"], flags["DRAIN"])


def analyze(cursor: Cursor) -> Analyze:
    cursor.expect("ANALYZE", "TABLE")
    path = cursor.path("a name of a table")
    spec = partition(cursor) if cursor.take("PARTITION") else ()
    cursor.expect("COMPUTE", "STATISTICS")
    if not cursor.take("FOR"):
        return Analyze(path, spec)
    if cursor.take("ALL"):
        cursor.expect("COLUMNS")
        return Analyze(path, spec, all_columns=True)
    cursor.expect("COLUMNS")
    columns = names(cursor) if cursor.at("(") else tuple(cursor.listed(lambda: cursor.name("a name of a column")))
    return Analyze(path, spec, columns)


def compile_plan(cursor: Cursor) -> CompilePlan:
    cursor.expect("COMPILE")
    runs = cursor.take("AND", "EXECUTE")
    cursor.expect("PLAN")
    file = cursor.string("a path in single quotes")
    missing = cursor.take("IF", "NOT", "EXISTS")
    cursor.expect("FOR")
    begin = cursor.index
    statement = executable(cursor)
    if isinstance(statement, Query):
        cursor.fail("only the plan of INSERT or STATEMENT SET can be compiled", begin)
    return CompilePlan(file, statement, missing, runs)


def run(cursor: Cursor) -> Statement:
    """EXECUTE PLAN 'file', or EXECUTE and a statement."""
    if not cursor.take("EXECUTE", "PLAN"):
        return execute(cursor)
    return ExecutePlan(cursor.string("a path in single quotes"))


def client_command(cursor: Cursor) -> ClientCommand:
    name = cursor.expect_any("HELP", "CLEAR", "QUIT", "EXIT")
    return ClientCommand("QUIT" if name == "EXIT" else name)


# Statements by their first word

_READERS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE": create.create_statement,
    "REPLACE": create.create_statement,
    "DROP": create.drop,
    "ALTER": alter,
    "INSERT": insert,
    "BEGIN": statement_block,
    "STATEMENT": statement_set,
    "EXECUTE": run,
    "COMPILE": compile_plan,
    "DELETE": delete,
    "UPDATE": update,
    "TRUNCATE": truncate,
    "CALL": call,
    "EXPLAIN": explain,
    "SHOW": show,
    "DESCRIBE": describe,
    "DESC": describe,
    "SUMMARIZE": summarize,
    "USE": use,
    "SET": set_option,
    "RESET": reset,
    "LOAD": load,
    "UNLOAD": unload,
    "ADD": jar,
    "REMOVE": jar,
    "STOP": stop,
    "ANALYZE": analyze,
    "HELP": client_command,
    "CLEAR": client_command,
    "QUIT": client_command,
    "EXIT": client_command,
}

_NO_TRANSACTIONS = "there are no transactions; BEGIN STATEMENT SET runs INSERTs as one job"

_ELSEWHERE = {
    "MERGE": "write INSERT INTO a table with a primary key",
    "GRANT": "there are no users",
    "REVOKE": "there are no users",
    "END": "it ends a statement set, and none has begun (BEGIN STATEMENT SET)",
    "COMMIT": _NO_TRANSACTIONS,
    "ROLLBACK": _NO_TRANSACTIONS,
    "START": _NO_TRANSACTIONS,
}


def statement(cursor: Cursor) -> Statement:
    """A whole statement, up to the end of the tokens.

    :raises SqlParseError: none, or more than one.
    """
    begin, token = cursor.index, cursor.token
    if queries.starts(cursor):
        found: Statement = query(cursor)
    elif token.word in _READERS:
        found = _READERS[token.word](cursor)
    elif token.word in _ELSEWHERE:
        cursor.fail(f"{token.word} is not supported: {_ELSEWHERE[token.word]}")
    elif token.kind is Kind.END:
        cursor.fail("expected a statement, found nothing")
    else:
        meant = did_you_mean(token.text, [*_READERS, "SELECT", "WITH", "VALUES"])
        cursor.fail(f"no statement begins with '{cursor.text_of(token)}'{meant}")
    cursor.expect_end()
    return replace(found, position=cursor.span(begin))


# Scripts


def pieces(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement, and an END whose text is its semicolon. A statement set is one statement."""
    piece: list[Token] = []
    for token in tokens:
        ends = token.kind is Kind.END or (token.word == ";" and not _in_statement_set(piece))
        if not ends:
            piece.append(token)
        elif piece:
            yield [*piece, Token(Kind.END, token.text, piece[-1].end, piece[-1].end)]
            piece = []


def _in_statement_set(piece: Sequence[Token]) -> bool:
    """Whether these tokens begin a statement set, and do not end it."""
    words = [token.word for token in piece]
    begins = words[:3] == ["BEGIN", "STATEMENT", "SET"] or ["STATEMENT", "SET", "BEGIN"] in (
        words[start : start + 3] for start in range(min(len(words), 12))
    )
    # An END after a semicolon is the set's; one elsewhere is of CASE.
    return begins and words[-2:] != [";", "END"] and words[-2:] != ["BEGIN", "END"]


def ends_with_semicolon(tokens: Sequence[Token]) -> bool:
    """Whether the last statement has its semicolon, or there is none."""
    return all(piece[-1].text for piece in pieces(tokens))


# Entry points

_UPPER = Upper(
    starts_query=queries.starts,
    continues_query=queries.continues,
    query=queries.query,
    rest_of_query=queries.rest,
    query_in_brackets=queries.in_brackets,
    table_name=queries.table_name,
)
_T = TypeVar("_T")


def statements_of(text: str) -> Iterator[Statement]:
    """The statements of a script one by one. Their places are places of the script.

    :raises SqlParseError: at the statement that has the error; if a text or comment has no end, at once.
    """
    source = Source(text)
    for piece in pieces(tokenize(source)):
        yield _read(Cursor(source, piece, _UPPER), statement)


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
    return _read(Cursor(source, found[0] if found else tokenize(source), _UPPER), statement)


def is_complete(text: str) -> bool:
    """Whether every statement of a script has its semicolon. False within a text, a quoted name or a comment."""
    try:
        return ends_with_semicolon(tokenize(Source(text)))
    except SqlParseError:
        return False


def parse_query(text: str) -> nodes.Node:
    """The tree of a query.

    :raises SqlParseError: the text is not a query.
    """
    return _whole(text, queries.query)


def parse_expression(text: str) -> nodes.Node:
    """The tree of an expression.

    :raises SqlParseError: the text is not an expression.
    """
    return _whole(text, expressions.expression)


def parse_match(text: str) -> nodes.MatchRecognize:
    """A MATCH_RECOGNIZE with the clauses of a text: rows per match, AFTER MATCH and PATTERN.

    :raises SqlParseError: the text is something else.
    """
    return _whole(text, queries.match_clauses)


def parse_type(text: str) -> DataType:
    """A data type.

    :raises SqlParseError: the text is not a data type.
    """
    return _whole(text, types.data_type)


def _whole(text: str, read: Callable[[Cursor], _T]) -> _T:
    """What stands in a text, up to its end; one semicolon there is no harm."""
    source = Source(text)
    cursor = Cursor(source, tokenize(source), _UPPER)
    found = _read(cursor, read)
    cursor.take(";")
    cursor.expect_end()
    return found


def _read(cursor: Cursor, read: Callable[[Cursor], _T]) -> _T:
    begin = cursor.index
    try:
        with deep_calls():
            return read(cursor)
    except RecursionError:
        message = "brackets, queries or calls are nested too deeply: name a part with WITH, or create a view"
        raise SqlParseError(message, cursor.span(begin)) from None
