"""The main job, in the tests' own session."""

from __future__ import annotations

from dyntc_spark import demo


def test_the_demo_multiplies_and_keeps_up_to_date(spark, capsys):
    demo.multiply(spark)
    demo.keep_up_to_date(spark)
    printed = capsys.readouterr().out
    assert "  (0, 3): 2\n  (1, 4): 1\n  (2, 4): 1\n" in printed
    assert "shop needs brotli: True" in printed
    assert "  3    urllib3   brotli\n" in printed
    assert "shop needs brotli: False" in printed
    assert "  numpy    2          2\n" in printed
