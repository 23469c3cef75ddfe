"""Changes of a graph: batches, streams of them, and what they changed."""
