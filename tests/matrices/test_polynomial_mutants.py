"""Mistakes that must be found: those that the paper prints, and some that are easy to make."""

from dataclasses import replace

import numpy as np
import pytest

from dyntc_spark.matrices import counted_product, triples, witness_operations
from dyntc_spark.matrices.polynomial import set_lines, system
from dyntc_spark.matrices.polynomial.boolean_polynomial import BooleanPolynomial
from dyntc_spark.matrices.polynomial.expression import Polynomial
from dyntc_spark.matrices.polynomial.layout import Layout
from dyntc_spark.matrices.product_operations import Line
from tests.matrices.polynomial_oracle import PRINTED, PRINTED_K, Degree2, DegreeK, History
from tests.matrices.polynomial_scripts import FORMS, apply, draw, remember, run

NEVER = float("inf")


def degree_2_fails(mistakes, seed, n=4):
    """Whether the paper's loops break the guarantee on a random script."""
    layout = Layout({"S": Polynomial.parse("A*B")}, {"A": (n, n), "B": (n, n)}, size=64)
    literal, history, rng = Degree2([((n, n), (n, n))], mistakes), History(layout), np.random.default_rng(seed)
    for _ in range(25):
        kind, *arguments = operation = draw(rng, layout)
        if kind == "init":
            literal.init([[arguments[0][name] for name in "AB"]])
        else:
            getattr(literal, kind)(0, "AB".index(arguments[0]), *arguments[1:])
        remember(history, operation)
        if not np.array_equal(literal.prod[0], history.counts()["Prod_1"]):
            return True
    return False


def degree_k_fails(mistakes, seed, form):
    """Whether the paper's chains show a wrong 1, or hide what the guarantee promises."""
    expression, shapes = FORMS[form]
    layout = Layout({"S": Polynomial.parse(expression)}, shapes, size=64)
    literal, history = DegreeK(layout.polynomials["S"].terms, shapes, mistakes), History(layout)
    rng = np.random.default_rng(seed)
    for _ in range(25):
        operation = draw(rng, layout)
        apply(literal, operation)
        remember(history, operation)
        if not np.array_equal(literal.lookup(), history.lookup()):
            return True
    return False


def test_the_corrected_text_keeps_the_guarantee():
    assert not any(degree_2_fails((), seed) for seed in range(40))
    assert not any(degree_k_fails((), seed, form) for form in ("degree 3", "degree 4") for seed in range(15))


@pytest.mark.parametrize("mistake", PRINTED)
def test_the_printed_text_of_degree_2_breaks_it(mistake):
    assert any(degree_2_fails((mistake,), seed) for seed in range(60)), PRINTED[mistake]


@pytest.mark.parametrize("mistake", PRINTED_K)
@pytest.mark.parametrize("form", ["degree 3", "degree 4"])
def test_the_printed_text_of_degree_k_breaks_it(mistake, form):
    assert any(degree_k_fails((mistake,), seed, form) for seed in range(40)), PRINTED_K[mistake]


# --- the same mistakes, and others, in our own code ------------------------------------------------


def reset_scans_x1(monkeypatch):
    plain = counted_product.Lost._witnesses

    def witnesses(lost, *, upright):
        swapped = replace(lost.product, first=lost.product.second, second=lost.product.first)
        return plain(replace_product(lost, swapped), upright=upright)

    monkeypatch.setattr(counted_product.Lost, "_witnesses", witnesses)


def replace_product(lost, product):
    return counted_product.Lost(product, lost.first, lost.second, lost.extra, lost.also)


def reset_line_4(monkeypatch):
    plain = BooleanPolynomial.set_row

    def set_row(p, name, *arguments):
        before = p._values.last
        plain(p, name, *arguments)
        last = {b: before[b] if b[1] else times for b, times in p._values.last.items()}
        p._held = replace(p._values, last=last)

    monkeypatch.setattr(BooleanPolynomial, "set_row", set_row)


def setcol_line_11(monkeypatch):
    plain = BooleanPolynomial.set_col

    def set_col(p, name, i, column):
        before = p._values.last
        plain(p, name, i, column)
        p._held = replace(p._values, last={**before, (1, 1): p._values.last[1, 1].copy()})
        p._values.last[1, 1][i] = p.time

    monkeypatch.setattr(BooleanPolynomial, "set_col", set_col)


def one_list(monkeypatch):
    def witnesses(shape, left, right, rows, middle, columns):
        order = np.argsort(-np.maximum(columns, middle.max(initial=0) * (np.arange(len(columns)) % 2))).astype(np.int32)
        found = np.zeros(shape, np.int32)
        triples._witnesses(found, *left, *right, rows, middle, columns, order)
        return found

    monkeypatch.setattr(witness_operations, "witnesses", witnesses)


def both_factors_from_one_snapshot(monkeypatch):
    nothing = np.zeros(0, np.int64)
    monkeypatch.setattr(counted_product.Lost, "_both", lambda _: (nothing, nothing, nothing))


def no_tick(monkeypatch):
    plain = system.Changing._flip

    def flip(held, name, places, time):
        return plain(held, name, places, max(1, time - time % 2))

    monkeypatch.setattr(system.Changing, "_flip", flip)


def flips_only(monkeypatch):
    plain = set_lines.Centre.line

    def line(centre, side):
        found = plain(centre, side)
        return np.where(found == centre.time, found, 0) if side in centre.old else found

    monkeypatch.setattr(set_lines.Centre, "line", line)


def one_chain_only(monkeypatch):
    """Lines 3 and 4 dropped where the column has no new entry: "ΔX = 0, so there is nothing to do"."""
    plain, plain_stamps = set_lines.Centre.writes, set_lines.Centre.stamps

    def writes(centre):
        return [write for write in plain(centre) if not (isinstance(write, Line) and write.line.upright)]

    def stamps(centre, side):
        chain = side[0].startswith("L")
        return (centre.old[side] > 0).astype(int) if chain else plain_stamps(centre, side)

    monkeypatch.setattr(set_lines.Centre, "writes", writes)
    monkeypatch.setattr(set_lines.Centre, "stamps", stamps)


def reset_reveals(monkeypatch):
    monkeypatch.setattr(BooleanPolynomial, "_budget", lambda _: -1)


@pytest.mark.parametrize(
    ("mutate", "form"),
    [
        (reset_scans_x1, "square product"),
        (reset_scans_x1, "section 5"),
        (reset_line_4, "product"),
        (setcol_line_11, "product"),
        (one_list, "product"),
        (both_factors_from_one_snapshot, "square"),
        (no_tick, "product"),
        (flips_only, "product"),
        (flips_only, "degree 3"),
        (one_chain_only, "degree 3"),
        (reset_reveals, "product"),
    ],
)
def test_a_mutant_is_found(monkeypatch, mutate, form):
    mutate(monkeypatch)
    for seed in range(60):
        p = BooleanPolynomial(*FORMS[form], size=64, rebuild_share=NEVER)
        try:
            run(p, np.random.default_rng(seed), 25)
        except (AssertionError, IndexError):
            return
    pytest.fail("no script found it")
