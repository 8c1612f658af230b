"""Folders and files of jobs, and whose they are."""
