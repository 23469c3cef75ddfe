"""The command ``dyntc``: closures of graphs in files, from a shell."""
