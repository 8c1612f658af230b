"""``StreamExecutionEnvironment``: where programs begin, get their settings and are submitted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from millrace.common.configuration import ConfigOptions, Configuration
from millrace.common.execution_config import ExecutionConfig
from millrace.common.files import store_settings
from millrace.common.functions import ParallelSourceFunction, SourceFunction
from millrace.common.jobs import DetachedJobExecutionResult, JobClient, JobExecutionResult, JobID
from millrace.common.source import Boundedness, Source
from millrace.common.time import Duration
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.configuration import own_options as options
from millrace.configuration.registry import settled, tell_about
from millrace.connectors.generated_sources import CollectionSource, NumberSequenceSource
from millrace.connectors.result_cache import ResultCache
from millrace.connectors.source_function import SourceFunctionSource
from millrace.datastream.checkpointing_mode import CheckpointingMode
from millrace.datastream.data_stream import DataStream
from millrace.datastream.execution_mode import RuntimeExecutionMode
from millrace.datastream.handles import Port, checked_type, expect
from millrace.datastream.job_settings import (
    CheckpointConfig,
    Dependencies,
    JobSettings,
    check_installed,
    checkpoint_plan,
    configured_backend,
    dependencies_of,
    existing,
    is_flinks_and_missing,
    state_plan,
)
from millrace.datastream.settings import Submission, get_defaults, get_submitter, hands_over
from millrace.datastream.slot_sharing_group import SlotSharingGroup
from millrace.datastream.state_backend import StateBackend
from millrace.graph import program
from millrace.graph.engine import engine
from millrace.graph.lowering import lower, run_passes, with_settings
from millrace.graph.program import Graph, GraphError, Node, Program, Settings, plan_json, with_key_nodes
from millrace.runtime.coordination.commits import commits_in_two_phases
from millrace.runtime.coordination.restart import is_regional, restart_policy
from millrace.runtime.exchange.keys import UPPER_BOUND_MAX_PARALLELISM
from millrace.runtime.operators import specs
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.working import InMemory, StatePlan
from millrace.util.fallback import HasOlderNames
from millrace.util.not_yet import not_yet
from millrace.util.ports import port_range
from millrace.util.tracebacks import shorten_uncaught

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millrace.spark.jobs.submit import PortableJob, SparkJobClient

__all__ = ["StreamExecutionEnvironment"]

DEFAULT_JOB_NAME = "Flink Streaming Job"
_MODE = "execution.runtime-mode"
_SHORTEST_EPOCH_MS = 50
"""Shortest epoch (ms), however short the interval of checkpoints is."""
_UNSEEN_EPOCH_MS = 10_000
"""Longest epoch (ms) of a bounded job whose output is not visible before its end."""
_CHAINING = "pipeline.operator-chaining.enabled"
_CHAINING_DIFFERENT = "pipeline.operator-chaining.chain-operators-with-different-max-parallelism"
_BUFFER_TIMEOUT = (
    ConfigOptions.key("execution.buffer-timeout.interval").duration_type().default_value(Duration.of_millis(100))
)
_BUFFER_TIMEOUT_ENABLED = ConfigOptions.key("execution.buffer-timeout.enabled").boolean_type().default_value(True)
_SAVEPOINT_DIRECTORY = "execution.checkpointing.savepoint-dir"
_OLDER_SAVEPOINT_DIRECTORY = "state.savepoints.dir"


class StreamExecutionEnvironment(HasOlderNames):
    """The context of a streaming program.

    Handles made from it add to one program; ``execute`` submits that program to Spark and begins a new one.

        >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        >>> sink = env.from_collection([1, 2]).map(lambda n: n * 2).print()
        >>> result = env.execute("double")
        2
        4
    """

    _default_local_parallelism = os.cpu_count() or 1
    _meant = dict.fromkeys(
        ("from_elements", "from_element", "from_list", "from_iterable", "from_values", "from_data", "parallelize"),
        "from_collection",
    )

    def __init__(self, configuration: Configuration | None = None, spark: SparkSession | None = None) -> None:
        shorten_uncaught()
        self._configuration = get_defaults()
        if configuration is not None:
            self._configuration.add_all(settled(configuration))
        store_settings.use(self._configuration.to_dict())
        self._spark = spark
        self._program = Program()
        program.begun(self._program)
        self._config = ExecutionConfig(self._configuration)
        self._checkpoint_config = CheckpointConfig(self._configuration)
        self._state_backend: StateBackend | None = None
        self._watermarks_of_sources = WatermarkStrategy.no_watermarks()
        self._slot_groups: dict[str, SlotSharingGroup] = {}
        self._jars: list[str] = []
        self._mode_of_tables: str | None = None
        """the mode that table environments found or set last; if it differs now, the program has set it"""
        self._result_caches: WeakSet[ResultCache] = WeakSet()
        self._dependencies = dependencies_of(self._configuration, Dependencies())

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None, spark: SparkSession | None = None
    ) -> StreamExecutionEnvironment:
        """A new environment. ``spark`` is our addition: the session to run on; default: the active one or a new one.

        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.set_parallelism(2).get_parallelism()
        2
        """
        return StreamExecutionEnvironment(configuration, spark)

    @property
    def _j_stream_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment itself, for programs of PyFlink: there is no Java behind it."""
        return self

    # -- settings -------------------------------------------------------------------------------------------------

    def get_config(self) -> ExecutionConfig:
        """The settings of the environment.

        >>> env.get_config().set_auto_watermark_interval(100).get_auto_watermark_interval()
        100
        """
        return self._config

    def get_checkpoint_config(self) -> CheckpointConfig:
        """The settings of checkpoints.

        >>> env.enable_checkpointing(5000).get_checkpoint_config().get_checkpoint_interval()
        5000
        """
        return self._checkpoint_config

    def configure(self, configuration: Configuration) -> None:
        """Take over all options of ``configuration``.

        :raises ConfigurationError: a value that its key cannot have, or one that it would be wrong to ignore.
        """
        configuration = settled(configuration)
        self._configuration.add_all(configuration)
        store_settings.use(self._configuration.to_dict())
        self._checkpoint_config.configure(configuration)
        self._dependencies = dependencies_of(configuration, self._dependencies)

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Set the number of subtasks of operators without a parallelism of their own.

        >>> env.set_parallelism(3).get_parallelism()
        3
        """
        self._config.set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """The number of subtasks of operators without a parallelism of their own."""
        configured = self._config.get_parallelism()
        return configured if configured > 0 else self._default_local_parallelism

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Set the number of key groups of operators without one of their own (1..32768)."""
        if not 1 <= max_parallelism <= UPPER_BOUND_MAX_PARALLELISM:
            raise ValueError(
                f"the maximum parallelism must be in 1..{UPPER_BOUND_MAX_PARALLELISM}, not {max_parallelism}"
            )
        self._config.set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups of operators without one of their own; -1 when it is not set."""
        return self._config.get_max_parallelism()

    def get_default_local_parallelism(self) -> int:
        """The parallelism where nothing is set: the cores of this machine."""
        return self._default_local_parallelism

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """The parallelism of environments that set none; begins as the number of cores."""
        StreamExecutionEnvironment._default_local_parallelism = parallelism

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """STREAMING (default), BATCH (bounded sources only; final results only) or AUTOMATIC.

        >>> _ = env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        """
        expect(execution_mode, RuntimeExecutionMode, "set_runtime_mode()")
        self._configuration.set_string(_MODE, execution_mode.name)
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> StreamExecutionEnvironment:
        """Longest time that output of operators is buffered before it is sent, in flow execution
        (docs/guide/latency.md); otherwise output is sent when a buffer is full, and at the end of every epoch.

        :param timeout_millis: ms; 0: not at all, -1: until it is enough, or the epoch ends. In flow 5 unless it is set.
        """
        if timeout_millis < -1:
            raise ValueError(f"a buffer timeout is -1, 0 or a time in ms, not {timeout_millis}")
        self._configuration.set(_BUFFER_TIMEOUT, Duration.of_millis(timeout_millis))
        return self

    def get_buffer_timeout(self) -> int:
        """The buffer timeout in ms."""
        timeout = self._configuration.get(_BUFFER_TIMEOUT)
        assert timeout is not None, "it has a default"
        return timeout.to_millis()

    def _chosen_buffer_timeout(self) -> int | None:
        """The buffer timeout that was set (ms); -1: output is not sent by time; None: it is not set."""
        if not self._configuration.get(_BUFFER_TIMEOUT_ENABLED):
            return -1
        return self.get_buffer_timeout() if self._configuration.contains_key(_BUFFER_TIMEOUT.key) else None

    def disable_operator_chaining(self) -> StreamExecutionEnvironment:
        """Give every operator a task of its own."""
        self._configuration.set_boolean(_CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Whether operators may be chained."""
        return self._configuration.get_boolean(_CHAINING, True)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Whether operators whose maximal parallelism differs may be chained."""
        return self._configuration.get_boolean(_CHAINING_DIFFERENT, True)

    def enable_checkpointing(self, interval: int, mode: CheckpointingMode | None = None) -> StreamExecutionEnvironment:
        """Checkpoint every ``interval`` ms: the cadence of epochs.

        >>> env.enable_checkpointing(10_000).get_checkpoint_interval()
        10000
        """
        self._checkpoint_config.set_checkpoint_interval(interval)
        if mode is not None:
            self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """The interval of checkpoints in ms, -1 without checkpointing."""
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The guarantee of checkpoints: exactly once or at least once."""
        return self._checkpoint_config.get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """The guarantee of checkpoints: ``get_checkpointing_mode`` under its newer name."""
        return self._checkpoint_config.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether unaligned checkpoints are asked for."""
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether unaligned checkpoints are asked for in all cases."""
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    def set_state_backend(self, state_backend: StateBackend) -> StreamExecutionEnvironment:
        """Where streaming jobs keep their state while they run; overrides ``state.backend.type``."""
        expect(state_backend, StateBackend, "set_state_backend()")
        self._state_backend = state_backend
        for key, value in state_backend.get_settings().items():
            self._configuration.set_string(key, value)
        return self

    def get_state_backend(self) -> StateBackend:
        """The one that was set, else the one that the configuration names."""
        return self._state_backend or configured_backend(self._configuration.to_dict())

    def enable_changelog_state_backend(self, enabled: bool) -> StreamExecutionEnvironment:
        """Accepted without effect: state is always stored as changes."""
        self._configuration.set_boolean("state.changelog.enabled", enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Whether the changelog of state is asked for; None: nothing is set."""
        key = "state.changelog.enabled"
        return self._configuration.get_boolean(key, False) if self._configuration.contains_key(key) else None

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """The directory of savepoints that name none."""
        self._configuration.set_string(_SAVEPOINT_DIRECTORY, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """The directory of savepoints that name none; None: nothing is set."""
        return self._configuration.get_string(_SAVEPOINT_DIRECTORY, "") or None

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> StreamExecutionEnvironment:
        """Make the resources of a slot sharing group known."""
        self._slot_groups[slot_sharing_group.get_name()] = slot_sharing_group
        return self

    def set_spark_session(self, spark: SparkSession) -> StreamExecutionEnvironment:
        """Run on this session (our addition)."""
        self._spark = spark
        return self

    # -- what the workers need ------------------------------------------------------------------------------------

    def add_python_file(self, file_path: str) -> None:
        """A .py, .zip, .egg or .whl file or a directory that the workers can import from; so can this process.

        >>> import pathlib
        >>> _ = pathlib.Path("helpers.py").write_text("LIMIT = 3")
        >>> env.add_python_file("helpers.py")
        """
        self._dependencies = self._dependencies.with_file(file_path, "add_python_file()")

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """A zip or tar file that is unpacked on every worker, into ``target_dir`` (default: the archive's name).

        The working directory of functions is then the one with the archives in it: ``open("target_dir/data.txt")``.

            >>> import shutil
            >>> archive = shutil.make_archive("data", "zip", ".", ".")
            >>> env.add_python_archive("data.zip", "data")
        """
        self._dependencies = self._dependencies.with_archive(archive_path, target_dir, "add_python_archive()")

    def set_python_executable(self, python_exec: str) -> None:
        """The interpreter of the workers, perhaps one in an archive: ``"target_dir/bin/python"``.

        It must have Millrace and be of the same version (3.x) as this one.
        """
        self._dependencies = replace(self._dependencies, executable=python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Add jars to the Spark session that Millrace makes.

        A missing jar of Flink's (``flink-...jar``) is skipped: its connector is part of Millrace, or refused by name
        where it is used.
        """
        self._jars.extend(existing(path, "add_jars()") for path in jars_path if not is_flinks_and_missing(path))

    def add_classpaths(self, *classpaths: str) -> None:
        """Add jars as ``add_jars`` does: Spark ships jars to its executors itself."""
        self.add_jars(*classpaths)

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Packages that pip installs for the workers when the job is submitted, once for all jobs that need the same.

        With ``requirements_cache_dir`` pip takes them from that directory (made by ``pip download -d``), not from the
        network.
        """
        self._dependencies = self._dependencies.with_requirements(
            requirements_file_path, requirements_cache_dir, "set_python_requirements()"
        )

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """A file or folder that functions find by its name: ``RuntimeContext.get_distributed_cache()``.

        ``file_path`` may be a URI that Spark can read, such as ``hdfs://...``.
        """
        self._dependencies = self._dependencies.with_cached_file(name, file_path, executable)

    # -- sources --------------------------------------------------------------------------------------------------

    def from_source(
        self,
        source: Source[Any, Any],
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Read a source; the strategy gives its elements timestamps and watermarks.

        >>> numbers = env.from_source(NumberSequenceSource(1, 3), WatermarkStrategy.no_watermarks(), "numbers")
        >>> list(numbers.execute_and_collect())
        [1, 2, 3]
        """
        expect(source, Source, "from_source()")
        expect(watermark_strategy, WatermarkStrategy, "from_source()")
        return self._read(source, watermark_strategy, source_name, type_info)

    def _read(
        self,
        source: Source[Any, Any],
        strategy: WatermarkStrategy,
        name: str,
        type_info: TypeInformation | None,
        non_parallel: bool = False,
    ) -> DataStream:
        declared = checked_type(type_info)
        strategy = self._watermarks_of_sources if strategy.is_without_time() else strategy
        produced = declared if declared is not None else source.get_produced_type()
        node = self._program.add(
            f"Source: {name}", specs.Source(source, strategy), output_type=produced, non_parallel=non_parallel
        )
        return DataStream(self, (Port(node.id),), produced)

    def from_collection(self, collection: list[Any], type_info: TypeInformation | None = None) -> DataStream:
        """The elements of a list, from one subtask, in order.

        >>> list(env.from_collection([1, 2], Types.INT()).execute_and_collect())
        [1, 2]
        """
        values = list(collection)
        source = CollectionSource(values, type_info)
        no_time = WatermarkStrategy.no_watermarks()
        return self._read(source, no_time, "Collection Source", type_info, non_parallel=True)

    def from_sequence(self, start: int, end: int) -> DataStream:
        """The numbers from start to end, both included (Flink's ``fromSequence``, which PyFlink lacks).

        >>> list(env.from_sequence(1, 3).execute_and_collect())
        [1, 2, 3]
        """
        source = NumberSequenceSource(start, end)
        return self._read(source, WatermarkStrategy.no_watermarks(), "Sequence Source", Types.LONG())

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream:
        """The lines of a file or of all files of a directory."""
        from millrace.connectors.file_system import FileSource, StreamFormat

        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(charset_name), file_path).build()
        return self._read(source, WatermarkStrategy.no_watermarks(), "Text File Source", Types.STRING())

    def add_source(
        self,
        source_func: SourceFunction[Any],
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Read a SourceFunction, in one subtask; a ParallelSourceFunction in as many as the stream has.

        >>> class One(SourceFunction):
        ...     def run(self, ctx):
        ...         ctx.collect(1)
        >>> list(env.add_source(One()).execute_and_collect())
        [1]
        """
        if isinstance(source_func, Source):
            return self.from_source(source_func, WatermarkStrategy.no_watermarks(), source_name, type_info)
        expect(source_func, SourceFunction, "add_source()")
        source, single = SourceFunctionSource(source_func), not isinstance(source_func, ParallelSourceFunction)
        return self._read(source, WatermarkStrategy.no_watermarks(), source_name, type_info, non_parallel=single)

    def socket_text_stream(self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0) -> DataStream:
        """Text from a server, cut at a delimiter, in one subtask (Flink's ``socketTextStream``, which PyFlink lacks).

            >>> lines = env.socket_text_stream("localhost", 9999)

        :param max_retry: attempts to connect again after the server has closed the connection, -1: without limit.
        """
        from millrace.connectors.socket_source import SocketTextSource

        source = SocketTextSource(hostname, port, delimiter, max_retry)
        no_time = WatermarkStrategy.no_watermarks()
        return self._read(source, no_time, "Socket Stream", Types.STRING(), non_parallel=True)

    def create_input(self, input_format: Any, type_info: TypeInformation | None = None) -> DataStream:
        """Read a ``Source``, which is what input formats are here."""
        if isinstance(input_format, Source):
            return self._read(input_format, WatermarkStrategy.no_watermarks(), type(input_format).__name__, type_info)
        raise not_yet("pyflink.datastream.StreamExecutionEnvironment.create_input", "from_source() with a FileSource")

    # -- execution ------------------------------------------------------------------------------------------------

    def get_execution_plan(self) -> str:
        """The program as Flink's plan JSON, with the nodes that PyFlink has for ``key_by``."""
        return plan_json(with_key_nodes(self._graph("")))

    def _plan(self) -> str:
        """The plan JSON of the nodes that run."""
        return plan_json(self._graph(""))

    def _settings(self, job_id: str) -> Settings:
        maximum, batch = self.get_max_parallelism(), self._is_batch()
        return Settings(
            parallelism=self.get_parallelism(),
            max_parallelism=maximum if maximum > 0 else None,
            chaining=self.is_chaining_enabled(),
            chain_different_max_parallelism=self.is_chaining_of_operators_with_different_max_parallelism_enabled(),
            batch=batch,
            job_id=job_id,
            state=InMemory() if batch else self._state_plan(),
            auto_uids=self._config.has_auto_generated_uids_enabled(),
        )

    def _state_plan(self) -> StatePlan:
        return state_plan(self.get_state_backend(), options.STATE_ROWS_MEMORY.read(self._given))

    @contextmanager
    def _apart(self) -> Iterator[Program]:
        """Inside, the environment has a separate program, which may read the streams of the other one."""
        own = self._program
        self._program = own.branch()
        try:
            yield self._program
        finally:
            self._program = own

    def _graph(self, job_id: str) -> Graph:
        graph = self._program.graph(self._settings(job_id))
        if not graph.nodes:
            raise RuntimeError("No operators defined in streaming topology. Cannot execute.")
        return run_passes(graph)

    def _sources(self) -> list[Source[Any, Any]]:
        nodes = self._program.graph(Settings(1)).nodes
        return [node.spec.source for node in nodes if isinstance(node.spec, specs.Source)]

    def _unbounded_source(self) -> Node | None:
        """An unbounded source of the program, if it has one."""
        for node in self._program.graph(Settings(1)).nodes:
            if isinstance(node.spec, specs.Source):
                if node.spec.source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED:
                    return node
        return None

    def _bounded(self) -> bool:
        return self._unbounded_source() is None

    def _by_the_clock(self) -> bool:
        """Whether an epoch begins every interval, because elements arrive over time."""
        waiting = any(source.arrives_over_time() for source in self._sources())
        return not self._is_batch() and (waiting or not self._bounded())

    def _is_batch(self) -> bool:
        wanted = self._configuration.get_string(_MODE, "STREAMING").upper()
        if wanted not in RuntimeExecutionMode.__members__:
            modes = ", ".join(RuntimeExecutionMode.__members__)
            raise ValueError(f"{_MODE} must be one of {modes}, not {wanted!r}")
        mode = RuntimeExecutionMode[wanted]
        endless = self._unbounded_source()
        if mode is RuntimeExecutionMode.BATCH and endless is not None:
            raise GraphError(
                f"{endless.described} never ends, but BATCH mode needs bounded sources; use STREAMING or AUTOMATIC"
            )
        # Whether a function's run() ever returns is not known: AUTOMATIC takes it for endless, as Flink does.
        ends = self._bounded() and not any(isinstance(source, SourceFunctionSource) for source in self._sources())
        return mode is RuntimeExecutionMode.BATCH or (mode is RuntimeExecutionMode.AUTOMATIC and ends)

    def job_graph(self, job_name: str | None = None) -> JobGraph:
        """The program as the job that would run now (our addition; ``millrace.testing`` runs it without Spark)."""
        self._checkpoint_config.validate()
        graph = self._graph(str(JobID.generate()))
        job = lower(graph, job_name or self._configuration.get_string("pipeline.name", DEFAULT_JOB_NAME))
        records = None if graph.settings.batch else options.EPOCH_RECORDS.read(self._given)
        millis = None if graph.settings.batch else self._longest_epoch(job)
        files = {file.name: file.path for file in self._dependencies.cached_files}
        latency = max(self._config.get_latency_tracking_interval(), 0)
        parameters = self._config.get_global_job_parameters()
        metrics = options.STATE_METRICS.read(self._given)
        timeout = self._chosen_buffer_timeout()
        return with_settings(job, records, millis, parameters, files, latency, timeout, metrics)

    def _longest_epoch(self, job: JobGraph) -> int:
        """The longest time (ms) that an epoch's sources read and its tasks work."""
        longest = options.EPOCH_MILLIS.read(self._given)
        interval = self._checkpoint_config.get_checkpoint_interval()
        if interval > 0:
            return max(min(longest, interval), _SHORTEST_EPOCH_MS)
        if options.EPOCH_MILLIS.key in self._given or self._by_the_clock():
            return longest
        # Its output is not visible before its end, so it need not stop for that.
        shown = any(isinstance(info.spec, (specs.Print, specs.Collect)) for info in job.operators)
        return longest if shown else max(longest, _UNSEEN_EPOCH_MS)

    @property
    def _given(self) -> dict[str, str]:
        """The settings as texts by key, as declared options read them."""
        return self._configuration.to_dict()

    def _submit(self, job_name: str | None, collect: int | None = None) -> SparkJobClient:
        prepare = partial(self._prepare, job_name)
        collecting = any(isinstance(node.spec, specs.Collect) for node in self._program.graph(Settings(1)).nodes)
        start = partial(_start, prepare, self._spark is None, self._configuration.to_dict())
        portable = None if collecting else partial(_portable, prepare)
        submission = Submission(
            plan=self._plan,
            start=start,
            collecting=collecting,
            prepare=prepare,
            portable=portable,
            elsewhere=self._is_elsewhere(),
            graph=lambda: self._program.graph(self._settings("")),
        )
        return get_submitter()(submission)

    def _cadence_of_checkpoints(self, job: JobGraph) -> int | None:
        """The checkpoint interval (ms) as the length of epochs, for a job whose sinks show nothing before a checkpoint:
        shorter epochs gain nothing. None for other jobs."""
        interval = self._checkpoint_config.get_checkpoint_interval()
        chosen = options.EPOCH_INTERVAL.key in self._given
        return interval if interval > 0 and not chosen and commits_in_two_phases(job) else None

    def _epoch_interval_ms(self, job: JobGraph) -> int:
        cadence = self._cadence_of_checkpoints(job)
        return self._busy_interval_ms() if cadence is None else cadence

    def _busy_interval_ms(self) -> int:
        return self._no_longer_than_checkpoints(options.EPOCH_INTERVAL.read(self._given))

    def _flow_ports(self) -> tuple[int, ...]:
        try:
            return tuple(port_range(options.FLOW_PORTS.read(self._given)))
        except ValueError as error:
            raise ValueError(f"{options.FLOW_PORTS.key}: {error}") from None

    def _flow_epoch_ms(self, job: JobGraph) -> int:
        cadence = self._cadence_of_checkpoints(job)
        if cadence is not None:
            return cadence
        chosen = options.EPOCH_INTERVAL.key in self._given
        return self._no_longer_than_checkpoints(
            options.EPOCH_INTERVAL.read(self._given) if chosen else options.FLOW_EPOCH_MS
        )

    def _no_longer_than_checkpoints(self, interval: int) -> int:
        checkpoint = self._checkpoint_config.get_checkpoint_interval()
        return min(interval, checkpoint) if checkpoint > 0 else interval

    def _epoch_timeout_ms(self, batch: bool) -> int | None:
        wanted = options.EPOCH_TIMEOUT.find(self._given)
        if wanted is None and batch:
            return None
        return options.STREAMING_EPOCH_TIMEOUT_MS if wanted is None else wanted.to_millis()

    def _prepare(self, job_name: str | None) -> tuple[JobGraph, JobSettings]:
        """Make the job to submit; the environment's program is empty afterwards."""
        configuration, batch = self._configuration.to_dict(), self._is_batch()
        described = {**configuration, **self._checkpoint_config.to_dict()}
        tell_about(described)
        plan = None if batch else checkpoint_plan(self._checkpoint_config, configuration)
        job = self.job_graph(job_name)
        if not self._is_elsewhere():
            check_installed(job)
        settings = JobSettings(
            spark=self._spark,
            configuration=configuration,
            parallelism=self.get_parallelism(),
            bounded=not self._by_the_clock(),
            batch=batch,
            epoch_interval_ms=self._epoch_interval_ms(job),
            busy_interval_ms=self._busy_interval_ms(),
            flow_epoch_ms=self._flow_epoch_ms(job),
            flow_ports=self._flow_ports(),
            flow_lease_ms=options.FLOW_LEASE.read(self._given).to_millis(),
            epoch_timeout_ms=self._epoch_timeout_ms(batch),
            epoch_execution=options.EPOCH_EXECUTION.read(self._given).lower(),
            cancellation_timeout_ms=self._config.get_task_cancellation_timeout(),
            restart=restart_policy(configuration, None, plan is not None),
            regional=is_regional(configuration),
            checkpoints=plan,
            savepoint_directory=self.get_default_savepoint_directory() or configuration.get(_OLDER_SAVEPOINT_DIRECTORY),
            dependencies=self._dependencies,
            jars=tuple(self._jars),
            described=described,
            object_reuse=self._config.is_object_reuse_enabled(),
        )
        self._program.clear()
        return job, settings

    def execute_async(self, job_name: str = DEFAULT_JOB_NAME) -> JobClient:
        """Submit the program and return a client of the running job.

        >>> sink = env.from_collection([1]).print()
        >>> client = env.execute_async()
        1
        """
        return self._submit(job_name)

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Submit the program and wait for its end; with ``execution.target: remote`` and ``execution.attached: false``
        only until it is submitted.

        Raises ``JobFailedError`` with the operator, the element and the user's line when a function fails.

            >>> sink = env.from_collection(["a"]).print()
            >>> env.execute("one letter").get_all_accumulator_results()
            a
            {}
        """
        client = self._submit(job_name)
        attached = self._configuration.get_string("execution.attached", "true").lower() != "false"
        if not attached and self._is_elsewhere() and hands_over():
            return DetachedJobExecutionResult(client.get_job_id())
        return client.wait()

    def _is_elsewhere(self) -> bool:
        """Whether the configuration runs jobs on a cluster."""
        return self._configuration.get_string("execution.target", "") == "remote"

    def _new_result_cache(self) -> ResultCache:
        cache = ResultCache(options.STATE_DIRECTORY.find(self._given), options.STATE_TRUST_DIRECTORY.read(self._given))
        self._result_caches.add(cache)
        return cache

    def close(self) -> None:
        """Forget the program and the cached streams. The Spark session stays: other environments may use it.

        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.close()
        """
        self._program.clear()
        for cache in self._result_caches:
            cache.invalidate()


def _start(
    prepare: Callable[[], tuple[JobGraph, JobSettings]], needs_spark: bool, configuration: Mapping[str, str]
) -> SparkJobClient:
    runs = engine()
    with runs.started_early(configuration) if needs_spark else nullcontext():
        client: SparkJobClient = runs.submit(*prepare())
        return client


def _portable(prepare: Callable[[], tuple[JobGraph, JobSettings]]) -> PortableJob:
    portable: PortableJob = engine().portable(*prepare())
    return portable
