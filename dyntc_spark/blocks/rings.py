"""Rings as values: what the entries of a matrix are, and what a block of them can do.

Three rings carry the paper:

- ``BOOLEAN``: {0, 1} with or/and; ``subtract`` is "and not", since a Boolean
  union has no inverse;
- ``COUNTING``: exact integers, the witness counts of section 4.1;
- ``Modular(primes)``: residues modulo each prime of a tuple, for sections 4.2 and 7.

A ring's methods take and give blocks (``None`` is the zero block). They stay
sparse where both operands are sparse, and leave the choice of representation
to ``codec.compact``, by stored size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.entry_values import layers
from dyntc_spark.errors import EntryValueError, RingMismatchError
from dyntc_spark.kernels import bits, codec, modular, sparse
from dyntc_spark.kernels.accumulate import Accumulator, BitAccumulator, CountAccumulator, ResidueAccumulator
from dyntc_spark.kernels.block import Bits, Block, Dense, Ints, Shape, Sparse

Coordinates: TypeAlias = tuple[Ints, Ints, Ints]


@dataclass(frozen=True)
class Ring(ABC):
    """What all rings share: coordinates, slices, payloads, and sums of products."""

    code: ClassVar[int]

    @property
    @abstractmethod
    def planes(self) -> int:
        """Layers of values an entry has: none for Boolean entries, which are all 1."""

    @property
    def modulus(self) -> tuple[int, ...] | None:
        """The primes to reduce by, or None."""
        return None

    @property
    def key(self) -> int:
        """Fingerprint of the primes, stored with each block; 0 without primes."""
        return 0

    @property
    @abstractmethod
    def entry_bits(self) -> int:
        """Bits of one entry in a dense block, for choosing block sizes."""

    @abstractmethod
    def values(self, values: npt.ArrayLike | None, count: int) -> Ints:
        """Return ``count`` entries as ``values[plane, entry]``; refuse what is no element of the ring."""

    @abstractmethod
    def accumulator(self, shape: Shape) -> Accumulator:
        """Return an empty sum of blocks and of products of blocks."""

    @abstractmethod
    def _dense(self, block: Block) -> Block:
        """Return ``block`` in the dense representation of the ring, writable."""

    # --- sums and products -------------------------------------------------------------------

    def add(self, a: Block | None, b: Block | None) -> Block | None:
        """Sum (Boolean: union)."""
        if a is None or b is None:
            return a if b is None else b
        total = self.accumulator(a.shape)
        total.add(a)
        total.add(b)
        return total.block()

    def subtract(self, a: Block | None, b: Block | None) -> Block | None:
        """Difference (Boolean: the entries of ``a`` that are not in ``b``)."""
        if b is None:
            return a
        total = self.accumulator(b.shape)
        if a is not None:
            total.add(a)
        total.subtract(b)
        return total.block()

    def multiply(self, a: Block | None, b: Block | None) -> Block | None:
        """Product over this ring; Boolean factors under ``COUNTING`` give witness counts."""
        if a is None or b is None:
            return None
        total = self.accumulator((a.shape[0], b.shape[1]))
        total.add_product(a, b)
        return total.block()

    def rank_update(
        self, block: Block | None, u: Block, v: Block, shape: Shape, sign: Literal[1, -1] = 1
    ) -> Block | None:
        """``block + sign · u·v``: this block's part of a centred update."""
        total = self.accumulator(shape)
        if block is not None:
            total.add(block)
        total.add_product(u, v, sign)
        return total.block()

    def equal(self, a: Block | None, b: Block | None) -> bool:
        """Whether two blocks have the same entries, however they are represented."""
        if a is None or b is None:
            return not (self.nnz(a) or self.nnz(b))  # a stored block may be zero
        if isinstance(a, Sparse) and isinstance(b, Sparse):
            return sparse.equal(a, b)
        left, right = self._dense(a), self._dense(b)
        if isinstance(left, Bits) and isinstance(right, Bits):
            return np.array_equal(left.words, right.words)
        if isinstance(left, Dense) and isinstance(right, Dense):
            return np.array_equal(left.values, right.values)
        raise AssertionError("a ring has one dense representation")

    # --- slices ------------------------------------------------------------------------------

    def transpose(self, block: Block | None) -> Block | None:
        """Rows become columns."""
        match block:
            case Bits():
                return Bits((block.shape[1], block.shape[0]), bits.transpose(block.words, block.shape[1]))
            case Dense():
                return Dense(np.ascontiguousarray(block.values.transpose(0, 2, 1)))
            case Sparse():
                return sparse.transpose(block)
        return None

    def take_rows(self, block: Block | None, ids: npt.ArrayLike) -> Block | None:
        """The rows ``ids`` of a block, in that order."""
        match block:
            case Bits():
                words = bits.take_rows(block.words, ids)
                return codec.compact(Bits((len(words), block.shape[1]), words))
            case Dense():
                return codec.compact(Dense(block.values[:, np.asarray(ids), :]))
            case Sparse():
                return codec.compact(sparse.take_rows(block, ids))
        return None

    def take_columns(self, block: Block | None, ids: npt.ArrayLike) -> Block | None:
        """The columns ``ids`` of a block, in that order."""
        match block:
            case Bits():
                count = len(np.asarray(ids))
                words = bits.take_columns(block.words, block.shape[1], ids)
                return codec.compact(Bits((block.shape[0], count), words))
            case Dense():
                return codec.compact(Dense(block.values[:, :, np.asarray(ids)]))
            case Sparse():
                return codec.compact(sparse.take_columns(block, ids))
        return None

    # --- entries -----------------------------------------------------------------------------

    def from_coordinates(
        self, rows: npt.ArrayLike, columns: npt.ArrayLike, values: npt.ArrayLike | None, shape: Shape
    ) -> Block | None:
        """Block of the given entries; entries at one place are added up."""
        return codec.compact(sparse.from_coordinates(rows, columns, values, shape, self.modulus))

    def coordinates(self, block: Block | None) -> Coordinates:
        """The entries that are not zero: rows, columns, ``values[plane, entry]``."""
        match block:
            case Bits():
                rows, columns = bits.coordinates(block.words)
                return rows, columns, np.zeros((0, len(rows)), np.int32)
            case Dense():
                found = np.nonzero(block.values.any(axis=0))
                return found[0].astype(np.int32), found[1].astype(np.int32), block.values[:, found[0], found[1]]
            case Sparse():
                return block.rows, block.columns, block.values
        none = np.zeros(0, np.int32)
        return none, none, np.zeros((self.planes, 0), np.int32)

    def get(self, block: Block | None, rows: npt.ArrayLike, columns: npt.ArrayLike) -> Ints:
        """Entries at the given places: bool for Boolean blocks, else ``values[plane, place]``."""
        match block:
            case Bits():
                return bits.get_bits(block.words, rows, columns)
            case Dense():
                return block.values[:, np.asarray(rows), np.asarray(columns)]
            case Sparse():
                return sparse.get_entries(block, rows, columns)
        places = len(np.asarray(rows))
        return np.zeros((self.planes, places), np.int64) if self.planes else np.zeros(places, bool)

    def put(
        self, block: Block | None, rows: npt.ArrayLike, columns: npt.ArrayLike, values: Ints, shape: Shape
    ) -> Block | None:
        """Set the entries at the given places to ``values[plane, place]``; a zero clears."""
        if block is None or isinstance(block, Sparse):
            given = values if self.planes else None
            start = block or sparse.from_coordinates(
                [], [], None if given is None else given[:, :0], shape, self.modulus
            )
            return codec.compact(sparse.set_entries(start, rows, columns, given, self.modulus))
        changed = self._dense(block)
        if isinstance(changed, Bits):
            bits.set_bits(changed.words, rows, columns)
        elif isinstance(changed, Dense):
            wide = Dense(changed.values.astype(np.int64))
            wide.values[:, np.asarray(rows), np.asarray(columns)] = values
            changed = wide
        return codec.compact(changed)

    def clear(self, block: Block | None, rows: npt.ArrayLike, columns: npt.ArrayLike) -> Block | None:
        """Set the entries at the given places to zero."""
        if block is None:
            return None
        if isinstance(block, Sparse):
            return codec.compact(sparse.clear_entries(block, rows, columns))
        changed = self._dense(block)
        if isinstance(changed, Bits):
            bits.clear_bits(changed.words, rows, columns)
        elif isinstance(changed, Dense):
            changed.values[:, np.asarray(rows), np.asarray(columns)] = 0
        return codec.compact(changed)

    def nnz(self, block: Block | None) -> int:
        """Number of entries that are not zero."""
        match block:
            case Bits():
                return bits.count(block.words)
            case Dense():
                return int(np.count_nonzero(block.values.any(axis=0)))
            case Sparse():
                return block.nnz
        return 0

    # --- payloads ----------------------------------------------------------------------------

    def encode(self, block: Block | None) -> bytes | None:
        """Payload of a block; None for the zero block."""
        return None if block is None else codec.encode(block, self.code, self.key)

    def decode(self, payload: Any) -> Block | None:  # noqa: ANN401  (any buffer)
        """Block of a payload; raises when it is damaged or of another ring."""
        return None if payload is None else codec.decode(payload, self.code, self.key)

    def require(self, other: Ring) -> None:
        """Refuse ``other`` unless it is this ring."""
        if self != other:
            raise RingMismatchError(
                f"a matrix over {self}", f"one over {other}", "Convert one of the two, or multiply with counts."
            )


@dataclass(frozen=True)
class Boolean(Ring):
    """The Boolean semiring."""

    code: ClassVar[int] = codec.BOOLEAN

    @property
    def planes(self) -> int:
        """None."""
        return 0

    @property
    def entry_bits(self) -> int:
        """One bit."""
        return 1

    def values(self, values: npt.ArrayLike | None, count: int) -> Ints:
        """Boolean entries have no values; anything but 1 (or True) is refused."""
        if values is not None:
            given = layers(values, count, 1)
            if not np.all(given == 1):
                wrong = given[given != 1][0]
                raise EntryValueError("entries equal to 1", f"{wrong}", "Leave entries that are 0 out.")
        return np.zeros((0, count), np.int32)

    def accumulator(self, shape: Shape) -> Accumulator:
        """Union of blocks and products, packed or sparse."""
        return BitAccumulator(shape)

    def _dense(self, block: Block) -> Block:
        dense = codec.densify(block)
        return Bits(dense.shape, dense.words.copy()) if dense is block and isinstance(dense, Bits) else dense

    def __str__(self) -> str:
        return "the Boolean ring"


@dataclass(frozen=True)
class Counting(Ring):
    """Exact integers of at most 64 bits; an overflow is an error, never a wrong count."""

    code: ClassVar[int] = codec.COUNTING

    @property
    def planes(self) -> int:
        """One."""
        return 1

    @property
    def entry_bits(self) -> int:
        """Thirty-two: wider counts are rare, narrower ones are stored narrower."""
        return 32

    def values(self, values: npt.ArrayLike | None, count: int) -> Ints:
        """Integers; without values every entry counts 1."""
        if values is None:
            return np.ones((1, count), np.int64)
        return layers(values, count, 1)

    def accumulator(self, shape: Shape) -> Accumulator:
        """Sum of integer blocks and of products, Boolean products counted."""
        return CountAccumulator(shape)

    def _dense(self, block: Block) -> Block:
        dense = codec.densify(block)
        assert isinstance(dense, Dense)  # noqa: S101  (a block of this ring)
        return Dense(dense.values.astype(np.int64))

    def __str__(self) -> str:
        return "the counting ring"


@dataclass(frozen=True)
class Modular(Ring):
    """Residues modulo each of ``primes``."""

    primes: tuple[int, ...]
    code: ClassVar[int] = codec.MODULAR

    def __post_init__(self) -> None:
        if not self.primes:
            raise EntryValueError("at least one prime", "none", "Draw primes with kernels.primes.random_primes.")
        for p in self.primes:
            if not 2 <= p <= modular.LARGEST_MODULUS:
                raise EntryValueError(
                    f"primes up to {modular.LARGEST_MODULUS}",
                    f"{p}",
                    "Use several smaller primes instead of a large one.",
                )

    @property
    def planes(self) -> int:
        """One layer a prime."""
        return len(self.primes)

    @property
    def modulus(self) -> tuple[int, ...]:
        """The primes."""
        return self.primes

    @property
    def key(self) -> int:
        """Fingerprint of the primes."""
        return codec.fingerprint(self.primes)

    @property
    def entry_bits(self) -> int:
        """Thirty-two for each prime."""
        return 32 * len(self.primes)

    def values(self, values: npt.ArrayLike | None, count: int) -> Ints:
        """Integers, reduced modulo each prime; without values every entry is 1."""
        given = np.ones((1, count), np.int64) if values is None else layers(values, count, len(self.primes))
        reduced: Ints = np.broadcast_to(given, (len(self.primes), count)) % np.array(self.primes)[:, None]
        return reduced.astype(np.int32)

    def accumulator(self, shape: Shape) -> Accumulator:
        """Sum of residue blocks and of their products."""
        return ResidueAccumulator(shape, self.primes)

    def _dense(self, block: Block) -> Block:
        dense = codec.densify(block)
        assert isinstance(dense, Dense)  # noqa: S101  (a block of this ring)
        return Dense(dense.values.astype(np.int32))

    def __str__(self) -> str:
        return f"the integers modulo {', '.join(map(str, self.primes))}"


BOOLEAN = Boolean()
COUNTING = Counting()
__all__ = ["BOOLEAN", "COUNTING", "Boolean", "Counting", "Modular", "Ring"]
