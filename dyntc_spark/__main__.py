"""``python -m dyntc_spark`` is the command ``dyntc``."""

import sys

from dyntc_spark.cli.main import main

sys.exit(main())
