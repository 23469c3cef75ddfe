"""A page to look at: one HTML file with a part of a graph, its closure and what the last batches changed."""
