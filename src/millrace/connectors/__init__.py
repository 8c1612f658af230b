"""Connectors written against the FLIP-27 source and FLIP-143 sink contracts: pure Python and pyarrow."""
