"""What can be asked of a closure: as Spark DataFrames and as Arrow tables."""
