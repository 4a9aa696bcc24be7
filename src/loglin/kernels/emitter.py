"""Writes the LLVM code of the vector primitives of kernels/rows.py; what of Numba and llvmlite that takes is here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from loglin.kernels.rows import LANES

LINE = 64  # bytes of a cache line
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_WHOLE = ir.VectorType(_I32, LANES)


class Emitter:
    """Writes the vector code of one primitive; arguments are reached by their position."""

    block = 4  # vectors per block
    contract = ("contract",)

    def __init__(self, context, builder, signature, args):
        self.context, self.b, self.args, self.types = context, builder, args, signature.args
        element = signature.args[0].dtype
        self.scalar = ir.FloatType() if element == types.float32 else ir.DoubleType()
        self.align = 4 if element == types.float32 else 8
        self.vector = ir.VectorType(self.scalar, LANES)

    def array(self, position):
        return self.context.make_array(self.types[position])(self.context, self.b, self.args[position])

    def data(self, position, offset=None):
        pointer = self.array(position).data
        return pointer if offset is None else self.at(pointer, offset)

    def width(self, position):
        return cgutils.unpack_tuple(self.b, self.array(position).shape)[-1]

    def int(self, value):
        return ir.Constant(_I64, value)

    def index(self, position, q):
        """An array's element as a 64-bit index; indices are never negative, whatever their type."""
        value = self.b.load(self.at(self.data(position), q))
        return value if value.type == _I64 else self.b.zext(value, _I64)

    def at(self, pointer, offset):
        return self.b.gep(pointer, [offset])

    def load(self, pointer, k):
        place = self.at(pointer, self.int(LANES * k))
        loaded = self.b.load(self.b.bitcast(place, self.vector.as_pointer()))
        loaded.align = self.align
        return loaded

    def store(self, value, pointer, k):
        place = self.at(pointer, self.int(LANES * k))
        stored = self.b.store(value, self.b.bitcast(place, value.type.as_pointer()))
        stored.align = self.align if value.type == self.vector else 4

    def splat(self, value):
        vector = ir.VectorType(value.type, LANES)
        one = self.b.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_I32, 0))
        return self.b.shuffle_vector(one, ir.Constant(vector, ir.Undefined), ir.Constant(_WHOLE, [0] * LANES))

    def constant(self, value):
        return ir.Constant(self.vector, [float(value)] * LANES)

    def number(self, value):
        return ir.Constant(self.scalar, value)

    def integers(self, size, value):
        """A vector of integers of ``size`` bits, all ``value``."""
        return ir.Constant(ir.VectorType(ir.IntType(size), LANES), [value] * LANES)

    def short(self, value):
        return self.b.trunc(value, _I32)

    def bits(self, pointer):
        """The bits of a byte, one per lane."""
        return self.b.bitcast(self.b.load(pointer), ir.VectorType(ir.IntType(1), LANES))

    def bytes(self, pointer):
        """Whole numbers of eight bits, one per lane."""
        loaded = self.b.load(self.b.bitcast(pointer, ir.VectorType(ir.IntType(8), LANES).as_pointer()))
        loaded.align = 1
        return loaded

    def put_bytes(self, value, pointer):
        self.b.store(value, self.b.bitcast(pointer, value.type.as_pointer())).align = 1

    def prefetch(self, position, begin, end):
        """Ask for the cache lines of the rows begin … end − 1 of an array."""
        array = self.array(position)
        stride = cgutils.unpack_tuple(self.b, array.strides)[0]
        byte = ir.IntType(8).as_pointer()
        start, function = self.b.bitcast(array.data, byte), ir.FunctionType(ir.VoidType(), [byte] + [_I32] * 3)
        fetch = self.b.module.declare_intrinsic("llvm.prefetch", [byte], function)
        with self.loop(self.b.mul(begin, stride), self.b.mul(end, stride), LINE) as (offset, _):
            self.b.call(fetch, [self.at(start, offset), _I32(0), _I32(3), _I32(1)])  # to read, to be kept, data

    def slot(self, start):
        """A variable; it starts anew wherever the code is reached again."""
        slot = cgutils.alloca_once_value(self.b, start)
        self.b.store(start, slot)
        return slot

    def accumulators(self, n, start):
        return [self.slot(start) for _ in range(n)]

    def zeros(self, n):
        return self.accumulators(n, self.constant(0.0))

    def multiply_add(self, x, y, z):
        return self.b.fadd(self.b.fmul(x, y, flags=self.contract), z, flags=self.contract)

    def accumulate(self, slot, x, y):
        self.b.store(self.multiply_add(x, y, self.b.load(slot)), slot)

    def loop(self, begin, end, step=1):
        return cgutils.for_range_slice(self.b, begin, end, self.int(step), _I64)

    def walk(self, width, emit):
        """emit(column, n_vectors) for blocks of four vectors, then for the one, two or three left."""
        b, block = self.b, LANES * self.block
        whole = b.mul(b.udiv(width, self.int(block)), self.int(block))
        with self.loop(self.int(0), whole, block) as (column, _):
            emit(column, self.block)
        rest = b.sub(width, whole)
        for n in range(1, self.block):
            with b.if_then(b.icmp_unsigned("==", rest, self.int(n * LANES))):
                emit(whole, n)

    def fold(self, value, combine):
        """Combine the lanes of a vector pairwise to one number."""
        lanes = LANES
        while lanes > 1:
            lanes //= 2
            low = ir.Constant(ir.VectorType(_I32, lanes), list(range(lanes)))
            high = ir.Constant(ir.VectorType(_I32, lanes), list(range(lanes, 2 * lanes)))
            value = combine(self.b.shuffle_vector(value, value, low), self.b.shuffle_vector(value, value, high))
        return self.b.extract_element(value, ir.Constant(_I32, 0))

    def any(self, lanes):
        """Whether some lane of a comparison holds."""
        return self.b.icmp_unsigned("!=", self.b.bitcast(lanes, ir.IntType(LANES)), ir.IntType(LANES)(0))

    def greater(self, x, y):
        return self.b.select(self.b.fcmp_ordered(">", x, y), x, y)

    def mix(self, n_vectors, weights, weight_stride, rows, stride, count):
        """Σ_k weights[k]·rows[k·stride:], several sums at a time so that no addition waits for the last.

        ``count`` must be a multiple of four: rows and weights are padded with zeros.
        """
        b, ways = self.b, 4 if n_vectors < 3 else 2
        total = self.zeros(n_vectors * ways)
        with self.loop(self.int(0), count, ways) as (k, _):
            for way in range(ways):
                at = b.add(k, self.int(way))
                weight = self.splat(b.load(self.at(weights, b.mul(at, weight_stride))))
                row = self.at(rows, b.mul(at, stride))
                for v in range(n_vectors):
                    self.accumulate(total[way * n_vectors + v], weight, self.load(row, v))
        sums = [b.load(slot) for slot in total]
        while len(sums) > n_vectors:
            half = len(sums) // 2
            sums = [b.fadd(x, y) for x, y in zip(sums[:half], sums[half:], strict=True)]
        return sums


def intrinsic_of(emit: Callable, arguments: tuple[str, ...], returns: bool) -> Any:
    """Numba's intrinsic of a primitive, see ``primitive`` in kernels/compile.py."""

    def typer(typing, given):
        element = given[0].dtype
        kinds = {"i": types.int64, "x": element}
        signature = (element if returns else types.void)(
            *(kinds.get(kind, actual) for kind, actual in zip(arguments, given, strict=True))
        )

        def generate(context, builder, signature, args):
            result = emit(Emitter(context, builder, signature, args))
            return result if returns else context.get_dummy_value()

        return signature, generate

    # numba reads the parameter names, so an intrinsic of fixed arity has to be spelled out
    names = ", ".join(f"p{i}" for i in range(len(arguments)))
    space: dict = {"typer": typer}
    exec(f"def {emit.__name__}(typing, {names}): return typer(typing, ({names},))", space)
    function = space[emit.__name__]
    function.__doc__, function.__module__ = emit.__doc__, emit.__module__
    return intrinsic(function)
