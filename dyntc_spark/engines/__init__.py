"""Engines: the closure of a changing digraph on the vertices 0 … n-1, each by its own algorithm."""
