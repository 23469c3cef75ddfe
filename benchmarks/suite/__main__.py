"""``python -m benchmarks.suite [quick|full] [--workloads …] [--systems …]``."""

import sys

from benchmarks.suite.runner import main

if __name__ == "__main__":
    sys.exit(main())
