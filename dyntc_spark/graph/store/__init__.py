"""Closures at a location: Delta tables that hold every batch, checkpoints, and one row for each published version."""
