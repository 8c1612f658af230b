"""Files as a source and as a sink, on any file system that pyarrow or fsspec opens."""

from __future__ import annotations

from millrace.common.serialization import BulkWriter, BulkWriterFactory
from millrace.connectors.file_system.file_committer import FileCompactor, FileCompactStrategy
from millrace.connectors.file_system.file_format import BulkFormat, StreamFormat
from millrace.connectors.file_system.file_listing import FileEnumeratorProvider, FileSplitAssignerProvider
from millrace.connectors.file_system.file_sink import FileSink, StreamingFileSink
from millrace.connectors.file_system.file_source import FileSource, FileSourceBuilder
from millrace.connectors.file_system.file_stream import FileSplit
from millrace.connectors.file_system.part_policies import (
    BucketAssigner,
    CheckpointRollingPolicy,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    PartFileInfo,
    RollingPolicy,
)

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
