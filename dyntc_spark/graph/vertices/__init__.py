"""Vertices by name and by number: tables of them in this process and on Spark."""
