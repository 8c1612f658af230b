"""Files under PyFlink's names; the code is in ``millrace.connectors.file_system``."""

from __future__ import annotations

from millrace.connectors.file_system import (
    BucketAssigner,
    BulkFormat,
    CheckpointRollingPolicy,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    PartFileInfo,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
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
]
