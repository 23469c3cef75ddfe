"""A line: eight numbers side by side, which machine instructions take at once.

Numba makes no vector instructions of eight statements that follow each other, nor of a loop of eight steps, which it
unrolls. So these functions say it in LLVM's words, with vectors of eight numbers; LLVM makes one instruction of them,
or two or four, whatever the processor has. Lines are the rows of an array of numbers without a sign. Nobody checks
bounds here: ``at`` and ``source`` are lines that the caller made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.base import BaseContext
from numba.core.typing.context import BaseContext as Typing
from numba.core.typing.templates import Signature

from dyntc_spark.kernels.compile import intrinsic
from dyntc_spark.kernels.ids import Ids, Words

#: Numbers of a line: as many words as a cache line has, and the widest vector register.
LINE = 8
#: Numbers of 32 bits that are as long as a line.
NUMBERS = 16

_ALIGN = 4  # bytes: the least that an array of numbers has
_Generate = Callable[[BaseContext, ir.IRBuilder, Signature, Sequence[ir.Value]], ir.Value]


def _copied(lines: Words, at: int, source: int) -> None:
    lines[at] = lines[source]


def _joined(lines: Words, at: int, source: int) -> None:
    lines[at] |= lines[source]


def _lessened(lines: Words, at: int, source: int) -> None:
    np.minimum(lines[at], lines[source], out=lines[at])


def _compared(lines: Words, at: int, source: int) -> np.uint64:
    bits: np.uint64 = np.packbits(lines[at] != lines[source], bitorder="little").astype(np.uint64)[0]
    return bits


@intrinsic(_copied)
def copy_line(typing: Typing, lines: types.Array, at: types.Type, source: types.Type) -> tuple[Signature, _Generate]:
    """Let line ``at`` be as line ``source`` is."""
    del typing

    def generate(context: BaseContext, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]) -> None:
        to, of = _addresses(context, builder, signature, given)
        builder.store(builder.load(of, align=_ALIGN), to, align=_ALIGN)

    return types.void(lines, at, source), generate


@intrinsic(_joined)
def or_line(typing: Typing, lines: types.Array, at: types.Type, source: types.Type) -> tuple[Signature, _Generate]:
    """OR line ``source`` into line ``at``."""
    del typing

    def generate(context: BaseContext, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]) -> None:
        to, of = _addresses(context, builder, signature, given)
        a, b = (builder.load(line, align=_ALIGN) for line in (to, of))
        builder.store(builder.or_(a, b), to, align=_ALIGN)

    return types.void(lines, at, source), generate


@intrinsic(_lessened)
def least_line(typing: Typing, lines: types.Array, at: types.Type, source: types.Type) -> tuple[Signature, _Generate]:
    """Let each number of line ``at`` be at most that of line ``source``."""
    del typing

    def generate(context: BaseContext, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]) -> None:
        to, of = _addresses(context, builder, signature, given)
        a, b = (builder.load(line, align=_ALIGN) for line in (to, of))
        builder.store(builder.select(builder.icmp_unsigned("<", a, b), a, b), to, align=_ALIGN)

    return types.void(lines, at, source), generate


@intrinsic(_compared)
def differing(typing: Typing, lines: types.Array, at: types.Type, source: types.Type) -> tuple[Signature, _Generate]:
    """Return a word with a bit for each number in which two lines differ."""
    del typing

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]
    ) -> ir.Value:
        a, b = (builder.load(line, align=_ALIGN) for line in _addresses(context, builder, signature, given))
        bits = builder.bitcast(builder.icmp_unsigned("!=", a, b), ir.IntType(LINE))
        return builder.zext(bits, ir.IntType(64))

    return types.uint64(lines, at, source), generate


def _found(words: Words, at: int, bit: np.uint64) -> np.uint64:
    bits: np.uint64 = np.packbits(words[at : at + LINE] & bit != 0, bitorder="little").astype(np.uint64)[0]
    return bits


@intrinsic(_found)
def having(typing: Typing, words: types.Array, at: types.Type, bit: types.Type) -> tuple[Signature, _Generate]:
    """Return a word with a bit for each of the `LINE` words from ``at`` on that has some of ``bit``."""
    del typing, bit

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]
    ) -> ir.Value:
        vector = _vector(context, builder, signature, given, LINE)
        splat = _splat(builder, given[2], vector.type)
        zero = ir.Constant(vector.type, None)
        bits = builder.bitcast(builder.icmp_unsigned("!=", builder.and_(vector, splat), zero), ir.IntType(LINE))
        return builder.zext(bits, ir.IntType(64))

    return types.uint64(words, at, types.uint64), generate


def _lower(numbers: Ids, at: int, most: int) -> int:
    return int(np.count_nonzero(numbers[at : at + NUMBERS] < most))


@intrinsic(_lower)
def below(typing: Typing, numbers: types.Array, at: types.Type, most: types.Type) -> tuple[Signature, _Generate]:
    """Return how many of the `NUMBERS` numbers of 32 bits from ``at`` on are below ``most``."""
    del typing, most

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]
    ) -> ir.Value:
        vector = _vector(context, builder, signature, given, NUMBERS)
        splat = _splat(builder, given[2], vector.type)
        bits = builder.bitcast(builder.icmp_signed("<", vector, splat), ir.IntType(NUMBERS))
        return builder.zext(builder.ctpop(bits), ir.IntType(64))

    return types.int64(numbers, at, types.int32), generate


def _vector(
    context: BaseContext, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value], count: int
) -> ir.Value:
    """Return so many numbers of an array, which is the first argument, from the second on."""
    untyped: Any = context  # for mypy: these methods have no types
    array = untyped.make_array(signature.args[0])(context, builder, given[0])
    first = builder.gep(array.data, [untyped.cast(builder, given[1], signature.args[1], types.intp)])
    vector = ir.VectorType(untyped.get_data_type(signature.args[0].dtype), count)
    return builder.load(builder.bitcast(first, vector.as_pointer()), align=_ALIGN)


def _splat(builder: ir.IRBuilder, value: ir.Value, vector: ir.VectorType) -> ir.Value:
    """Return a vector that has a number in every place."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None)
    return builder.shuffle_vector(one, one, places)


def _addresses(
    context: BaseContext, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]
) -> tuple[ir.Value, ir.Value]:
    """Return where the lines ``at`` and ``source`` are, as vectors."""
    untyped: Any = context  # for mypy: these methods have no types
    array = untyped.make_array(signature.args[0])(context, builder, given[0])
    vector = ir.VectorType(untyped.get_data_type(signature.args[0].dtype), LINE)
    places = (untyped.cast(builder, given[k], signature.args[k], types.intp) for k in (1, 2))
    firsts = (builder.gep(array.data, [builder.mul(place, ir.Constant(place.type, LINE))]) for place in places)
    to, of = (builder.bitcast(first, vector.as_pointer()) for first in firsts)
    return to, of


def _ignored(array: Words, at: int) -> None:
    del array, at


@intrinsic(_ignored)
def prefetch(typing: Typing, array: types.Array, at: types.Type) -> tuple[Signature, _Generate]:
    """Let the processor bring a number of an array nearer, while it goes on."""
    del typing

    def generate(context: BaseContext, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]) -> None:
        untyped: Any = context  # for mypy: these methods have no types
        data = untyped.make_array(signature.args[0])(context, builder, given[0]).data
        address = builder.gep(data, [untyped.cast(builder, given[1], signature.args[1], types.intp)])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        read, near, data_cache = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(function, [builder.bitcast(address, byte), read, near, data_cache])

    return types.void(array, at), generate
