"""What a job tells others about itself: frozen descriptions that travel as JSON and are kept when the job has ended.

Every read-only answer of the REST API, of the history server and of the web pages is computed from a ``JobDocument``
alone, so a running job, a finished one and one that another process runs look the same.
"""
