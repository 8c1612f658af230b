"""Jobs that run in a cluster: their documents, the server that holds them, its REST API and web pages."""
