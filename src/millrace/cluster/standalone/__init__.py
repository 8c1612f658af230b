"""Spark's own master and workers under a cluster: where they run, how they are started, which processes they are."""
