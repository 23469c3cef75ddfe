"""Pictures of a graph and its closure: boxes and arrows where they can be read, the matrix where they cannot."""
