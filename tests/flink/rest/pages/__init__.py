"""Flink's own web pages in front of our REST API."""
