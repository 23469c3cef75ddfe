"""Reachability of a changing directed graph, kept up to date as block matrices in Spark DataFrames."""
