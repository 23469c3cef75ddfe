"""Sums of blocks and of products of blocks: one output block of a matrix product, or of a rank-k update.

An accumulator starts at zero and takes blocks and products in any order. While
all that it took is sparse it stays sparse: the coordinates are collected and
merged once. When the collected entries would cost more than a dense block, or
a dense operand comes, it becomes dense and adds in place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np

from dyntc_spark.errors import OverflowingCountError
from dyntc_spark.kernels import bit_product, bits, codec, counts, modular, sparse, sparse_product
from dyntc_spark.kernels.block import Bits, Block, Dense, Ints, Shape, Sparse
from dyntc_spark.kernels.ids import Words

#: A sparse product is worth its scattered writes while it forms fewer terms than a dense block has entries over this.
SPARSE_SHARE = 8


class Accumulator(ABC):
    """A sum of blocks and of products of blocks."""

    planes: int
    modulus: tuple[int, ...] | None = None

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._sparse: list[Sparse] = []
        self._collected = 0
        self._is_dense = False

    def add(self, block: Block) -> None:
        """Add a block."""
        if isinstance(block, Sparse) and not self._is_dense:
            self._collect(block)
        else:
            self._become_dense()
            self._add_dense(block, 1)

    @abstractmethod
    def subtract(self, block: Block) -> None:
        """Subtract a block (Boolean: clear its entries)."""

    def add_product(self, a: Block, b: Block, sign: Literal[1, -1] = 1) -> None:
        """Add ``sign`` times the product of two blocks."""
        if isinstance(a, Sparse) and isinstance(b, Sparse) and self._stays_sparse(a, b):
            product = self._sparse_product(a, b)
            self.add(product) if sign == 1 else self.subtract(product)
        else:
            self._become_dense()
            self._add_dense_product(a, b, sign)

    def block(self) -> Block | None:
        """The sum, in its cheapest representation; None when it is zero."""
        if self._is_dense:
            return codec.compact(self._dense_block())
        return codec.compact(self._merged()) if self._sparse else None

    def _stays_sparse(self, a: Sparse, b: Sparse) -> bool:
        met = np.bincount(b.rows, minlength=b.shape[0])
        terms = int(met[a.columns].sum())
        return terms * SPARSE_SHARE < self.shape[0] * self.shape[1]

    def _collect(self, block: Sparse) -> None:
        self._sparse.append(block)
        self._collected += block.nnz
        if self._collected * SPARSE_SHARE > self.shape[0] * self.shape[1]:
            merged = self._merged()
            self._sparse, self._collected = [merged], merged.nnz
            if merged.nnz * SPARSE_SHARE * 2 > self.shape[0] * self.shape[1]:
                self._become_dense()

    def _merged(self) -> Sparse:
        if len(self._sparse) == 1:
            return self._sparse[0]
        rows = np.concatenate([part.rows for part in self._sparse])
        columns = np.concatenate([part.columns for part in self._sparse])
        values = np.concatenate([part.values.astype(np.int64) for part in self._sparse], axis=1)
        return sparse.from_coordinates(rows, columns, values if self.planes else None, self.shape, self.modulus)

    def _become_dense(self) -> None:
        if not self._is_dense:
            self._is_dense = True
            self._start_dense()
            waiting, self._sparse = self._sparse, []
            for part in waiting:
                self._add_dense(part, 1)

    def _sparse_product(self, a: Sparse, b: Sparse) -> Sparse:
        return sparse_product.multiply(a, b, self.modulus)

    @abstractmethod
    def _start_dense(self) -> None: ...

    @abstractmethod
    def _add_dense(self, block: Block, sign: Literal[1, -1]) -> None: ...

    @abstractmethod
    def _add_dense_product(self, a: Block, b: Block, sign: Literal[1, -1]) -> None: ...

    @abstractmethod
    def _dense_block(self) -> Block: ...


class BitAccumulator(Accumulator):
    """Union of Boolean blocks and of Boolean products."""

    planes = 0
    _words: Words

    def subtract(self, block: Block) -> None:
        """Clear the entries of ``block``."""
        if not self._is_dense and isinstance(block, Sparse):
            if self._sparse:
                left = sparse.difference(self._merged(), block)
                self._sparse, self._collected = [left], left.nnz
            return
        self._become_dense()
        self._words &= ~_words(block)

    def _start_dense(self) -> None:
        self._words = bits.zeros(*self.shape)

    def _add_dense(self, block: Block, sign: Literal[1, -1]) -> None:
        del sign  # a union has no sign
        if isinstance(block, Sparse):
            bits.set_bits(self._words, block.rows, block.columns)
        else:
            self._words |= _words(block)

    def _add_dense_product(self, a: Block, b: Block, sign: Literal[1, -1]) -> None:
        words = self._words if sign == 1 else bits.zeros(*self.shape)
        if isinstance(a, Sparse):
            bit_product.union_rows(words, a.rows, a.columns, _words(b))
        else:
            bit_product.union_product(words, _words(a), _words(b))
        if sign == -1:
            self._words &= ~words

    def _dense_block(self) -> Block:
        return Bits(self.shape, self._words)


class CountAccumulator(Accumulator):
    """Sum of integer blocks and products, exact or refused; a product of Boolean blocks counts witnesses."""

    planes = 1

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self._bound = 0  # no entry of the dense sum is larger than this

    def subtract(self, block: Block) -> None:
        """Subtract a block of counts."""
        if isinstance(block, Sparse) and not self._is_dense:
            self._collect(Sparse(block.shape, block.rows, block.columns, -block.values.astype(np.int64)))
        else:
            self._become_dense()
            self._add_dense(block, -1)

    def _sparse_product(self, a: Sparse, b: Sparse) -> Sparse:
        if not (len(a.values) or len(b.values)):
            return sparse_product.multiply_to_counts(a, b)
        return sparse_product.multiply(_counted(a), _counted(b))

    def _start_dense(self) -> None:
        self._sum = np.zeros(self.shape, np.int64)

    def _add_dense(self, block: Block, sign: Literal[1, -1]) -> None:
        if isinstance(block, Sparse):
            self._make_room(self._sum[block.rows, block.columns], block.values[0], sign)
            self._sum[block.rows, block.columns] += sign * block.values[0].astype(np.int64)
        else:
            self._add_array(_values(block)[0], sign)

    def _add_dense_product(self, a: Block, b: Block, sign: Literal[1, -1]) -> None:
        if _is_boolean(a) and _is_boolean(b):
            self._add_array(counts.product(_words(a), _words(b), b.shape[1]), sign)
        else:
            self._add_array(counts.integer_product(_values(a)[0], _values(b)[0]), sign)

    def _add_array(self, values: Ints, sign: Literal[1, -1]) -> None:
        self._make_room(self._sum, values, sign)
        if sign == 1:
            self._sum += values
        else:
            self._sum -= values

    def _make_room(self, there: Ints, values: Ints, sign: Literal[1, -1]) -> None:
        """Refuse a sum that does not fit: by a bound first, entry by entry only where the bound is too coarse."""
        by = _largest(values)
        if self._bound + by > sparse.LARGEST_COUNT:
            self._bound = _largest(self._sum)
        if self._bound + by > sparse.LARGEST_COUNT and _overflows(there, sign * values.astype(np.int64)):
            raise OverflowingCountError(
                f"counts up to {sparse.LARGEST_COUNT}",
                f"a sum that passes it, of {self._bound} at most and {by} at most",
                "Count modulo primes instead: the ring Modular(primes).",
            )
        self._bound = min(self._bound + by, sparse.LARGEST_COUNT)

    def _dense_block(self) -> Block:
        return Dense(self._sum.astype(counts.smallest_dtype(_largest(self._sum)))[None])


class ResidueAccumulator(Accumulator):
    """Sum of residue blocks and products, modulo each prime."""

    def __init__(self, shape: Shape, primes: tuple[int, ...]) -> None:
        super().__init__(shape)
        self.modulus = primes
        self.planes = len(primes)

    def subtract(self, block: Block) -> None:
        """Subtract a block of residues."""
        if isinstance(block, Sparse) and not self._is_dense:
            negated = -block.values.astype(np.int64) % np.array(self.modulus)[:, None]
            self._collect(Sparse(block.shape, block.rows, block.columns, negated.astype(np.int32)))
        else:
            self._become_dense()
            self._add_dense(block, -1)

    def _start_dense(self) -> None:
        self._sum = np.zeros((self.planes, *self.shape), np.int32)

    def _add_dense(self, block: Block, sign: Literal[1, -1]) -> None:
        for plane, p in enumerate(self.modulus or ()):
            if isinstance(block, Sparse):
                there = self._sum[plane, block.rows, block.columns].astype(np.int64)
                self._sum[plane, block.rows, block.columns] = (there + sign * block.values[plane].astype(np.int64)) % p
            else:
                combine = modular.add if sign == 1 else modular.subtract
                self._sum[plane] = combine(self._sum[plane], _values(block)[plane].astype(np.int32, copy=False), p)

    def _add_dense_product(self, a: Block, b: Block, sign: Literal[1, -1]) -> None:
        left, right = _values(a), _values(b)
        for plane, p in enumerate(self.modulus or ()):
            u, v = (side[plane].astype(np.int32, copy=False) for side in (left, right))
            modular.rank_update(self._sum[plane], u, v, p, sign)

    def _dense_block(self) -> Block:
        return Dense(self._sum)


def _is_boolean(block: Block) -> bool:
    return isinstance(block, Bits) or (isinstance(block, Sparse) and not len(block.values))


def _counted(block: Sparse) -> Sparse:
    """Return a Boolean block as one of counts."""
    values = block.values if len(block.values) else np.ones((1, block.nnz), np.int32)
    return Sparse(block.shape, block.rows, block.columns, values)


def _words(block: Block) -> Words:
    dense = codec.densify(block)
    if not isinstance(dense, Bits):
        raise TypeError("a Boolean block was expected: matrices check their rings before any block is read")
    return dense.words


def _values(block: Block) -> Ints:
    if isinstance(block, Bits):
        return bits.unpack(block.words, block.shape[1]).astype(np.int64)[None]
    dense = codec.densify(_counted(block) if isinstance(block, Sparse) else block)
    if not isinstance(dense, Dense):
        raise TypeError("an integer block was expected: matrices check their rings before any block is read")
    return dense.values


def _largest(values: Ints) -> int:
    return max(int(values.max()), -int(values.min())) if values.size else 0


def _overflows(a: Ints, b: Ints) -> bool:
    """Whether an entry of ``a + b`` passes the largest count, for int64 arrays that do not."""
    total = a + b
    wrapped = ((a < 0) == (b < 0)) & ((total < 0) != (a < 0))
    return bool(np.any(wrapped | (total < -sparse.LARGEST_COUNT)))
