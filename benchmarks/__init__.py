"""Benchmarks: ratios measured in one run, seeds fixed, warm."""
