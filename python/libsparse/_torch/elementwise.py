"""torch's elementwise functions: of one tensor, arithmetic, comparisons and choices.

All go through `libsparse._ops.pointwise`, but for sums and products, which have compiled kernels where no fill value
is in the way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._ops import assemble, elementwise, pointwise
from libsparse._ops.operands import is_sparse, plain_number, to_operand
from libsparse._runtime import notes
from libsparse._runtime.problem import Operand
from libsparse._runtime.repeats import by_kind

from .registry import getter, implements, named

# Functions f with f(0) = 0 whatever their other arguments are.
_ZERO_PRESERVING = """
abs absolute neg negative positive sqrt square sign sgn sin tan sinh tanh asin arcsin atan arctan asinh arcsinh atanh
arctanh expm1 log1p erf erfinv floor ceil round trunc fix frac relu relu6 leaky_relu elu selu celu gelu silu mish
hardswish softsign tanhshrink softshrink hardshrink deg2rad rad2deg conj conj_physical resolve_conj resolve_neg real
imag isinf isnan isneginf isposinf signbit __abs__ __neg__ __pos__
"""
_UNARY = """
acos arccos acosh arccosh angle bitwise_not cos cosh digamma erfc exp exp2 isfinite isreal lgamma log log10 log2
logical_not logit mvlgamma nan_to_num polygamma reciprocal rsqrt sigmoid sinc i0 hardtanh hardsigmoid logsigmoid
softplus threshold rrelu clamp clip clamp_min clamp_max __invert__
"""
_SPECIAL = """
bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e i1 i1e log1p
log_ndtr logit multigammaln ndtr ndtri polygamma psi round sinc airy_ai spherical_bessel_j0 modified_bessel_i0
modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1
chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w zeta gammainc gammaincc
"""
_SEVERAL = """
eq ne lt le gt ge not_equal less less_equal greater greater_equal maximum minimum fmax fmin atan2 arctan2 hypot
copysign nextafter logaddexp logaddexp2 heaviside pow float_power bitwise_or bitwise_xor logical_or logical_xor gcd lcm
bitwise_left_shift bitwise_right_shift isclose lerp addcmul addcdiv igamma igammac polar complex
__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __or__ __ror__ __xor__ __rxor__ __pow__ __lshift__ __rshift__ __rlshift__
__rrshift__
"""
# Functions of two tensors that are 0 where the first is, and those that are where either is.
_FIRST_ABSORBS = "xlogy ldexp"
_EITHER_ABSORBS = "bitwise_and logical_and __and__ __rand__"
_WHOLE = {"floor_divide": "__floordiv__", "remainder": "__mod__", "fmod": ""}


def _implement(functions: list[Any], absorbing: tuple[int, ...] = (), *, keeps_zero: bool = False) -> None:
    for function in functions:
        implements(function, layouts="raises")(_handler(function, absorbing, keeps_zero=keeps_zero))


def _handler(function: Any, absorbing: tuple[int, ...], *, keeps_zero: bool = False) -> Callable[..., Any]:
    name = function.__name__.strip("_")

    def handler(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and (found := pointwise.of_one(function, args, keeps_zero=keeps_zero)) is not None:
            return found
        if kwargs.get("rounding_mode") == "floor":
            first, second = (*args, *[kwargs[given] for given in ("input", "other") if given in kwargs])
            return elementwise.whole_quotient("floor_divide", first, second, _floored)
        return pointwise.apply(name, function, args, kwargs, absorbing, keeps_zero=keeps_zero)

    handler.__name__, handler.__doc__ = function.__name__, function.__doc__
    return handler


def _floored(input: Tensor, other: Any) -> Tensor:
    """The quotient rounded down, which has a gradient, unlike that of `//`."""
    return torch.div(input, other, rounding_mode="floor")


def _reflected(function: Any, absorbing: tuple[int, ...] = ()) -> Callable[..., Any]:
    def handler(input: Any, other: Any) -> Any:
        return pointwise.apply(function.__name__, function, (other, input), absorbing=absorbing)

    return handler


def _reciprocals(other: Any, input: Any) -> Tensor:
    """`other / input`; of a number as torch computes it: numbers divided by 0 are then what they are there."""
    quotients: Tensor = torch.div(other, input) if isinstance(other, Tensor) else torch.reciprocal(input) * other
    return quotients


def _quotient(function: Any) -> Callable[..., Any]:
    """`input / other`, or that rounded; elements that are not stored stay 0."""
    divide_any = _handler(function, (0,))

    def divide(*args: Any, **kwargs: Any) -> Any:
        found = elementwise.divide(*args) if len(args) == 2 and not kwargs else None
        return divide_any(*args, **kwargs) if found is None else found

    return by_kind(divide)


def _whole_quotient(name: str) -> Callable[..., Any]:
    def handler(input: Any, other: Any) -> Any:
        return elementwise.whole_quotient(name, input, other)

    handler.__name__ = name
    return handler


_implement(named(_ZERO_PRESERVING, torch, Tensor, F), keeps_zero=True)
_implement([*named(_UNARY, torch, Tensor, F), *named(_SPECIAL, torch.special)])
_implement(named(_SEVERAL, torch, Tensor))
_implement([*named(_FIRST_ABSORBS, torch, Tensor), *named("xlogy xlog1py", torch.special)], (0,))
_implement(named(_EITHER_ABSORBS, torch, Tensor), (0, 1))
for _name, _operator in _WHOLE.items():
    implements(*named(f"{_name} {_operator}", torch, Tensor), layouts="raises")(_whole_quotient(_name))
implements(Tensor.__rtruediv__)(_reflected(_reciprocals, (0,)))
implements(Tensor.__rpow__)(_reflected(torch.pow))
implements(*named("mul multiply __mul__ __rmul__", torch, Tensor), layouts="raises")(by_kind(elementwise.multiply))
implements(*named("div divide true_divide", torch, Tensor), layouts="raises")(_quotient(torch.div))
implements(Tensor.__truediv__, layouts="raises")(_quotient(Tensor.__truediv__))  # leaves other types to themselves
for _property in ("real", "imag"):
    implements(getter(_property))(_handler(getattr(torch, _property), (), keeps_zero=True))


@implements(*named("add __add__ __radd__", torch, Tensor), layouts="raises")
@by_kind
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input + alpha * other`: entries where either is stored; dense where one is."""
    return elementwise.add(input, other, alpha)


@implements(*named("sub subtract __sub__", torch, Tensor), layouts="raises")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input - alpha * other`."""
    return elementwise.subtract(input, other, alpha)


@implements(*named("rsub __rsub__", torch, Tensor))
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`other - alpha * input`."""
    return elementwise.subtract(other, input, alpha)


@implements(Tensor.__rfloordiv__)
def rfloordiv(input: Any, other: Any) -> Any:
    """`other // input`."""
    return elementwise.whole_quotient("floor_divide", other, input)


@implements(Tensor.__rmod__)
def rmod(input: Any, other: Any) -> Any:
    """`other % input`."""
    return elementwise.whole_quotient("remainder", other, input)


@implements(Tensor.where, layouts="raises")
def where_method(input: Any, condition: Any, other: Any) -> Any:
    """`input` where the condition is true, `other` elsewhere."""
    return where(condition, input, other)


@implements(torch.where, layouts="raises")
def where(*args: Any, **kwargs: Any) -> Any:
    """`input` where the condition is true, `other` elsewhere.

    `torch.where(condition, A, 0)` and `torch.where(condition, 0, A)` are sparse also where the condition is dense, as
    `A * condition`.
    """
    names = dict(zip(("condition", "input", "other"), args, strict=False)) | kwargs
    if len(names) == 1:
        return torch.nonzero(names["condition"], as_tuple=True)
    condition, chosen, other = names.get("condition"), names.get("input"), names.get("other")
    if not is_sparse(condition):
        for sparse, number, place in ((chosen, other, 1), (other, chosen, 2)):
            if is_sparse(sparse) and isinstance(number, (int, float)) and number == 0:
                return pointwise.apply("where", torch.where, (condition, chosen, other), absorbing=(place,))
    return pointwise.apply("where", torch.where, args, kwargs)


def _dropout(input: Any, p: float = 0.5, training: bool = True) -> Operand:
    source = to_operand(input)
    source.need_zero_fill("dropout")
    if not (source.dtype.is_floating_point or source.dtype.is_complex):
        raise DtypeError(f"dropout of {source.dtype} ({source}); expected a floating dtype: use A.float()")
    p = plain_number(p)
    if not isinstance(p, (int, float)):
        raise DtypeError(f"dropout: p is {p!r}; expected a probability, from 0 to 1")
    if not 0 <= p <= 1:
        raise ShapeError(f"dropout: p is {p!r}; expected a probability, from 0 to 1")
    return Operand(source.pattern, notes.apply(F.dropout, source.values, p, training))


@implements(F.dropout, *named("dropout", torch), layouts="raises")
def dropout(input: Any, p: float = 0.5, training: bool = True, train: bool = True) -> Operand:
    """Each stored value zeroed with probability `p`, the others scaled by `1 / (1 - p)`."""
    if not is_sparse(input):
        raise UnsupportedError("dropout: expected a sparse tensor")
    return _dropout(input, p, training and train)


@implements(F.prelu, layouts="raises")
def prelu(input: Any, weight: Any) -> Any:
    """`input` where it is positive, elsewhere `weight` times it, which has one element, or as many as dimension 1."""
    shape = to_operand(input).shape
    if weight.numel() != 1 and (weight.ndim != 1 or len(shape) < 2 or len(weight) != shape[1]):
        raise ShapeError(
            f"prelu: weight has shape {tuple(weight.shape)}; expected one element, or one for each of dimension 1 of "
            f"input ({to_operand(input)})"
        )
    if not is_sparse(input):
        return F.prelu(input, assemble.to_dense(to_operand(weight)))  # a vector for a dimension of a dense tensor
    if weight.numel() == 1:
        weight = assemble.to_dense(to_operand(weight)).reshape(())
    else:
        weight = weight.reshape(-1, *[1] * (len(shape) - 2))
    return pointwise.apply(
        "prelu", lambda x, w: torch.where(x > 0, x, w * x), (input, weight), absorbing=(0,), keeps_zero=True
    )
