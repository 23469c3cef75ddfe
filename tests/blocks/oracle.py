"""The slow twin of BlockMatrix: a plain numpy array with the same methods, and matrices to try them on."""

from __future__ import annotations

import numpy as np

from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING, Modular
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.kernels import codec

RESIDUES = Modular((8388593, 7))  # a large prime for the sums, a small one whose multiples vanish
RINGS = [BOOLEAN, COUNTING, RESIDUES]
RING_NAMES = ["boolean", "counting", "residues"]


class Plain:
    """A matrix as ``layers[plane, row, column]`` of int64; a Boolean one has a layer of 0 and 1."""

    def __init__(self, ring, layers):
        self.ring = ring
        layers = np.asarray(layers, np.int64)
        if ring == BOOLEAN:
            layers = (layers > 0).astype(np.int64)
        elif ring.modulus:
            layers = layers % np.array(ring.modulus)[:, None, None]
        self.layers = layers

    @classmethod
    def zeros(cls, ring, shape):
        return cls(ring, np.zeros((max(ring.planes, 1), *shape), np.int64))

    @classmethod
    def random(cls, ring, shape, density, seed):
        """Entries that are small and of both signs (sums vanish), and in residues now and then zero in one plane."""
        draw = np.random.default_rng(seed)
        there = draw.random(shape) < density
        if ring == BOOLEAN:
            return cls(ring, there[None])
        values = draw.integers(1, 4, (ring.planes, *shape)) * draw.choice([-1, 1], (ring.planes, *shape))
        if ring.modulus:
            values[1, draw.random(shape) < 0.3] = 7
        return cls(ring, values * there)

    @property
    def shape(self):
        return self.layers.shape[1:]

    def entries(self):
        """Rows, columns and values as ``from_entries`` takes them, shuffled."""
        rows, columns = np.nonzero(self.layers.any(axis=0))
        order = np.random.default_rng(1).permutation(len(rows))
        rows, columns = rows[order], columns[order]
        values = self.layers[:, rows, columns]
        return (rows, columns) if self.ring == BOOLEAN else (rows, columns, values if self.ring.modulus else values[0])

    def blocks(self, backend, size):
        return BlockMatrix.from_entries(self.entries(), self.shape, self.ring, size=size, backend=backend)

    def array(self):
        """The array that a strip or a look-up would give: without the axis of planes where there is one layer."""
        return shown(self.ring, self.layers)

    # --- the methods of BlockMatrix ----------------------------------------------------------

    def add(self, other):
        return Plain(self.ring, self.layers + other.layers)

    def subtract(self, other):
        return Plain(self.ring, self.layers - other.layers)

    def transpose(self):
        return Plain(self.ring, self.layers.transpose(0, 2, 1))

    def multiply(self, other, *, counts=False):
        return Plain(COUNTING if counts else self.ring, self.layers @ other.layers)

    def power(self, exponent):
        result = Plain(self.ring, np.broadcast_to(np.eye(self.shape[0], dtype=np.int64), self.layers.shape))
        for _ in range(exponent):
            result = result.multiply(self)
        return result

    def rank_update(self, u, v, sign=1):
        return Plain(self.ring, self.layers + sign * (layered(self.ring, u) @ layered(self.ring, v)))

    def set_entries(self, rows, columns, values=None):
        layers = self.layers.copy()
        for place, (i, j) in enumerate(zip(rows, columns, strict=True)):
            layers[:, i, j] = 1 if values is None else np.asarray(values)[..., place]
        return Plain(self.ring, layers)

    def clear_entries(self, rows, columns):
        layers = self.layers.copy()
        layers[:, rows, columns] = 0
        return Plain(self.ring, layers)

    def nnz(self):
        return int(np.count_nonzero(self.layers.any(axis=0)))


def layered(ring, lines):
    lines = np.asarray(lines, np.int64)
    return lines if ring.modulus else lines[None]


def shown(ring, layers):
    if ring.modulus:
        return layers
    return layers[0] > 0 if ring == BOOLEAN else layers[0]


def lines(ring, shape, seed, density=0.3):
    """A dense array of a few lines, as ``rank_update`` and the vector products take them."""
    return Plain.random(ring, shape, density, seed).array()


def read(matrix):
    """The plain twin of a block matrix, through ``to_entries``."""
    found = matrix.to_entries()
    plain = Plain.zeros(matrix.ring, matrix.shape)
    values = found.values.astype(np.int64)
    plain.layers[:, found.rows, found.columns] = values
    order = np.lexsort((found.columns, found.rows))
    assert np.array_equal(order, np.arange(len(order))), "entries come sorted"
    assert np.all(plain.layers.any(axis=0)[found.rows, found.columns]), "no entry is zero"
    assert plain.nnz() == len(order), "each entry comes once"
    return plain


def assert_same(found, plain):
    """Compare a block matrix, a strip or an array with its plain twin."""
    if isinstance(found, BlockMatrix):
        assert found.shape == plain.shape
        assert found.ring == plain.ring
        found, plain = read(found).layers, plain.layers
    elif isinstance(found, Strip):
        found = found.array()
    if isinstance(plain, Plain):
        plain = plain.array()
    assert found.shape == plain.shape
    assert found.dtype.kind == plain.dtype.kind
    np.testing.assert_array_equal(found, plain)


def payloads(matrix):
    """The stored blocks of a matrix of either backend: coordinates to payload."""
    state = matrix.state if hasattr(matrix.state, "blocks") else matrix.state.to_local()
    return {at: matrix.ring.encode(block) for at, block in state.blocks[matrix.name].items()}


def header(payload):
    return codec.read_header(payload)
