"""A cluster of Millrace with real jobs, asked what Flink was asked: its REST API, its history server, its command."""
