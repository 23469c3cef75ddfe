"""Lines ``X`` with ``X = Y + B·X`` modulo primes, for any square ``B``: block substitution along its condensation.

``B`` is read as a digraph: an entry at ``(i, j)`` is an edge from line ``i`` to line ``j``, whose
line has to be known first. Lines without a cycle are substituted one after the other
(``sparse_lines.substitute``). A component ``c`` is solved together,

    X[c] = (I - B[c,c])⁻¹ · (Y[c] + B[c,·]·X[·]),

a small one through its inverse, which enters the substitution, a large one as a dense system on
BLAS. So a system of any size costs its products, and n³ only inside its components.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.rings import Ring
from dyntc_spark.kernels import components, modular_solve, sparse
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.lazy import sparse_lines

LARGE = 64  #: components of so many lines are solved as dense systems
WIDTH = 8192  #: columns of a dense right side at a time
SECONDS_A_PRODUCT = 4e-10  #: of a dense system, a plane
REACH = 2048  #: lines that are solved together as a dense system, at most


class LargeSystem(Exception):  # noqa: N818  (no error: the caller takes another way)
    """A system that is beyond what is solved at once: dense systems of ``lines`` that would take ``seconds``."""

    def __init__(self, lines: int, seconds: float) -> None:
        super().__init__(lines, seconds)
        self.lines, self.seconds = lines, seconds


def solved(right: Sparse, coefficients: Sparse, ring: Ring, most: int | None = None) -> Sparse:
    """Return ``X``; raises ``SingularMatrixError`` when ``I - B`` has no inverse modulo one of the primes.

    Raises ``LargeSystem`` before it starts when a component has more than ``most`` lines.

    Examples
    --------
    >>> from dyntc_spark.blocks.rings import Modular
    >>> ring = Modular((7,))
    >>> right = sparse.from_coordinates([0], [2], [[1]], (2, 3), ring.modulus)
    >>> cycle = sparse.from_coordinates([0, 1], [1, 0], [[2, 1]], (2, 2), ring.modulus)
    >>> found = solved(right, cycle, ring)  # x = e + 2·y and y = x, so x = -e
    >>> found.rows.tolist(), found.columns.tolist(), found.values.tolist()
    ([0, 1], [2, 2], [[6, 6]])
    """
    starts = sparse_lines.starts_of(coefficients)
    component, count = components.strong_components(starts, coefficients.columns)
    offsets, members = components.grouped(component, count)
    sizes = np.diff(offsets)
    loops = np.unique(component[coefficients.rows[coefficients.rows == coefficients.columns]])
    cyclic = sizes > 1
    cyclic[loops] = True
    if not cyclic.any():
        return sparse_lines.substitute(right, coefficients, members.astype(np.int64), ring.modulus)
    large, width = sizes[sizes >= LARGE].astype(float), len(np.unique(right.columns)) if sizes.max() >= LARGE else 0
    if most is not None and sizes.max() > most:
        raise LargeSystem(int(sizes.max()), (large**2 * (large / 2 + width)).sum() * SECONDS_A_PRODUCT * ring.planes)
    done, found = np.zeros(0, np.int64), None
    for first, last in _segments(sizes):
        lines = members[offsets[first] : offsets[last]].astype(np.int64)
        part, own = sparse.take_rows(right, lines), sparse.take_rows(coefficients, lines)
        if found is not None:
            part = sparse_lines.combine(part, _at(own, done), found, ring.modulus)
        if sizes[first] >= LARGE:
            part = _dense(part, _at(own, lines), ring)
        else:
            part = _small(part, _at(own, lines), sizes[first:last], cyclic[first:last], ring)
        found = part if found is None else sparse_lines.stacked(found, part)
        done = np.append(done, lines)
    assert found is not None  # noqa: S101  (there is a component, so there is a segment)
    return sparse.take_rows(found, np.argsort(done))


def _segments(sizes: Indices) -> Iterator[tuple[int, int]]:
    """Yield runs of components: each large one by itself, and the small ones between them."""
    start = 0
    for at in np.flatnonzero(sizes >= LARGE).tolist():
        if start < at:
            yield start, at
        yield at, at + 1
        start = at + 1
    if start < len(sizes):
        yield start, len(sizes)


def _at(lines: Sparse, ids: Indices) -> Sparse:
    """Return the entries of lines at ``ids``, in any order, renumbered by their place there."""
    order = np.argsort(ids)
    kept = sparse_lines.restrict(lines, ids[order])
    columns = order[kept.columns]
    again = np.lexsort((columns, kept.rows))
    return Sparse(kept.shape, kept.rows[again], columns[again].astype(np.int32), kept.values[:, again])


def _small(part: Sparse, own: Sparse, sizes: Indices, cyclic: npt.NDArray[np.bool_], ring: Ring) -> Sparse:
    """Substitute through the inverses ``G`` of small components: ``X = G·Y + (G·B')·X``, ``B'`` between components."""
    modulus, count = ring.modulus, part.shape[0]
    component = np.repeat(np.arange(len(sizes)), sizes)
    inside = component[own.rows] == component[own.columns]
    within, between = _where(own, inside), _where(own, ~inside)
    inverse = _inverses(within, component, sizes, cyclic, ring)
    right = sparse_lines.combine(_nothing(part, ring), inverse, part, modulus)
    between = sparse_lines.combine(_nothing(between, ring), inverse, between, modulus)
    return sparse_lines.substitute(right, between, np.arange(count), modulus)


def _inverses(within: Sparse, component: Indices, sizes: Indices, cyclic: npt.NDArray[np.bool_], ring: Ring) -> Sparse:
    """Return the inverses of ``I - B`` on each component, as one block diagonal matrix."""
    count = within.shape[0]
    firsts = np.cumsum(sizes) - sizes
    plain = np.flatnonzero(~cyclic[component])
    rows, columns, values = [plain], [plain], [ring.values(None, len(plain))]
    bounds = np.searchsorted(within.rows, np.append(firsts, count))
    for c in np.flatnonzero(cyclic).tolist():
        size, chosen = int(sizes[c]), slice(bounds[c], bounds[c + 1])
        square = np.zeros((ring.planes, size, size), np.int64)
        square[:, within.rows[chosen] - firsts[c], within.columns[chosen] - firsts[c]] = within.values[:, chosen]
        inverse = np.stack([modular_solve.inverse(system, p) for system, p in _minus(square, ring)])
        down, across = np.divmod(np.arange(size**2), size)
        rows.append(firsts[c] + down)
        columns.append(firsts[c] + across)
        values.append(inverse.reshape(ring.planes, -1))
    return sparse.from_coordinates(
        np.concatenate(rows), np.concatenate(columns), np.concatenate(values, axis=1), (count, count), ring.modulus
    )


def _dense(part: Sparse, own: Sparse, ring: Ring) -> Sparse:
    """Solve one component as a dense system, some columns at a time."""
    square = np.zeros((ring.planes, *own.shape), np.int64)
    square[:, own.rows, own.columns] = own.values
    used = np.unique(part.columns)
    places = np.searchsorted(used, part.columns)
    found = []
    for start in range(0, len(used), WIDTH):
        chosen = (places >= start) & (places < start + WIDTH)
        width = min(WIDTH, len(used) - start)
        right = np.zeros((ring.planes, part.shape[0], width), np.int32)
        right[:, part.rows[chosen], places[chosen] - start] = part.values[:, chosen]
        pieces = [
            modular_solve.solve(system, side, p) for (system, p), side in zip(_minus(square, ring), right, strict=True)
        ]
        lines = np.stack(pieces)
        rows, columns = np.nonzero(lines.any(axis=0))
        found.append((rows, used[start + columns], lines[:, rows, columns]))
    if not found:
        for system, p in _minus(square, ring):
            modular_solve.inverse(system, p)
        return part
    rows, columns, values = (np.concatenate(side, axis=-1) for side in zip(*found, strict=True))
    return sparse.from_coordinates(rows, columns, values, part.shape, ring.modulus)


def _minus(square: Ints, ring: Ring) -> Iterator[tuple[Ints, int]]:
    """Yield ``I - B`` modulo each prime."""
    for layer, p in zip(square, ring.modulus or (), strict=True):
        yield (np.eye(len(layer), dtype=np.int64) - layer) % p, p


def _where(lines: Sparse, kept: npt.NDArray[np.bool_]) -> Sparse:
    return Sparse(lines.shape, lines.rows[kept], lines.columns[kept], lines.values[:, kept])


def _nothing(lines: Sparse, ring: Ring) -> Sparse:
    return sparse_lines.nothing(*lines.shape, ring.planes, ring.modulus)
