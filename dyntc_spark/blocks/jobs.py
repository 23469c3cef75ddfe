"""One job of Spark: counted, tagged, and with errors of our own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dyntc_spark.errors import LostBlocksError, SessionError
from dyntc_spark.session import ensure_open, is_from_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")
#: What Spark says when a block of a local checkpoint was on an executor that is gone.
_LOST = re.compile(r"(?i)checkpoint block \w+(?= not found)")
#: What a worker says that lacks a package.
_MISSING = re.compile(r"ModuleNotFoundError: .+")


def run_job(spark: SparkSession, description: str, action: Callable[[], Result]) -> Result:
    """Run an action of Spark under a tag; say what to do about an error of Spark."""
    ensure_open(spark)
    tag = f"dyntc_spark: {description}".replace(",", ";")
    spark.addTag(tag)
    try:
        return action()
    except Exception as error:
        if not is_from_spark(error):
            raise
        lost = _LOST.search(str(error))
        if lost:
            raise LostBlocksError(
                f"Spark to have the blocks that the job {description!r} reads",
                f"a loss of {lost[0]}",
                "An executor that held them is gone. Build the state again.",
            ) from error
        missing = _MISSING.search(str(error))
        raise SessionError(
            f"Spark to finish the job {description!r}",
            missing[0] if missing else f"{type(error).__name__}: {str(error).strip().splitlines()[0]}",
            "Spark's workers run another Python than this process, or one without the packages of this one. On one "
            "machine set the variable PYSPARK_PYTHON to sys.executable before the session starts; on a cluster "
            "install dyntc-spark there."
            if missing
            else "The state is as it was before; the cause above has Spark's own account.",
        ) from error
    finally:
        spark.removeTag(tag)
