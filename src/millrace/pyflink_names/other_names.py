"""The names of the other modules of PyFlink, also of those that wrap Java, or that it no longer has."""

from __future__ import annotations

from millrace.pyflink_names.public_module import WORKS_ON_JAVA, PublicModule

OTHER_NAMES: dict[str, PublicModule] = {
    "common.execution_mode": PublicModule(served="legacy.stream_settings"),
    "dataset": PublicModule(served="legacy.dataset"),
    "dataset.execution_environment": PublicModule(served="legacy.dataset"),
    "datastream.tests": PublicModule(served="standins.stream_tests"),
    "datastream.tests.test_util": PublicModule(served="standins.stream_tests.test_util"),
    "datastream.time_characteristic": PublicModule(served="legacy.stream_operations"),
    "find_flink_home": PublicModule(served="standins.java_gateway"),
    "fn_execution": PublicModule(served="standins.fn_execution"),
    "fn_execution.state_impl": PublicModule(served="standins.fn_execution.state_impl"),
    "java_gateway": PublicModule(served="standins.java_gateway"),
    "metrics": PublicModule(
        "Metrics of users' functions (PyFlink: ``pyflink.metrics``).",
        here={"metrics.metricbase": "MetricGroup Metric Counter Meter Distribution Gauge"},
    ),
    "metrics.metricbase": PublicModule(
        here={"metrics.metricbase": "MetricGroup Metric Counter Meter Distribution Gauge Measured"},
    ),
    "metrics.reporters": PublicModule(
        here={"metrics.reporters": "MetricReporter PullReporter ReportedMetric ReporterConfig"},
    ),
    "pyflink_gateway_server": PublicModule(served="standins.java_gateway"),
    "serializers": PublicModule(
        here={
            "serializers": """
                BatchedSerializer IterableSerializer PickleSerializer SpecialLengths VarLengthDataSerializer read_int
                write_int
            """,
        },
    ),
    "table.query_config": PublicModule(served="legacy.table_environments"),
    "table.sinks": PublicModule(served="legacy.csv_tables"),
    "table.sources": PublicModule(served="legacy.csv_tables"),
    "testing": PublicModule(
        here={
            "testing": """
                Check ConformanceError Element EndInput EpochEnd Ledger LedgerEntry LedgerSink LocalRun
                OperatorHarness Outcome ProcessingTime Record SliceEnd Snapshot Status StatusStep Step Timeline
                TimelineError Watermark WatermarkStep check_checkpoint_storage check_state_backend check_variants
                checkpoint_storage_checks interval_join_harness read_ledger run_locally run_script
                state_backend_checks steps timeline
            """,
        },
    ),
    "testing.source_sink_utils": PublicModule(
        here={
            "testing.source_sink_utils": """
                results retract_results upsert_results
            """,
        },
    ),
    "testing.test_case_utils": PublicModule(
        here={
            "testing.test_case_utils": """
                PyFlinkTestCase PyFlinkITTestCase PyFlinkUTTestCase PyFlinkStreamTableTestCase
                PyFlinkBatchTableTestCase PyFlinkStreamingTestCase PyFlinkBatchTestCase
                PythonAPICompletenessTestCase exec_insert_table invoke_java_object_method replace_uuid
            """,
        },
    ),
    "util": PublicModule(),
    "util.api_stability_decorators": PublicModule(
        here={
            "util.api_stability_decorators": """
                Deprecated Experimental Internal PublicEvolving Public BaseAPIStabilityDecorator
            """,
        },
    ),
    "util.exceptions": PublicModule(
        here={
            "util.exceptions": """
                JavaException TableException CatalogException DatabaseAlreadyExistException DatabaseNotEmptyException
                DatabaseNotExistException FunctionAlreadyExistException FunctionNotExistException
                PartitionAlreadyExistsException PartitionNotExistException PartitionSpecInvalidException
                TableAlreadyExistException TableNotExistException TableNotPartitionedException
                ModelAlreadyExistException ModelNotExistException
            """,
        },
        absent={
            WORKS_ON_JAVA: """
                capture_java_exception install_exception_handler install_py4j_hooks convert_py4j_exception
                exception_mapping
            """,
        },
    ),
    "util.java_utils": PublicModule(
        absent={
            WORKS_ON_JAVA: """
                to_jarray to_j_duration from_j_duration load_java_class is_instance_of get_j_env_configuration
                get_field_value get_field invoke_method is_local_deployment add_jars_to_context_class_loader
                to_j_explain_detail_arr create_url_class_loader
            """,
        },
        served="standins.java_utils",
    ),
    "util.utils": PublicModule(served="standins.java_utils"),
}
