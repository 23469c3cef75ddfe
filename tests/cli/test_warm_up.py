"""``dyntc warm-up``: after it, nothing that the default engine calls is compiled any more."""

import re

import pytest

from dyntc_spark.cli.main import main


@pytest.mark.long
def test_a_second_warm_up_has_nothing_to_do(capsys):
    assert main(["warm-up"]) == 0
    assert re.fullmatch(r"\d+ functions compiled\n|nothing to compile: .*\n", capsys.readouterr().out)
    assert main(["warm-up"]) == 0
    assert capsys.readouterr().out == "nothing to compile: all of it is in the cache\n"
