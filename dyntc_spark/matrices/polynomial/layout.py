"""What a polynomial keeps: which products, revealed by which operations, over which matrices.

Section 4.1 of the paper brings a term of any degree down to *products of two
factors*, each a Data Structure for ``k = 2`` with its own witness counts
``Prod``. For a term ``X_1 ··· X_k`` these are

- ``k = 1``: one product ``I · X_1``;
- ``k = 2``: one product ``X_1 · X_2``, Data Structure 1 of the paper as it is;
- ``k > 2``: the chains of Lemma 2 with ``L_{b,0} = X_b`` and ``R_{b,0} = X_{b+1}``,
  ``L_{b,j} = X_{b-j} · L_{b,j-1}`` and ``R_{b,j} = R_{b,j-1} · X_{b+1+j}``, and the
  products ``L_{b,b-1} · R_{b,k-b-1}`` for ``0 < b < k``. For ``b = 0`` and ``b = k``
  one factor is ``I``: there the top of the chain is the summand itself.

Boundaries
    ``SetCol(i, X_b)`` and ``SetRow(i, X_{b+1})`` do the same thing: they reveal
    what passes through index ``i`` *at boundary b*, between the two factors. So
    ``LastCol`` of ``X_b`` and ``LastRow`` of ``X_{b+1}`` are one vector, the times
    of the last operations at boundary ``b``. A boundary lies on the rows, in the
    middle or on the columns of a product, and the paper's property reads

    ``P(x,y,z): max(LastFlip_1[x,y], LastFlip_2[y,z]) <= max(rows[x], middle[y], columns[z])``

    where a boundary that does not touch the product counts as 0.

One clock
    All products share one clock and one copy of each variable: every operation
    writes the variable first, with one tick for all its occurrences, which is
    the paper's LazySet on every copy. A factor ``L_{b,j}`` with ``j > 0`` changes
    only in column ``i`` at boundary ``b``, and the product above it is revealed
    there at the same tick. So ``LastFlip`` of a chain's factor never exceeds its
    boundary's time: chains need neither copies nor stamps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from dyntc_spark.blocks.grid import Axis, Grid
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.blocks.where import Tile
from dyntc_spark.errors import ShapeMismatchError
from dyntc_spark.matrices.counted_product import CountedProduct, Factor, Last
from dyntc_spark.matrices.polynomial.expression import Polynomial, Term
from dyntc_spark.matrices.triples import Times, count_dtype

#: ``(a, b)``: between factors ``b`` and ``b + 1`` of term ``a``; terms and factors are counted from 1.
Boundary = tuple[int, int]
Shape = tuple[int, int]

#: Names of the matrices of a state: of the value (counts and bits), of a variable, of a product.
SUM, VALUE = "S", "Y"


def bits(variable: str) -> str:
    """The matrix of a variable's entries, packed bits."""
    return f"X_{variable}"


def flips(factor: str) -> str:
    """The matrix ``LastFlip`` of a variable, 32-bit; 0 where the entry is 0."""
    return f"F{factor[1:]}"


def is_variable(factor: str) -> bool:
    """Whether a factor is a variable, and not a product."""
    return factor.startswith("X")


def truth(product: str) -> str:
    """The matrix of where a product is positive; it exists during Init only."""
    return f"V_{product}"


@dataclass(frozen=True)
class Product:
    """``Prod = first · second``, counted where the property holds; ``first`` is None for the identity."""

    name: str
    first: str | None
    second: str
    #: Products of a level depend on variables and on products of lower levels.
    level: int
    rows: Boundary | None = None
    middle: Boundary | None = None
    columns: Boundary | None = None
    #: Whether ``S`` counts it: ``S[x,z] = |{products with Prod[x,z] > 0}|``.
    summand: bool = False
    #: The name of that ``S``.
    sum: str = SUM

    @property
    def total(self) -> str | None:
        """The matrix that counts it, if one does."""
        return self.sum if self.summand else None


class Layout:
    """The products, boundaries and matrices of polynomials over the same variables; terms are numbered through.

    ``polynomials`` has them by the name of the matrix ``S`` that counts the positive products of each.

    Examples
    --------
    >>> layout = Layout({"S": "A*B*C"}, {"A": (3, 4), "B": (4, 5), "C": (5, 6)}, size=64)
    >>> [(p.name, p.first, p.second) for p in layout.products if p.middle]
    [('Prod_1_1', 'X_A', 'R_1_1_1'), ('Prod_1_2', 'L_1_2_1', 'X_C')]
    >>> layout = Layout({"S_Q": "A + B*C", "S_T": "C*A"}, {"A": (2, 2), "B": (2, 3), "C": (3, 2)}, size=64)
    >>> layout.totals
    {'S_Q': ('Prod_1', 'Prod_2'), 'S_T': ('Prod_3',)}
    """

    def __init__(self, polynomials: Mapping[str, Polynomial | str], shapes: Mapping[str, Shape], size: int) -> None:
        self.polynomials = {
            total: Polynomial.parse(given) if isinstance(given, str) else given for total, given in polynomials.items()
        }
        self.shapes = _checked(self.polynomials, shapes)
        self.variables = tuple(self.shapes)
        #: ``(a, b)``: the variable is factor ``b`` of term ``a``.
        self.occurrences: dict[str, list[tuple[int, int]]] = {name: [] for name in self.variables}
        #: The terms of each polynomial.
        self.terms: dict[str, list[int]] = {total: [] for total in polynomials}
        self.axes: dict[Boundary, Axis] = {}
        self.products: list[Product] = []
        self.kinds: dict[str, Kind] = {}
        for name in self.variables:
            grid = Grid.square(*self.shapes[name], size)
            self.kinds[bits(name)] = Kind(grid, BOOLEAN)
            self.kinds[flips(bits(name))] = Kind(grid, COUNTING)
        for total, polynomial in self.polynomials.items():
            for term in polynomial.terms:
                self._add(total, term)
        self.products.sort(key=lambda product: product.level)
        for product in self.products:
            second = self.kinds[product.second].grid
            grid = second if product.first is None else self.kinds[product.first].grid.product(second)
            self.kinds[product.name] = Kind(grid, COUNTING)
        factors = {factor for product in self.products for factor in (product.first, product.second)}
        #: Products that other products are made of.
        self.inner = frozenset(product.name for product in self.products if product.name in factors)
        self.totals = {
            total: tuple(product.name for product in self.products if product.total == total) for total in polynomials
        }
        passing = {truth(name): name for name in self.inner} | ({VALUE: SUM} if SUM in self.totals else {})
        #: The matrices of a state: those that are kept, and those that are filled in passing and zero otherwise.
        self.all_kinds = self.kinds | {name: Kind(self.kinds[like].grid, BOOLEAN) for name, like in passing.items()}
        self.levels = max(product.level for product in self.products)
        self.summands = max(map(len, self.totals.values()))

    def _add(self, total: str, term: Term) -> None:
        """Add a term to the polynomial that ``total`` counts."""
        a = sum(map(len, self.terms.values())) + 1
        self.terms[total].append(a)
        sides = [self.kinds[bits(name)].grid for name in term]
        for b, axis in enumerate([sides[0].down, *(side.across for side in sides)]):
            self.axes[a, b] = axis
        for b, name in enumerate(term, start=1):
            self.occurrences[name].append((a, b))
        self.products += [replace(each, sum=total) for each in products_of(a, [bits(name) for name in term])]
        self.kinds[total] = Kind(Grid(sides[0].down, sides[-1].across), COUNTING)

    def rows_of(self, total: str, variable: str) -> list[Boundary]:
        """The boundaries that SetRow of a variable reveals in one polynomial."""
        return [(a, b - 1) for a, b in self.occurrences[variable] if a in self.terms[total]]

    def columns_of(self, total: str, variable: str) -> list[Boundary]:
        """The boundaries that SetCol of a variable reveals in one polynomial."""
        return [(a, b) for a, b in self.occurrences[variable] if a in self.terms[total]]

    def counted(self, product: Product, last: Mapping[Boundary, Times]) -> CountedProduct:
        """Return a product as operations see it, with the times of its boundaries."""
        sides = (None if b is None else last[b] for b in (product.rows, product.middle, product.columns))
        return CountedProduct(
            product.name,
            Tile(self.kinds[product.name].grid),
            None if product.first is None else self._factor(product.first),
            self._factor(product.second),
            count_dtype(self.inner_length(product)),
            Last(*sides),
            total=product.total,
            total_dtype=count_dtype(self.summands),
        )

    def _factor(self, name: str) -> Factor:
        matrix = flips(name) if is_variable(name) else name
        return Factor(matrix, self.kinds[matrix].grid, stamps=is_variable(name))

    def inner_length(self, product: Product) -> int:
        """The largest count that a product can have."""
        return 1 if product.first is None else self.kinds[product.second].grid.down.length

    def triples(self) -> int:
        """The number of triples ``(x, y, z)`` over all products: what an Init works through."""
        return sum(
            shape[0] * self.inner_length(product) * shape[1]
            for product in self.products
            for shape in [self.kinds[product.name].grid.shape]
        )


def products_of(a: int, x: list[str]) -> list[Product]:
    """The products of term ``a`` with the factors ``x[0], x[1], …``."""
    k = len(x)
    if k == 1:
        return [Product(f"Prod_{a}", None, x[0], 1, rows=(a, 0), columns=(a, 1), summand=True)]
    if k == 2:
        return [Product(f"Prod_{a}", x[0], x[1], 1, rows=(a, 0), middle=(a, 1), columns=(a, 2), summand=True)]
    factor = [None, *x]  # counted from 1, as in the paper
    left = {(b, 0): x[b - 1] for b in range(1, k + 1)} | {
        (b, j): f"L_{a}_{b}_{j}" for b in range(1, k + 1) for j in range(1, b)
    }
    right = {(b, 0): x[b] for b in range(k)} | {(b, j): f"R_{a}_{b}_{j}" for b in range(k) for j in range(1, k - b)}
    found = [
        Product(name, factor[b - j], left[b, j - 1], j, columns=(a, b), summand=j == k - 1)
        for (b, j), name in left.items()
        if j > 0
    ]
    found += [
        Product(name, right[b, j - 1], x[b + j], j, rows=(a, b), summand=j == k - 1)
        for (b, j), name in right.items()
        if j > 0
    ]
    found += [
        Product(f"Prod_{a}_{b}", left[b, b - 1], right[b, k - b - 1], max(b, k - b), middle=(a, b), summand=True)
        for b in range(1, k)
    ]
    return found


def _checked(polynomials: Mapping[str, Polynomial], shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the shapes of the variables; refuse shapes that are missing, left over, or do not fit together."""
    names = tuple(dict.fromkeys(name for polynomial in polynomials.values() for name in polynomial.variables))
    if set(shapes) != set(names):
        raise ShapeMismatchError(
            f"shapes for {', '.join(names)}",
            f"shapes for {', '.join(shapes) or 'nothing'}",
            "Give the shape of each variable of the polynomial.",
        )
    for polynomial in polynomials.values():
        outer = {_shape(term, shapes): term for term in reversed(polynomial.terms)}
        if len(outer) > 1:
            came = " and ".join(f"{'*'.join(term)} of {m} x {n}" for (m, n), term in reversed(outer.items()))
            raise ShapeMismatchError("terms of one shape", came, "Check the shapes of the outer factors.")
    return {name: (int(shapes[name][0]), int(shapes[name][1])) for name in names}


def _shape(term: Term, shapes: Mapping[str, Shape]) -> Shape:
    for left, right in pairwise(term):
        if shapes[left][1] != shapes[right][0]:
            raise ShapeMismatchError(
                f"as many rows of {right} as columns of {left} in {'*'.join(term)}",
                f"{shapes[right][0]} and {shapes[left][1]}",
                "The inner sizes of neighbouring factors must agree.",
            )
    return shapes[term[0]][0], shapes[term[-1]][1]
