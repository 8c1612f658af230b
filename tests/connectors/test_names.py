"""PyFlink's names are where PyFlink has them."""

from __future__ import annotations

import importlib

import pytest

NAMES = {
    "connectors": "Sink Source DeliveryGuarantee NumberSequenceSource BucketAssigner FileEnumeratorProvider FileSink "
    "FileSplitAssignerProvider FileSource FileSourceBuilder OutputFileConfig RollingPolicy StreamFormat "
    "StreamingFileSink DataGeneratorSource",
    "connectors.base": "Sink Source DeliveryGuarantee StreamTransformer SupportsPreprocessing",
    "connectors.jdbc": "JdbcSink JdbcConnectionOptions JdbcExecutionOptions",
    "connectors.number_seq": "NumberSequenceSource",
    "connectors.datagen": "DataGeneratorSource GeneratorFunction RateLimiterStrategy",
    "connectors.file_system": "FileCompactor FileCompactStrategy OutputFileConfig FileSource FileSourceBuilder "
    "FileSink StreamingFileSink StreamFormat BulkFormat FileEnumeratorProvider FileSplitAssignerProvider RollingPolicy "
    "DefaultRollingPolicy OnCheckpointRollingPolicy BucketAssigner",
    "formats.csv": "CsvSchema CsvSchemaBuilder CsvReaderFormat CsvBulkWriters CsvRowDeserializationSchema "
    "CsvRowSerializationSchema",
    "formats.orc": "OrcBulkWriters",
    "formats.json": "JsonRowDeserializationSchema JsonRowSerializationSchema",
    "formats.parquet": "AvroParquetReaders AvroParquetWriters ParquetColumnarRowInputFormat ParquetBulkWriters",
}


@pytest.mark.parametrize("module", NAMES)
def test_names(module: str) -> None:
    loaded = importlib.import_module(f"millrace.datastream.{module}")
    for name in NAMES[module].split():
        assert isinstance(getattr(loaded, name), type), name


def test_nested_builders() -> None:
    from millrace.datastream.connectors.file_system import FileSink, OutputFileConfig, StreamingFileSink

    for owner, names in (
        (FileSink, "BaseBuilder RowFormatBuilder BulkFormatBuilder"),
        (StreamingFileSink, "BaseBuilder DefaultRowFormatBuilder DefaultBulkFormatBuilder"),
        (OutputFileConfig, "OutputFileConfigBuilder"),
    ):
        for name in names.split():
            assert isinstance(getattr(owner, name), type)


def test_what_is_missing_says_so() -> None:
    connectors = importlib.import_module("millrace.datastream.connectors")
    with pytest.raises(NotImplementedError, match="PulsarSource is not in Millrace yet"):
        connectors.PulsarSource.builder()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = connectors.nonsense
