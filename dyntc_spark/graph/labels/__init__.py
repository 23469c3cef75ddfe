"""Graphs whose edges have labels, and closures over some of the labels."""
