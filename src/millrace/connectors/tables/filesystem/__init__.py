"""Tables of files: Parquet, ORC, Avro and files of messages, with partitions."""

from millrace.connectors.tables.filesystem.commits.partition_time import PartitionTimeExtractor
from millrace.connectors.tables.filesystem.commits.policies import PartitionCommitContext, PartitionCommitPolicy

__all__ = ["PartitionCommitContext", "PartitionCommitPolicy", "PartitionTimeExtractor"]
