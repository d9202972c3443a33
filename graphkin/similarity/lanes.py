"""A 512-bit vector type for Numba kernels: `&`, `|` and `^` act on all 512 bits at once.

LLVM compiles these operations to the vector instructions of the processor, so the same code runs on every machine. A
vector takes one AVX-512 register, two of AVX2, or four of SSE or NEON.
"""

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from llvmlite import ir
from numba import extending, types
from numba.extending import lower_builtin, models, register_model, type_callable

WORDS = 8
"""Number of 64-bit words of a vector."""

BITS = 64 * WORDS

Vector: TypeAlias = Any
"""Type annotation for a vector inside a kernel."""

_VECTOR = ir.VectorType(ir.IntType(64), WORDS)
_intrinsic: Any = extending.intrinsic  # Any, because Numba annotates only the definition of an intrinsic, not its calls


class Lanes(types.Type):
    """The Numba type of a 512-bit vector. Its values exist only in compiled code."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


lanes = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _VECTOR)  # type: ignore[no-untyped-call]


@_intrinsic
def load(typing_context: Any, words: Any, start: Any) -> Any:  # noqa: ARG001 - numba requires this signature
    """Return the eight words of a contiguous uint64 array from index `start` on. Bounds are not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_address(context, builder, signature, arguments))
        value.align = 8
        return value

    return lanes(words, types.uint64), generate


@_intrinsic
def store(typing_context: Any, words: Any, start: Any, value: Any) -> Any:  # noqa: ARG001
    """Write a vector into a contiguous uint64 array from index `start` on. Bounds are not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _address(context, builder, signature, arguments)).align = 8
        return context.get_dummy_value()

    return types.none(words, types.uint64, lanes), generate


@_intrinsic
def prefetch(typing_context: Any, words: Any, start: Any) -> Any:  # noqa: ARG001
    """Ask the processor to bring the eight words of a contiguous uint64 array from index `start` on into its cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        address = builder.bitcast(_address(context, builder, signature, arguments), byte)
        for_reading, into_all_caches, data = number(0), number(3), number(1)
        builder.call(function, [address, for_reading, into_all_caches, data])
        return context.get_dummy_value()

    return types.none(words, types.uint64), generate


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), _VECTOR.as_pointer())


@_intrinsic
def spread(typing_context: Any, bit: Any) -> Any:  # noqa: ARG001
    """Return a vector with all bits equal to `bit`, a uint64 0 or 1."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(undefined, builder.neg(arguments[0]), ir.IntType(32)(0))
        return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), WORDS), [0] * WORDS))

    return lanes(types.uint64), generate


@_intrinsic
def all_set(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    """Return whether all 512 bits are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        differs = builder.icmp_unsigned("!=", arguments[0], ir.Constant(_VECTOR, [2**64 - 1] * WORDS))
        return builder.icmp_unsigned("==", builder.bitcast(differs, ir.IntType(WORDS)), ir.IntType(WORDS)(0))

    return types.boolean(lanes), generate


def _register_operation(function: Callable[[Any, Any], Any], operation: str) -> None:
    """Make Numba compile `function` of two vectors to the LLVM instruction `operation`."""

    @type_callable(function)
    def _(context: Any) -> Any:  # noqa: ARG001
        return lambda a, b: lanes if isinstance(a, Lanes) and isinstance(b, Lanes) else None

    @lower_builtin(function, Lanes, Lanes)  # type: ignore[no-untyped-call]
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return getattr(builder, operation)(*arguments)


_register_operation(operator.and_, "and_")
_register_operation(operator.or_, "or_")
_register_operation(operator.xor, "xor")
