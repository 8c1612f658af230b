"""The documentation site: pages that are made when it is built."""
