"""Vector primitives on rows of labels, the innermost loops of the engine.

A row holds one number per label, padded with zeros to a multiple of ``LANES``. Everything the
engine does to rows is one of

    sum_rows       out[o] = Σ_q table[index[q]]                     scores = X·W, gradient = Xᵀ·R
    weigh_rows     out[o] = Σ_q value[q]·table[index[q]]            the same with real-valued features
    spread_row     table[index[q]] += value·row, where allowed      one stochastic step
    mix_rows       out[o] = Σ_k coefficient[k]·matrix[k]            one step of forward or backward
    best_rows      out[o] = max_k coefficient[k] + matrix[k]        one step of Viterbi
    exp_row        row = exp(row − shift)

Plain loops keep the accumulators of a row in memory, at several times the cost; here they are
written with LLVM vectors and stay in registers. Four vectors (32 labels) are the widest block; wider
rows are done block by block. ``tests/test_rows.py`` compares each with NumPy in both precisions.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from loglin.kernels.compile import kernel

LANES = 8
_BLOCK = 4  # vectors per block
_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_CONTRACT = ("contract",)


def padded(n_labels: int) -> int:
    """Width of a row that holds ``n_labels`` numbers."""
    return -(-n_labels // LANES) * LANES


class _Emitter:
    """Writes vector code for one call: where arrays are, how vectors are loaded and stored."""

    def __init__(self, context, builder, element):
        self.context, self.builder = context, builder
        self.scalar = ir.FloatType() if element == types.float32 else ir.DoubleType()
        self.align = 4 if element == types.float32 else 8
        self.vector = ir.VectorType(self.scalar, LANES)

    def data(self, array_type, value):
        return self.context.make_array(array_type)(self.context, self.builder, value).data

    def int(self, value):
        return ir.Constant(_I64, value)

    def widen(self, value):
        """An index of any unsigned or signed type as a 64-bit integer (indices are never negative)."""
        return value if value.type == _I64 else self.builder.zext(value, _I64)

    def at(self, pointer, index):
        return self.builder.gep(pointer, [index])

    def load(self, pointer, k):
        place = self.at(pointer, self.int(LANES * k))
        loaded = self.builder.load(self.builder.bitcast(place, self.vector.as_pointer()))
        loaded.align = self.align
        return loaded

    def store(self, value, pointer, k, vector=None):
        place = self.at(pointer, self.int(LANES * k))
        stored = self.builder.store(value, self.builder.bitcast(place, (vector or self.vector).as_pointer()))
        stored.align = self.align if vector is None else 4

    def splat(self, value, vector=None):
        vector = vector or self.vector
        one = self.builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_I32, 0))
        lanes = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
        return self.builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), lanes)

    def constant(self, value):
        return ir.Constant(self.vector, [float(value)] * LANES)

    def accumulators(self, n, start=0.0, vector=None):
        first = self.constant(start) if vector is None else ir.Constant(vector, [0] * LANES)
        slots = [cgutils.alloca_once_value(self.builder, first) for _ in range(n)]
        for slot in slots:
            self.builder.store(first, slot)
        return slots

    def multiply_add(self, x, y, z):
        return self.builder.fadd(self.builder.fmul(x, y, flags=_CONTRACT), z, flags=_CONTRACT)

    def loop(self, begin, end):
        return cgutils.for_range_slice(self.builder, begin, end, self.int(1), _I64)


def _sum_block(n_vectors: int):
    @intrinsic
    def sum_block(typing, out, o, table, column, stride, index, begin, end):
        """out[o:] = Σ_{begin ≤ q < end} table[stride·index[q] + column:], all in elements."""
        i = types.int64
        signature = types.void(out, i, table, i, i, index, i, i)

        def generate(context, builder, signature, args):
            e = _Emitter(context, builder, signature.args[0].dtype)
            target = e.at(e.data(signature.args[0], args[0]), args[1])
            source = e.at(e.data(signature.args[2], args[2]), args[3])
            ids = e.data(signature.args[5], args[5])
            total = e.accumulators(n_vectors)
            with e.loop(args[6], args[7]) as (q, _):
                row = e.at(source, builder.mul(e.widen(builder.load(e.at(ids, q))), args[4]))
                for k in range(n_vectors):
                    builder.store(builder.fadd(builder.load(total[k]), e.load(row, k)), total[k])
            for k in range(n_vectors):
                e.store(builder.load(total[k]), target, k)
            return context.get_dummy_value()

        return signature, generate

    return sum_block


def _weigh_block(n_vectors: int):
    @intrinsic
    def weigh_block(typing, out, o, table, column, stride, index, value, begin, end):
        """out[o:] = Σ_{begin ≤ q < end} value[q]·table[stride·index[q] + column:]."""
        i = types.int64
        signature = types.void(out, i, table, i, i, index, value, i, i)

        def generate(context, builder, signature, args):
            e = _Emitter(context, builder, signature.args[0].dtype)
            target = e.at(e.data(signature.args[0], args[0]), args[1])
            source = e.at(e.data(signature.args[2], args[2]), args[3])
            ids, values = e.data(signature.args[5], args[5]), e.data(signature.args[6], args[6])
            total = e.accumulators(n_vectors)
            with e.loop(args[7], args[8]) as (q, _):
                row = e.at(source, builder.mul(e.widen(builder.load(e.at(ids, q))), args[4]))
                weight = e.splat(builder.load(e.at(values, q)))
                for k in range(n_vectors):
                    builder.store(e.multiply_add(weight, e.load(row, k), builder.load(total[k])), total[k])
            for k in range(n_vectors):
                e.store(builder.load(total[k]), target, k)
            return context.get_dummy_value()

        return signature, generate

    return weigh_block


def _spread_block(n_vectors: int):
    @intrinsic
    def spread_block(typing, table, stride, column, allowed, index, q, weight, row, r):
        """table[stride·index[q] + column:] += weight·row[r:] where the bits of allowed say so."""
        signature = types.void(
            table, types.int64, types.int64, allowed, index, types.int64, table.dtype, row, types.int64
        )

        def generate(context, builder, signature, args):
            e = _Emitter(context, builder, signature.args[0].dtype)
            step = e.at(e.data(signature.args[7], args[7]), args[8])
            attribute = e.widen(builder.load(e.at(e.data(signature.args[4], args[4]), args[5])))
            offset = builder.add(builder.mul(attribute, args[1]), args[2])
            target = e.at(e.data(signature.args[0], args[0]), offset)
            bits = e.at(e.data(signature.args[3], args[3]), builder.udiv(offset, e.int(LANES)))
            weight = e.splat(args[6])
            for k in range(n_vectors):
                lanes = builder.load(e.at(bits, e.int(k)))
                lanes = builder.bitcast(lanes, ir.VectorType(ir.IntType(1), LANES))
                move = builder.select(lanes, builder.fmul(weight, e.load(step, k)), e.constant(0.0))
                e.store(builder.fadd(e.load(target, k), move), target, k)
            return context.get_dummy_value()

        return signature, generate

    return spread_block


def _mix_block(n_vectors: int):
    @intrinsic
    def mix_block(typing, out, o, coefficient, c, c_stride, matrix, m, m_stride, count):
        """out[o:] = Σ_{k < count} coefficient[c + k·c_stride] · matrix[m + k·m_stride:], all in elements."""
        i = types.int64
        signature = types.void(out, i, coefficient, i, i, matrix, i, i, i)

        def generate(context, builder, signature, args):
            e = _Emitter(context, builder, signature.args[0].dtype)
            target = e.at(e.data(signature.args[0], args[0]), args[1])
            weights = e.at(e.data(signature.args[2], args[2]), args[3])
            rows = e.at(e.data(signature.args[5], args[5]), args[6])
            total = e.accumulators(n_vectors)
            with e.loop(e.int(0), args[8]) as (k, _):
                weight = e.splat(builder.load(e.at(weights, builder.mul(k, args[4]))))
                row = e.at(rows, builder.mul(k, args[7]))
                for v in range(n_vectors):
                    builder.store(e.multiply_add(weight, e.load(row, v), builder.load(total[v])), total[v])
            for v in range(n_vectors):
                e.store(builder.load(total[v]), target, v)
            return context.get_dummy_value()

        return signature, generate

    return mix_block


def _best_block(n_vectors: int):
    @intrinsic
    def best_block(typing, out, o, arg, a, coefficient, c, matrix, m, m_stride, count):
        """out[o:] = max_k coefficient[c + k] + matrix[m + k·m_stride:]; arg[a:] = the lowest such k."""
        i = types.int64
        signature = types.void(out, i, arg, i, coefficient, i, matrix, i, i, i)

        def generate(context, builder, signature, args):
            e = _Emitter(context, builder, signature.args[0].dtype)
            whole = ir.VectorType(_I32, LANES)
            target = e.at(e.data(signature.args[0], args[0]), args[1])
            target_arg = e.at(e.data(signature.args[2], args[2]), args[3])
            weights = e.at(e.data(signature.args[4], args[4]), args[5])
            rows = e.at(e.data(signature.args[6], args[6]), args[7])
            best, best_arg = e.accumulators(n_vectors, -np.inf), e.accumulators(n_vectors, vector=whole)
            with e.loop(e.int(0), args[9]) as (k, _):
                weight = e.splat(builder.load(e.at(weights, k)))
                number = e.splat(builder.trunc(k, _I32), whole)
                row = e.at(rows, builder.mul(k, args[8]))
                for v in range(n_vectors):
                    score, old = builder.fadd(weight, e.load(row, v)), builder.load(best[v])
                    better = builder.fcmp_ordered(">", score, old)
                    builder.store(builder.select(better, score, old), best[v])
                    builder.store(builder.select(better, number, builder.load(best_arg[v])), best_arg[v])
            for v in range(n_vectors):
                e.store(builder.load(best[v]), target, v)
                e.store(builder.load(best_arg[v]), target_arg, v, whole)
            return context.get_dummy_value()

        return signature, generate

    return best_block


@intrinsic
def _exp_vector(typing, row, r, shift):
    """row[r:r+LANES] = exp(row − shift); float32 by a polynomial on vectors, float64 by the C library.

    float32: x = n·log 2 + y, |y| ≤ log 2 / 2, eˣ = 2ⁿ·(1 + y + y²·P(y)); P is Cephes' expf polynomial,
    relative error below 2⁻²³. Inputs are held to [-87, 87]; callers test for that themselves.
    """
    signature = types.void(row, types.int64, row.dtype)

    def generate(context, builder, signature, args):
        e = _Emitter(context, builder, signature.args[0].dtype)
        place = e.at(e.data(signature.args[0], args[0]), args[1])
        x = builder.fsub(e.load(place, 0), e.splat(args[2]))
        if signature.args[0].dtype != types.float32:
            name = f"llvm.exp.v{LANES}f64"
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(e.vector, [e.vector]), name
            )
            e.store(builder.call(function, [x]), place, 0)
            return context.get_dummy_value()
        whole = ir.VectorType(_I32, LANES)
        x = builder.select(builder.fcmp_ordered("<", x, e.constant(87.0)), x, e.constant(87.0))
        x = builder.select(builder.fcmp_ordered(">", x, e.constant(-87.0)), x, e.constant(-87.0))
        # adding and taking away 1.5·2²³ rounds to the nearest integer: no flag may reorder this
        scaled = builder.fmul(x, e.constant(np.float32(1.44269504088896)))
        n = builder.fsub(builder.fadd(scaled, e.constant(12582912.0)), e.constant(12582912.0))
        y = e.multiply_add(n, e.constant(-0.693359375), x)
        y = e.multiply_add(n, e.constant(np.float32(2.12194440e-4)), y)
        p = e.constant(np.float32(1.9875691500e-4))
        for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
            p = e.multiply_add(p, y, e.constant(np.float32(c)))
        p = builder.fadd(e.multiply_add(p, builder.fmul(y, y), y), e.constant(1.0))
        power = builder.add(builder.fptosi(n, whole), ir.Constant(whole, [127] * LANES))
        power = builder.bitcast(builder.shl(power, ir.Constant(whole, [23] * LANES)), e.vector)
        e.store(builder.fmul(p, power), place, 0)
        return context.get_dummy_value()

    return signature, generate


_sum1, _sum2, _sum3, _sum4 = (_sum_block(n) for n in range(1, _BLOCK + 1))
_weigh1, _weigh2, _weigh3, _weigh4 = (_weigh_block(n) for n in range(1, _BLOCK + 1))
_spread1, _spread2, _spread3, _spread4 = (_spread_block(n) for n in range(1, _BLOCK + 1))
_mix1, _mix2, _mix3, _mix4 = (_mix_block(n) for n in range(1, _BLOCK + 1))
_best1, _best2, _best3, _best4 = (_best_block(n) for n in range(1, _BLOCK + 1))

# Each face below walks a row in blocks of 4 vectors and ends with a block of 1, 2 or 3. Blocks after
# the first shift every row by the same number of elements, which the strides leave alone.


@kernel
def sum_rows(out, o, table, index, begin, end):
    """out[o] = Σ_{begin ≤ q < end} table[index[q]]."""
    width, column = table.shape[1], 0
    while width - column >= 32:
        _sum4(out, o * width + column, table, column, width, index, begin, end)
        column += 32
    if width - column == 8:
        _sum1(out, o * width + column, table, column, width, index, begin, end)
    elif width - column == 16:
        _sum2(out, o * width + column, table, column, width, index, begin, end)
    elif width - column == 24:
        _sum3(out, o * width + column, table, column, width, index, begin, end)


@kernel
def weigh_rows(out, o, table, index, value, begin, end):
    """out[o] = Σ_{begin ≤ q < end} value[q]·table[index[q]]."""
    width, column = table.shape[1], 0
    while width - column >= 32:
        _weigh4(out, o * width + column, table, column, width, index, value, begin, end)
        column += 32
    if width - column == 8:
        _weigh1(out, o * width + column, table, column, width, index, value, begin, end)
    elif width - column == 16:
        _weigh2(out, o * width + column, table, column, width, index, value, begin, end)
    elif width - column == 24:
        _weigh3(out, o * width + column, table, column, width, index, value, begin, end)


@kernel
def spread_row(table, allowed, index, q, weight, row, r):
    """table[index[q]] += weight·row[r], for the labels whose bit is set in allowed (rows, width/8)."""
    width, column = table.shape[1], 0
    while width - column >= 32:
        _spread4(table, width, column, allowed, index, q, weight, row, r * width + column)
        column += 32
    if width - column == 8:
        _spread1(table, width, column, allowed, index, q, weight, row, r * width + column)
    elif width - column == 16:
        _spread2(table, width, column, allowed, index, q, weight, row, r * width + column)
    elif width - column == 24:
        _spread3(table, width, column, allowed, index, q, weight, row, r * width + column)


@kernel
def mix_rows(out, o, coefficient, c, c_stride, matrix, m, m_stride, count):
    """out[o] = Σ_{k < count} coefficient.flat[c + k·c_stride] · matrix[m + k·m_stride]."""
    width, column = matrix.shape[1], 0
    m, m_stride = m * width, m_stride * width
    while width - column >= 32:
        _mix4(out, o * width + column, coefficient, c, c_stride, matrix, m + column, m_stride, count)
        column += 32
    if width - column == 8:
        _mix1(out, o * width + column, coefficient, c, c_stride, matrix, m + column, m_stride, count)
    elif width - column == 16:
        _mix2(out, o * width + column, coefficient, c, c_stride, matrix, m + column, m_stride, count)
    elif width - column == 24:
        _mix3(out, o * width + column, coefficient, c, c_stride, matrix, m + column, m_stride, count)


@kernel
def best_rows(out, arg, o, coefficient, c, matrix, count):
    """out[o] = max_{k < count} coefficient[c, k] + matrix[k]; arg[o] = the lowest k that reaches it."""
    width, column = matrix.shape[1], 0
    c *= width
    while width - column >= 32:
        at = o * width + column
        _best4(out, at, arg, at, coefficient, c, matrix, column, width, count)
        column += 32
    at = o * width + column
    if width - column == 8:
        _best1(out, at, arg, at, coefficient, c, matrix, column, width, count)
    elif width - column == 16:
        _best2(out, at, arg, at, coefficient, c, matrix, column, width, count)
    elif width - column == 24:
        _best3(out, at, arg, at, coefficient, c, matrix, column, width, count)


@kernel
def exp_row(row, r, shift):
    """row[r] = exp(row[r] − shift)."""
    width = row.shape[1]
    for column in range(0, width, 8):
        _exp_vector(row, r * width + column, shift)


if config.DISABLE_JIT:  # the same in NumPy, so that kernels can be stepped through and covered

    def sum_rows(out, o, table, index, begin, end):
        out[o] = table[index[begin:end]].sum(axis=0)

    def weigh_rows(out, o, table, index, value, begin, end):
        out[o] = value[begin:end] @ table[index[begin:end]]

    def spread_row(table, allowed, index, q, weight, row, r):
        bits = np.unpackbits(allowed[index[q]], bitorder="little").astype(bool)
        table[index[q], bits] += weight * row[r, bits]

    def mix_rows(out, o, coefficient, c, c_stride, matrix, m, m_stride, count):
        k = np.arange(count)
        out[o] = coefficient.reshape(-1)[c + k * c_stride] @ matrix[m + k * m_stride]

    def best_rows(out, arg, o, coefficient, c, matrix, count):
        scores = coefficient[c, :count, None] + matrix[:count]
        out[o], arg[o] = scores.max(axis=0), scores.argmax(axis=0)

    def exp_row(row, r, shift):
        row[r] = np.exp(np.clip(row[r] - shift, -87, 87) if row.dtype == np.float32 else row[r] - shift)
