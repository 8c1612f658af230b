"""Measuring the same SQL on Millrace and on Flink: both read the same files, each in a process of its own."""
