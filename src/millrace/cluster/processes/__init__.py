"""The processes of a cluster: engine, supervisor, server, and a process for each job."""
