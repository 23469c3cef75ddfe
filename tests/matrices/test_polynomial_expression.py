"""How polynomials are written down, and what is kept for them."""

import pytest

from dyntc_spark.matrices.polynomial.expression import ExpressionError, Polynomial
from dyntc_spark.matrices.polynomial.layout import Layout


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("A", [("A",)]),
        (" A*B + C ", [("A", "B"), ("C",)]),
        ("A + B·P²·C".replace("²", "^2"), [("A",), ("B", "P", "P", "C")]),
        ("V + V**2 + V ^ 3", [("V",), ("V",) * 2, ("V",) * 3]),
        ("E1 B_2 E1", [("E1", "B_2", "E1")]),
        ("A*B + A*B", [("A", "B")]),
    ],
)
def test_parse(text, terms):
    polynomial = Polynomial.parse(text)
    assert polynomial.terms == tuple(terms)
    assert Polynomial.parse(str(polynomial)) == polynomial
    assert polynomial.degree == max(map(len, terms))


@pytest.mark.parametrize(
    "text", ["", " ", "A +", "+ A", "A * * B", "A^0", "^2", "A + (B)", "2*A", "A*+B", "A-B", "A^", "_A"]
)
def test_text_that_is_no_polynomial(text):
    with pytest.raises(ExpressionError, match="a sum of products of names"):
        Polynomial.parse(text)


def test_variables_in_the_order_in_which_they_occur():
    assert Polynomial.parse("B*A*B + C").variables == ("B", "A", "C")
    with pytest.raises(ExpressionError, match="at least one term"):
        Polynomial(())


def test_the_chains_of_the_lemma():
    """Every product of a term of degree 4, line by line as in the paper."""
    names = {"A": (2, 3), "B": (3, 4), "C": (4, 5), "D": (5, 6)}
    layout = Layout({"S": Polynomial.parse("A*B*C*D")}, names, size=8)
    found = {p.name: (p.first, p.second, layout.kinds[p.name].grid.shape, p.level) for p in layout.products}
    assert found == {
        "L_1_2_1": ("X_A", "X_B", (2, 4), 1),
        "L_1_3_1": ("X_B", "X_C", (3, 5), 1),
        "L_1_3_2": ("X_A", "L_1_3_1", (2, 5), 2),
        "L_1_4_1": ("X_C", "X_D", (4, 6), 1),
        "L_1_4_2": ("X_B", "L_1_4_1", (3, 6), 2),
        "L_1_4_3": ("X_A", "L_1_4_2", (2, 6), 3),
        "R_1_0_1": ("X_A", "X_B", (2, 4), 1),
        "R_1_0_2": ("R_1_0_1", "X_C", (2, 5), 2),
        "R_1_0_3": ("R_1_0_2", "X_D", (2, 6), 3),
        "R_1_1_1": ("X_B", "X_C", (3, 5), 1),
        "R_1_1_2": ("R_1_1_1", "X_D", (3, 6), 2),
        "R_1_2_1": ("X_C", "X_D", (4, 6), 1),
        "Prod_1_1": ("X_A", "R_1_1_2", (2, 6), 3),
        "Prod_1_2": ("L_1_2_1", "R_1_2_1", (2, 6), 2),
        "Prod_1_3": ("L_1_3_2", "X_D", (2, 6), 3),
    }
    assert {p.name for p in layout.products if p.summand} == {"L_1_4_3", "R_1_0_3", "Prod_1_1", "Prod_1_2", "Prod_1_3"}
    assert all((p.columns == (1, int(p.name[4]))) for p in layout.products if p.name[0] == "L")
    assert all((p.rows == (1, int(p.name[4]))) for p in layout.products if p.name[0] == "R")
