"""Block matrices over a ring: one interface, in this process and on Spark."""
