"""The closure in lanes: the engine that is used by default, in process and on Spark."""
