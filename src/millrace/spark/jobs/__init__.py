"""Runs jobs on Spark: submits them, drives their epochs, and answers requests to a running job."""
