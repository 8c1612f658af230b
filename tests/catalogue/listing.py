"""Every program of the documents, where its counterpart is, what that gives, and what was damaged in the source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "catalogue.md"


@dataclass(frozen=True)
class Entry:
    """One program of a document, or several that are one here."""

    program: str
    about: str
    counterpart: str
    """``file`` or ``file::name``: an example, a program of a test, a test."""
    gives: str
    damaged: str = ""


_OURS, _TABLES, _OLD = "tests/catalogue/streams.py", "tests/catalogue/tables.py", "tests/legacy/programs"
_TUTORIAL, _CHARTS = "examples/tutorial", "tests/connectors/search/test_charts.py::test_charts"

BOOK = (
    Entry(
        "P1",
        "Kafka, key, windows of 10 s, a sink",
        "tests/connectors/kafka/test_sink.py::test_exactly_once_over_epochs_and_tasks_that_move",
        "every record once",
        "a picture only",
    ),
    Entry("P2, P3", "sums of the doubled numbers 1 to 10", f"{_OURS}::doubled_sums", "2, 6, 12, ... 110"),
    Entry("P4", "words counted as they come", f"{_OURS}::word_stream", "(a,1) (b,1) (a,2); four nodes"),
    Entry("P5", "a value that belongs to a key", f"{_OURS}::keyed_state", "1, 1, 2"),
    Entry("P6", "only what is greater than before", f"{_OURS}::rising_values", "1, 3, 5 of 1, 3, 2, 5, 5"),
    Entry("P7", "clicks of users, by SQL and Table API", f"{_TABLES}::clicks", "Mary 1, then 2; Bob 1"),
    Entry("P8", "the table user_behavior", f"{_TABLES}::described", "its columns", "a second print is invented"),
    Entry(
        "P9",
        "deals of each hour",
        f"{_TABLES}::hourly_deals",
        "an hour and its number a row",
        "HOUR(CLOCK_WINDOW(..)), columns of the sink",
    ),
    Entry(
        "P10",
        "users so far, every 10 minutes",
        f"{_TABLES}::cumulative_users",
        "numbers that never fall",
        "the query is lost",
    ),
    Entry(
        "P9 to P11", "the three charts, in Elasticsearch", _CHARTS, "what a plain computation finds", "all code of P11"
    ),
    Entry(
        "P12",
        "words of a file counted, old API",
        f"{_OLD}/word_count.py",
        "flink,2 and pyflink,1",
        "sql_query(..).group_by, count(), options without quotes",
    ),
    Entry(
        "P13, P15",
        "a sum by functions of rows and of Series",
        f"{_OLD}/udf_add.py",
        "3 and 3",
        "the sink, the query, DataTypes.RECORD",
    ),
    Entry("P14", "a sum by a third-party package", f"{_OLD}/udf_dependency.py", "3", "'math import fadd'"),
    Entry("P16, P17", "add_one in Table API and SQL", f"{_TABLES}::add_one", "2, 3, 4", "the YAML is printed twice"),
    Entry("P18, P19", "functions by name; one with a counter", f"{_OLD}/registering.py", "b + 1 and b - 1"),
    Entry(
        "P19",
        "a counter of a function",
        "tests/runtime/functions/test_scalars.py::test_open_and_close_and_metrics",
        "the counter's value",
    ),
    Entry("P20", "functions in plans", f"{_OLD}/plans.py", "rows of three queries"),
    Entry("P21", "temperatures of rooms by day", f"{_OLD}/sensors.py", "41.70 and 0.00", "brackets, spaces"),
    Entry("P22", "a table of Kafka", "tests/connectors/tables/kafka/test_watermarks.py", "rows with watermarks"),
    Entry(
        "P23",
        "a catalog of Hive in YAML",
        "tests/cli/sql/test_environment.py::test_hive_is_refused_by_name",
        "an error that names it: there is no Hive here",
    ),
    Entry(
        "P27",
        "a cluster is started, programs are submitted",
        "tests/cluster/test_operating.py::test_the_verbs",
        "the cluster runs them",
        "steps of Docker",
    ),
    Entry("P24 to P26", "datagen, print, blackhole", f"{_TABLES}::generated", "1,000 numbers, each once"),
)
_EXAMPLES = tuple(
    Entry(f"P{number}", about, f"{_TUTORIAL}/{name}.py", gives, damaged)
    for number, about, name, gives, damaged in (
        ("1", "a timer of processing time", "processing_time_timer", "two lines, 10 s apart", ""),
        ("2", "the two hottest pages, all in one", "all_window_top_n", "five windows", ""),
        ("3", "the two hottest pages, by key", "top_n", "the same five windows", ""),
        ("4", "a side output", "side_output", "1, 2, 3 and their texts", "Collector<Integer>"),
        ("5", "a stream split by filters", "split_by_filter", "7, 6 and 6 clicks", ""),
        ("6", "a stream split by side outputs", "split_by_side_output", "7, 6 and 6 clicks", ""),
        ("7", "the watermark of a union", "union_watermark", "none, none, 999, 1999, 2999, 2999", ""),
        ("8", "two streams, one type", "co_map", "six texts", ""),
        ("9", "bills checked", "bill_check", "one match, two failures", ""),
        ("10", "a window join", "window_join", "eight pairs", ""),
        ("11, 12", "an interval join", "interval_join", "three pairs", "the input is not in order"),
        ("13", "a hundred of a key", "stateful_flat_map", "'state: 100' each", "null at the first access"),
        ("14", "page views now and then", "throttled_page_views", "counts by user", "a state that is never made"),
        ("15", "windows made by hand", "fake_window", "nine windows", "a dash, a brace"),
        ("16", "state that aggregates", "aggregating_state", "999, 999, 999", "prose says sum"),
        ("17", "state with a time to live", "state_ttl", "gone after 10 s", ""),
    )
)
TUTORIAL = (
    *_EXAMPLES,
    Entry("P18, P19", "word count with a failure", "tests/checkpoint/test_going_on.py", "as without the failure"),
    Entry(
        "P20",
        "settings of checkpoints",
        "tests/datastream/test_checkpoint_plan.py::test_the_program_counts_more",
        "the plan of checkpoints",
    ),
    Entry(
        "P21",
        "a savepoint, restored otherwise",
        "tests/spark/jobs/test_savepoints.py::test_a_stopped_job_goes_on",
        "the job goes on",
    ),
    Entry(
        "P22",
        "Kafka to Kafka in two phases",
        "tests/connectors/kafka/test_conformance.py::test_exactly_once",
        "nothing lost, nothing twice",
    ),
    Entry("PT", "rules of timers", f"{_TUTORIAL}/timer_probe.py", "500 and 4999, each once"),
)
NOTES = (
    Entry(
        "P1",
        "from START to END",
        f"{_TUTORIAL}/start_end_duration.py",
        "the time between",
        "END leaves its timer behind",
    ),
    Entry("P2, P3", "clicks of sessions", f"{_TUTORIAL}/session_clicks.py", "one number a session"),
    Entry("P4", "Kafka, windows, JSON", f"{_TUTORIAL}/window_json.py", "JSON of each window", "does not compile"),
    Entry(
        "P5",
        "words of files counted into files",
        "examples/word_count_files.py",
        "(a,1) (b,1) (a,2)",
        "the tokenizer is missing",
    ),
    Entry("P6", "a filter as class and lambda", f"{_OURS}::above_twenty", "rows above 20", "the match form"),
    Entry("P7", "a window join, and what has no partner", f"{_TUTORIAL}/co_group.py", "also who is alone"),
    Entry("P8", "the operator's parallelism wins", f"{_OURS}::parallelism", "5 in a program of 3"),
    Entry(
        "P9",
        "lateness and what is too late",
        f"{_TUTORIAL}/late_data.py",
        "updates, and a stream of late ones",
        "sideOutPutLateData",
    ),
    Entry("P10, P11", "windows, short forms", "tests/legacy/test_streams.py", "sums of windows"),
    Entry("P12", "a join by SQL", f"{_TABLES}::joined", "each pair once"),
    Entry("P13", "hot items", f"{_TUTORIAL}/hot_items.py", "three of each window"),
    Entry("P14", "a partitioner of one's own", f"{_TUTORIAL}/custom_partition.py", "subtasks 2, 2, 1 of 4", "brackets"),
    Entry("P15", "a buffer timeout", f"{_OURS}::buffer_timeout", "the numbers, one more"),
    Entry("P16", "a Python stream", f"{_OURS}::python_stream", "2 3 4 5 6"),
    Entry("P17", "servers that stand by", "tests/cli/test_supervisor.py", "the cluster goes on"),
    Entry("P18", "batch mode", f"{_OURS}::runtime_mode", "last counts only", "RuntimeMode"),
)
INTERVIEW = (
    Entry("P1", "words in sliding windows", f"{_OURS}::sliding_word_count", "each word of each window"),
    Entry("P2", "ways to partition", f"{_OURS}::partitions", "each element once, or everywhere"),
    Entry("P3, P6", "page views, restored", "tests/checkpoint/test_going_on.py", "reading goes on", "run is missing"),
    Entry("P4", "three times", f"{_OLD}/characteristics.py", "windows of each kind", "getExecutionEnvironrnent"),
    Entry("P5", "state that is forgotten", f"{_TABLES}::state_that_is_forgotten", "12 hours"),
    Entry(
        "P7",
        "a savepoint with state left over",
        "tests/spark/jobs/test_savepoints.py::test_state_may_be_dropped_if_that_is_said",
        "the job goes on",
    ),
    Entry("P8", "how programs are submitted", "tests/cli/test_run_options.py", "options of the command line"),
    Entry("P9", "calls of windows", "tests/legacy/test_streams.py", "sums of windows"),
    Entry(
        "P10",
        "memory of processes by Flink's keys",
        "tests/configuration/test_memory.py::test_task_managers",
        "heaps of Spark's processes",
    ),
    Entry("P11", "a bank card in two places", "examples/patterns/bank_card.py", "two alarms", "a1 for e1; pictures"),
    Entry("P12", "a source of changes", "tests/cdc/test_mysql.py", "the copy is the source", "comments only"),
    Entry("P13", "a gateway for SQL", "tests/cluster/gateway/test_flink_answers.py", "Flink's answers", "pieces only"),
)
DOCUMENTS = {"The book": BOOK, "The tutorial": TUTORIAL, "The notes": NOTES, "The interview questions": INTERVIEW}
NOT_HERE = "The notes' job on HBase and Phoenix: settings of other systems, without output."


def page() -> str:
    """docs/catalogue.md"""
    parts = [
        "# Programs of the documents\n",
        "Millrace was specified from four documents that print programs: a book, a tutorial, notes and interview "
        "questions.\nThis page says where the counterpart of each is, what that gives, and what was damaged in the "
        "source. Tests run the\ncounterparts; `python -m tests.catalogue.listing` writes this page.\n",
    ]
    for title, entries in DOCUMENTS.items():
        parts.append(f"## {title}\n")
        lines = ["| program | what it does | counterpart | it gives | damaged in the source |", "|---|---|---|---|---|"]
        for each in entries:
            file, _, name = each.counterpart.partition("::")
            shown = f"[{Path(file).name}{f', {name}' if name else ''}](../{file})"
            lines.append(f"| {each.program} | {each.about} | {shown} | {each.gives} | {each.damaged} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join([*parts, "## Without a counterpart\n", NOT_HERE + "\n"])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
