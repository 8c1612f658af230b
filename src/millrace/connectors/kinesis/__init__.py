"""Kinesis and DynamoDB Streams: shards read from positions; Kinesis and Firehose written."""
