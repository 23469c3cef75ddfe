"""A closure as tables of a Spark session: relations, joins, SQL views and functions."""
