"""Why a member of PyFlink is absent or different here, written by hand. What has no reason fails the test.

Why a whole name of a module is absent says the table in ``millrace.pyflink_names``.
The first row that fits counts. Patterns are those of ``fnmatch``; names are written without ``pyflink.``, several of
them with spaces between. A row that fits nothing fails the test too, so that the table does not outlive its subject.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from millrace.pyflink_names.public_module import INTERNAL, WRAPS_JAVA

from .compare import ABSENT


@dataclass(frozen=True)
class Reason:
    names: str
    """full names without ``pyflink.``"""
    problem: str
    """the problem's text"""
    text: str

    def fits(self, name: str, problem: str) -> bool:
        return fnmatchcase(problem, self.problem) and any(
            fnmatchcase(name.removeprefix("pyflink."), pattern) for pattern in self.names.split()
        )


REFUSED = "raises NotImplementedError"
"""The problem of a function that does."""

_MADE_ELSEWHERE = "programs get it from a method and don't make it"

REASONS = (
    # Cassandra
    Reason(
        "datastream.connectors.cassandra.CassandraSink.CassandraSinkBuilder.set_mapper_options",
        REFUSED,
        "they are for Java's POJOs; a query may have its own USING TTL",
    ),
    # Java
    Reason("*", "*the Java object `j_*", "there are no Java objects here"),
    Reason("*", "is no subclass of `pyflink.*.Java*Wrapper`", WRAPS_JAVA),
    Reason("*.get_java_* *.to_j_row_kind", ABSENT, WRAPS_JAVA),
    Reason("datastream.connectors.elasticsearch.*.get_http_host_class", ABSENT, WRAPS_JAVA),
    Reason(
        "datastream.connectors.elasticsearch.Elasticsearch6SinkBuilder",
        ABSENT,
        "its servers have had no support since 2022; nearest: Elasticsearch7SinkBuilder, OpensearchSinkBuilder",
    ),
    Reason(
        "datastream.state_backend.EmbeddedRocksDBStateBackend.set_options",
        REFUSED,
        "names a Java class; nearest: set_predefined_options()",
    ),
    Reason(
        "datastream.connectors.base.Source datastream.connectors.base.Sink datastream.functions.SourceFunction "
        "datastream.functions.SinkFunction",
        "*",
        "PyFlink takes the name of a Java class; here it is a base class for Python",
    ),
    # how objects are made
    Reason(
        "common.completable_future.CompletableFuture datastream.data_stream.KeyedStream "
        "datastream.data_stream.CloseableIterator datastream.connectors.file_system.FileSink "
        "datastream.formats.csv.CsvSchema",
        "`*` instead of `*`",
        _MADE_ELSEWHERE,
    ),
    Reason(
        "datastream.stream_execution_environment.StreamExecutionEnvironment",
        "`configuration=None` instead of `serializer=*",
        "made by get_execution_environment() in PyFlink",
    ),
    Reason("common.restart_strategy.*", "`*` must be given", "PyFlink has no strategy for None either"),
    Reason("datastream.slot_sharing_group.MemorySize", "`bytes_size` must be given", "a size is made from bytes"),
    # what means the same
    Reason(
        "datastream.connectors.base.DeliveryGuarantee.*",
        "is *, not (*,)",
        "a stray comma makes PyFlink's value a tuple",
    ),
    Reason(
        "datastream.connectors.file_system.StreamingFileSink",
        "is no subclass of `pyflink.datastream.functions.SinkFunction`",
        "it is a Sink; add_sink() and sink_to() take it",
    ),
    Reason(
        "datastream.connectors.kafka.FlinkKafka* datastream.connectors.kinesis.FlinkKinesis* "
        "datastream.connectors.rabbitmq.RMQ* datastream.connectors.jdbc.JdbcSink",
        "is no subclass of `pyflink.datastream.functions.*Function`",
        "a Source or a Sink; add_source() and add_sink() take it, too",
    ),
    Reason(
        "datastream.connectors.dynamic_kafka.KafkaRecordDeserializationSchema",
        "is no subclass of `pyflink.common.serialization.DeserializationSchema`",
        "takes whole records, not bytes",
    ),
    Reason(
        "datastream.connectors.kinesis.FlinkKinesisConsumer",
        REFUSED,
        "with enhanced fan-out only: it reads by polling",
    ),
    Reason(
        "datastream.connectors.kinesis.FlinkKinesisConsumer.set_*",
        REFUSED,
        "nearest: `env.from_source(consumer, WatermarkStrategy...)`, whose watermarks are made for each shard",
    ),
    Reason(
        "datastream.connectors.kafka.FlinkKafkaProducer*",
        REFUSED,
        "would lose records in silence; nearest: Semantic.NONE, or a longer transaction.timeout.ms",
    ),
    Reason(
        "datastream.connectors.kafka.KafkaSink datastream.connectors.kafka.KafkaSink.get_transformer "
        "datastream.connectors.kafka.KafkaRecordSerializationSchema",
        "*",
        _MADE_ELSEWHERE + "; topics by element need no transformer in front",
    ),
    Reason(
        "datastream.connectors.file_system.StreamingFileSink.BaseBuilder.with_rolling_policy",
        "`rolling_policy` instead of `policy`",
        "the base of FileSink's builders, too, where it has this name",
    ),
    Reason(
        "datastream.data_stream.KeyedStream.broadcast",
        "`broadcast_state_descriptor=None` instead of `*args`",
        "an error in both",
    ),
    # PyFlink's own
    Reason("common.typeinfo.*.EPOCH_ORDINAL", ABSENT, INTERNAL),
    Reason("datastream.data_stream.KeyedStream.AccumulateType*", ABSENT, INTERNAL),
    Reason("datastream.stream_execution_environment.StreamExecutionEnvironment.serializer", ABSENT, INTERNAL),
    Reason("datastream.window.Continuous*Trigger.*stat*", ABSENT, INTERNAL),
    # tables
    Reason(
        "table.statement_set.StatementSet table.table.* table.table_environment.TableEnvironment "
        "table.table_pipeline.TablePipeline table.table_result.CloseableIterator table.window.*",
        "*`* instead of `*`",
        _MADE_ELSEWHERE,
    ),
    Reason("table.table.AggregatedTable table.window.*", "requires `*", _MADE_ELSEWHERE),
    Reason("table.statement_set.StatementSet", "without `t_env`", _MADE_ELSEWHERE),
    Reason("table.types.*_PRECISION table.types.*.EPOCH_ORDINAL table.types.*.has_precision_info", ABSENT, INTERNAL),
    Reason("table.types.RowField.*_sql_type table.types.RowField.need_conversion", ABSENT, INTERNAL),
    Reason("table.types.*_sql_type", "`obj` instead of `*`", "has the name of its base class's"),
    Reason("table.types.*", "`precision` is None by default*", "None stands for that precision"),
    Reason("table.types.UserDefinedType.*", REFUSED, "subclasses implement it, in PyFlink too"),
    Reason("table.catalog.*Column.copy", "`new_type` instead of*", "has the name of its base class's"),
    Reason(
        "table.table_environment.TableEnvironment.create_java_*",
        REFUSED,
        "there is no JVM to call the function in; nearest: functions in Python",
    ),
    Reason("table.compiled_plan.CompiledPlan", "`document` instead of*", _MADE_ELSEWHERE),
    Reason("table.compiled_plan.CompiledPlan.as_smile_bytes", REFUSED, "Smile is a format of the JVM; nearest: JSON"),
)


SAME_IN_EFFECT = frozenset(
    {
        # raises NotImplementedError there, too
        "pyflink.datastream.window.Trigger.on_merge",
        # abstract; every strategy compares by value
        "pyflink.common.restart_strategy.RestartStrategyConfiguration.__eq__",
        "pyflink.common.restart_strategy.RestartStrategyConfiguration.__hash__",
        # there is one object of it
        "pyflink.datastream.window.GlobalWindow.__eq__",
        "pyflink.datastream.window.GlobalWindow.__hash__",
    }
)
"""What looks different, and is not."""

OUR_MODULES = (
    "millrace.activate",
    "millrace.common.accumulators",
    "millrace.common.sink",
    "millrace.common.source",
    "millrace.datastream.connectors.datagen",
    "millrace.testing",
)
"""What users import beyond PyFlink's modules."""


class Unexplained(Exception):
    """Something is absent or different, and no reason says why; or a reason has no subject any more."""


class Explanations:
    """Looks reasons up and remembers which were of use."""

    def __init__(self, reasons: tuple[Reason, ...] = REASONS, same_in_effect: frozenset[str] = SAME_IN_EFFECT) -> None:
        self._reasons = reasons
        self._same_in_effect = same_in_effect
        self._used: set[Reason | str] = set()
        self._missing: list[str] = []

    def excuse(self, name: str) -> bool:
        """Whether the problems of a name make no difference."""
        if name in self._same_in_effect:
            self._used.add(name)
        return name in self._same_in_effect

    def explain(self, name: str, problem: str, otherwise: str | None = None) -> str:
        """The reason for a problem; ``otherwise`` counts when no row fits."""
        for reason in self._reasons:
            if reason.fits(name, problem):
                self._used.add(reason)
                return reason.text
        if otherwise is None:
            self._missing.append(f"{name}: {problem}")
        return otherwise or "?"

    def check(self) -> None:
        """Raises ``Unexplained``, naming all that is wrong."""
        lines = [f"no reason for {line}" for line in self._missing]
        given = [*self._reasons, *sorted(self._same_in_effect)]
        lines += [f"no use for {reason}" for reason in given if reason not in self._used]
        if lines:
            raise Unexplained("\n".join(["see scripts/compatibility/reasons.py", *lines]))
