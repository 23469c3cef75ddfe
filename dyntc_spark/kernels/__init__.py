"""Kernels: numpy and numba on one block; no Spark here."""
