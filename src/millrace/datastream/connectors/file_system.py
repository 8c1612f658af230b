# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Files under PyFlink's names; the code is in ``millrace.connectors.file_system``."""

from __future__ import annotations

from millrace.connectors.file_system.file_committer import FileCompactor, FileCompactStrategy
from millrace.connectors.file_system.file_format import BulkFormat, StreamFormat
from millrace.connectors.file_system.file_listing import FileEnumeratorProvider, FileSplitAssignerProvider
from millrace.connectors.file_system.file_sink import FileSink, StreamingFileSink
from millrace.connectors.file_system.file_source import FileSource, FileSourceBuilder
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
    "RollingPolicy",
    "DefaultRollingPolicy",
    "CheckpointRollingPolicy",
    "OnCheckpointRollingPolicy",
    "PartFileInfo",
    "BucketAssigner",
    "FileSource",
    "FileSourceBuilder",
    "FileSink",
    "StreamingFileSink",
    "StreamFormat",
    "BulkFormat",
    "FileEnumeratorProvider",
    "FileSplitAssignerProvider",
]
