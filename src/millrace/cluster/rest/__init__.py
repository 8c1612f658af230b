"""Flink's REST API in front of the things that hold jobs: ``app.py`` makes it, ``serving.py`` listens."""
