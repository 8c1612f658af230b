"""Files as a source and as a sink, on any file system that pyarrow or fsspec opens."""

from __future__ import annotations

from millrace.common.serialization import BulkWriter, BulkWriterFactory
from millrace.connectors.file_system.bucket import BucketAssigner
from millrace.connectors.file_system.compaction import FileCompactor, FileCompactStrategy
from millrace.connectors.file_system.enumerate import FileEnumeratorProvider, FileSplitAssignerProvider
from millrace.connectors.file_system.format import BulkFormat, StreamFormat
from millrace.connectors.file_system.output_config import OutputFileConfig
from millrace.connectors.file_system.rolling import (
    CheckpointRollingPolicy,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    PartFileInfo,
    RollingPolicy,
)
from millrace.connectors.file_system.sink import FileSink
from millrace.connectors.file_system.source import FileSource, FileSourceBuilder
from millrace.connectors.file_system.split import FileSplit
from millrace.connectors.file_system.streaming_file_sink import StreamingFileSink

__all__ = [
    "FileCompactor",
    "FileCompactStrategy",
    "OutputFileConfig",
    "FileSource",
    "FileSourceBuilder",
    "FileSink",
    "StreamingFileSink",
    "StreamFormat",
    "BulkFormat",
    "FileEnumeratorProvider",
    "FileSplitAssignerProvider",
    "RollingPolicy",
    "DefaultRollingPolicy",
    "CheckpointRollingPolicy",
    "OnCheckpointRollingPolicy",
    "PartFileInfo",
    "BucketAssigner",
    "BulkWriter",
    "BulkWriterFactory",
    "FileSplit",
]
