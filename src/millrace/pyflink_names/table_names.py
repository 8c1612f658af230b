"""The names of ``pyflink.table``."""

from __future__ import annotations

from millrace.pyflink_names.public_module import INTERNAL, PublicModule

TABLE_NAMES: dict[str, PublicModule] = {
    "table": PublicModule(
        "The Table API and SQL: PyFlink's ``pyflink.table``.",
        here={
            "table.functions.function_classes": """
                AggregateFunction AsyncScalarFunction FunctionContext ScalarFunction TableAggregateFunction
                TableFunction
            """,
            "table.sessions.session": """
                ChangelogMode EnvironmentSettings ExplainDetail SqlDialect TableConfig
            """,
            "table.planner.compiled_plan": "CompiledPlan PlanReference",
            "table.values.data_types": "DataTypes",
            "table.data_view": "DataView ListView MapView",
            "table.expression_methods.expression": "Expression MatchVariable",
            "table.catalogs.descriptors": "FormatDescriptor ModelDescriptor TableDescriptor",
            "table.table": "GroupWindowedTable GroupedTable OverWindowedTable Table WindowGroupedTable",
            "table.functions.function_catalog": "Module ModuleEntry",
            "table.sessions.table_result": "ResultKind TableResult",
            "common.types": "Row RowKind",
            "table.catalogs.objects": "Schema",
            "table.statement_set": "StatementSet",
            "table.stream_environment": "StreamTableEnvironment",
            "table.environment": "TableEnvironment",
            "table.table_pipeline": "TablePipeline",
            "table.catalogs.legacy_schema": "TableSchema",
            "relational.types": "UserDefinedType",
        },
        older={
            "legacy.csv_tables": "CsvTableSink CsvTableSource TableSink TableSource WriteMode",
            "legacy.table_environments": "BatchTableEnvironment BatchQueryConfig QueryConfig StreamQueryConfig",
            "legacy.table_methods": "TemporalTableFunction",
        },
        lazy=True,
    ),
    "table.catalog": PublicModule(
        "Public names of catalogs and their objects (PyFlink: ``pyflink.table.catalog``).",
        here={
            "table.catalogs.catalog": "Catalog GenericInMemoryCatalog",
            "table.catalogs.objects": """
                CatalogDatabase CatalogBaseTable CatalogPartition CatalogFunction CatalogModel Procedure ObjectPath
                CatalogPartitionSpec CatalogTableStatistics CatalogColumnStatistics CatalogDescriptor ObjectIdentifier
            """,
            "table.catalogs.jdbc_catalog": "JdbcCatalog",
            "table.catalogs.resolved_schema": """
                Column PhysicalColumn ComputedColumn MetadataColumn WatermarkSpec Constraint UniqueConstraint
                ResolvedSchema
            """,
            "table.catalogs.file_catalog": "FileCatalog",
        },
        not_yet={"FileCatalog, or a subclass of Catalog": "HiveCatalog"},
    ),
    "table.changelog_mode": PublicModule(
        "``ChangelogMode``, under PyFlink's path.",
        here={"table.sessions.session": "ChangelogMode"},
    ),
    "table.compiled_plan": PublicModule(
        "``CompiledPlan``, under PyFlink's path.",
        here={"table.planner.compiled_plan": "CompiledPlan"},
    ),
    "table.data_view": PublicModule(here={"table.data_view": "DataView ListView MapView RemovingIterator"}),
    "table.descriptors": PublicModule(
        "``Descriptor``, ``Rowtime`` and ``Schema``, under PyFlink's path.",
        here={"table.catalogs.legacy_schema": "Descriptor Rowtime Schema"},
        older={
            "legacy.descriptors": """
                BatchTableDescriptor ConnectTableDescriptor StreamTableDescriptor Avro ConnectorDescriptor Csv
                CustomConnectorDescriptor CustomFormatDescriptor Elasticsearch FileSystem FormatDescriptor HBase Json
                Kafka OldCsv
            """,
        },
    ),
    "table.environment_settings": PublicModule(
        "``EnvironmentSettings``, under PyFlink's path.",
        here={"table.sessions.session": "EnvironmentSettings"},
    ),
    "table.explain_detail": PublicModule(
        "``ExplainDetail``, under PyFlink's path.",
        here={"table.sessions.session": "ExplainDetail"},
    ),
    "table.expression": PublicModule(
        "Expressions, and the enumerations that their methods take, under PyFlink's path.",
        here={
            "table.expression_methods.expression": "Expression",
            "table.expression_methods.expression_base": """
                JsonExistsOnError JsonOnNull JsonQueryOnEmptyOrError JsonQueryWrapper JsonType JsonValueOnEmptyOrError
                TimeIntervalUnit TimePointUnit
            """,
        },
    ),
    "table.expressions": PublicModule(
        here={
            "table.expressions": """
                if_then_else lit col range_ and_ or_ not_ current_database current_date current_time current_timestamp
                current_watermark local_time local_timestamp temporal_overlaps date_format timestamp_diff array row
                map_ row_interval pi e rand rand_integer atan2 negative concat concat_ws uuid null_of log with_columns
                without_columns json json_string json_object json_object_agg json_array json_array_agg call call_sql
                source_watermark to_timestamp_ltz from_unixtime to_date to_timestamp convert_tz unix_timestamp
                descriptor map_from_arrays object_of coalesce with_all_columns lag lead
            """,
            "table.expression_methods.windows": "UNBOUNDED_ROW UNBOUNDED_RANGE CURRENT_ROW CURRENT_RANGE",
        },
    ),
    "table.factories": PublicModule(
        "Factories of table connectors: how one of your own is registered and found.",
        here={"table.sessions.table_info": "ENTRY_POINTS factory_names factory_of register_factory"},
    ),
    "table.functions": PublicModule(
        absent={
            INTERNAL: """
                AvgAggFunction Count1AggFunction CountAggFunction FirstValueAggFunction
                FirstValueWithRetractAggFunction LastValueAggFunction LastValueWithRetractAggFunction ListAggFunction
                ListAggWithRetractAggFunction ListAggWsWithRetractAggFunction MaxAggFunction MaxWithRetractAggFunction
                MinAggFunction MinWithRetractAggFunction Sum0AggFunction IntSum0AggFunction FloatSum0AggFunction
                DecimalSum0AggFunction SumAggFunction SumWithRetractAggFunction WelfordM2AggFunction
            """,
        },
    ),
    "table.model_descriptor": PublicModule(
        "``ModelDescriptor``, under PyFlink's path.",
        here={"table.catalogs.descriptors": "ModelDescriptor"},
    ),
    "table.module": PublicModule(
        "Modules of functions, under PyFlink's path.",
        here={"table.functions.function_catalog": "Module ModuleEntry"},
        not_yet={"functions made with udf() in a Module of your own": "HiveModule"},
    ),
    "table.plan_reference": PublicModule(
        "References to compiled plans, under PyFlink's path.",
        here={
            "table.planner.compiled_plan": """
                BytesContentPlanReference FilePlanReference JsonContentPlanReference PlanReference
            """,
        },
    ),
    "table.resolved_expression": PublicModule(
        "``ResolvedExpression``, under PyFlink's path.",
        here={"table.expression_methods.expression": "ResolvedExpression"},
    ),
    "table.result_kind": PublicModule(
        "``ResultKind``, under PyFlink's path.",
        here={"table.sessions.table_result": "ResultKind"},
    ),
    "table.schema": PublicModule(
        "``Schema``, under PyFlink's path.",
        here={"table.catalogs.objects": "Schema"},
    ),
    "table.serializers": PublicModule(absent={INTERNAL: "ArrowSerializer"}),
    "table.sql_dialect": PublicModule(
        "``SqlDialect``, under PyFlink's path.",
        here={"table.sessions.session": "SqlDialect"},
    ),
    "table.statement_set": PublicModule(here={"table.statement_set": "StatementSet"}),
    "table.table": PublicModule(
        here={
            "table.table": """
                Table GroupedTable GroupWindowedTable OverWindowedTable WindowGroupedTable AggregatedTable
                FlatAggregateTable
            """,
        },
    ),
    "table.table_config": PublicModule(
        "``TableConfig``, under PyFlink's path.",
        here={"table.sessions.session": "TableConfig"},
    ),
    "table.table_descriptor": PublicModule(
        "``FormatDescriptor`` and ``TableDescriptor``, under PyFlink's path.",
        here={"table.catalogs.descriptors": "FormatDescriptor TableDescriptor"},
    ),
    "table.table_environment": PublicModule(
        "``TableEnvironment`` and ``StreamTableEnvironment``, where table programs begin, under PyFlink's path.",
        here={
            "table.stream_environment": "StreamTableEnvironment",
            "table.environment": "TableEnvironment",
        },
        older={"legacy.table_environments": "BatchTableEnvironment"},
    ),
    "table.table_pipeline": PublicModule(here={"table.table_pipeline": "TablePipeline"}),
    "table.table_result": PublicModule(
        "``CloseableIterator`` and ``TableResult``, under PyFlink's path.",
        here={"table.sessions.table_result": "CloseableIterator TableResult"},
    ),
    "table.table_schema": PublicModule(
        "``TableSchema``, under PyFlink's path.",
        here={"table.catalogs.legacy_schema": "TableSchema"},
    ),
    "table.types": PublicModule(
        "Data types of tables, ``DataTypes`` to make them, and their Arrow forms.",
        here={
            "table.values.data_types": "DataTypes",
            "relational.types": """
                UserDefinedType ArrayType AtomicType BigIntType BinaryType BooleanType CharType DataType DateType
                DayTimeIntervalType DecimalType DoubleType FloatType FractionalType IntegralType IntType ListViewType
                LocalZonedTimestampType MapType MapViewType MultisetType NullType NumericType RawType Resolution
                RowField RowType SmallIntType TimestampType TimeType TinyIntType VarBinaryType VarCharType
                YearMonthIntervalType ZonedTimestampType
            """,
            "common.types": "Row RowKind",
            "table.values.arrow_tables": "create_arrow_schema to_arrow_type",
            "relational.type_table": "from_arrow_type",
        },
        unlisted={
            "table.values.elements": """
                _array_type_mappings=ARRAY_TYPES _array_signed_int_typecode_ctype_mappings=SIGNED_CODES
                _array_unsigned_int_typecode_ctype_mappings=UNSIGNED_CODES _infer_schema=infer_row
                _infer_schema_from_data=infer_schema_from_data _infer_type=infer_type _merge_type=merge_type
                _create_type_verifier=type_verifier
            """,
            "table.values.data_types": "_to_java_data_type _from_java_data_type",
        },
    ),
    "table.udf": PublicModule(
        "Functions of the user, and the decorators that make them, under PyFlink's path.",
        here={
            "table.functions.function_classes": """
                FunctionContext AggregateFunction ScalarFunction TableFunction TableAggregateFunction
                AsyncScalarFunction DelegatingAsyncScalarFunction DelegatingPandasAggregateFunction
                DelegatingScalarFunction DelegationTableFunction ImperativeAggregateFunction
                PandasAggregateFunctionWrapper UserDefinedFunction
            """,
            "table.functions.udf": "udf udtf udaf udtaf",
        },
        unlisted={
            "table.functions.udf": """
                UserDefinedFunctionWrapper UserDefinedScalarFunctionWrapper UserDefinedAsyncScalarFunctionWrapper
                UserDefinedTableFunctionWrapper UserDefinedAggregateFunctionWrapper
            """,
        },
    ),
    "table.utils": PublicModule(
        absent={
            INTERNAL: """
                pandas_to_arrow arrow_to_pandas tz_convert_from_internal tz_convert_to_internal to_expression_jarray
                pickled_bytes_to_python_converter
            """,
        },
    ),
    "table.window": PublicModule(
        "Windows of the Table API, under PyFlink's path.",
        here={"table.expression_methods.windows": "Tumble Session Slide Over GroupWindow OverWindow"},
        unlisted={
            "table.expression_methods.windows": """
                TumbleWithSize TumbleWithSizeOnTime SessionWithGap SessionWithGapOnTime SlideWithSize
                SlideWithSizeAndSlide SlideWithSizeAndSlideOnTime OverWindowPartitionedOrdered
                OverWindowPartitionedOrderedPreceding OverWindowPartitioned
            """,
        },
    ),
}
