"""The functions that expressions can call, as the compiler has them, and their derivatives.

`python -m pytest tests -k grammar` compares the list with the compiler's own (`_libsparse_go functions`).
"""

from __future__ import annotations

import difflib
from typing import Final

# How many arguments each function takes; those in FLOATING make floating values of integers.
EXACT: Final = {
    1: "abs ceil conj cube floor frac imag isnan neg not real relu relu6 round sign square stored sum trunc truth",
    2: "add and eq first floor_divide fmod ge gt heaviside le leaky_relu lt max min mul ne or pow remainder "
    "second sub xor",
    3: "clamp hardtanh where",
}
FLOATING: Final = {
    1: "acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 gelu hardsigmoid hardswish log log10 "
    "log1p log2 logsigmoid mish reciprocal rsqrt selu sigmoid silu sin sinh softplus softsign sqrt tan tanh tanhshrink",
    2: "atan2 celu div elu hypot",
}
ARITY: Final = {name: n for table in (EXACT, FLOATING) for n, names in table.items() for name in names.split()}
# What the last arguments are where a call leaves them out, as in torch.
DEFAULTS: Final = {"celu": ("1",), "elu": ("1",), "hardtanh": ("-1", "1"), "leaky_relu": ("0.01",)}
# Names that TACO or torch has for them.
ALIASES: Final = {
    **{"gte": "ge", "lte": "le", "neq": "ne", "mod": "fmod", "maximum": "max", "minimum": "min", "negative": "neg"},
    **{f"logical_{name}": name for name in ("and", "not", "or", "xor")},
    **{"greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne"},
    **{"absolute": "abs", "divide": "div", "true_divide": "div", "multiply": "mul", "subtract": "sub", "clip": "clamp"},
}
FLOAT_ONLY: Final = frozenset(name for names in FLOATING.values() for name in names.split())
PARTS: Final = frozenset({"abs", "real", "imag"})  # these make real values of complex ones

# Functions whose values are bool.
LOGICAL: Final = frozenset({"and", "eq", "ge", "gt", "isnan", "le", "lt", "ne", "not", "or", "truth", "xor"})

# Operators by their signs, and the names of reductions by the text before the "=" of an assignment.
SIGNS: Final = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
COMPARISONS: Final = {">=": "ge", "<=": "le", "!=": "ne", ">": "gt", "<": "lt"}  # how they are written as functions
SIGN_OF: Final = {name: sign for sign, name in SIGNS.items()}
NAMED_SIGNS: Final = {"//": "floor_divide", "%": "remainder"}  # these are written as functions elsewhere
DIVIDING: Final = frozenset({"floor_divide", "fmod", "remainder"})  # these have no value where an integer meets zero
# The arguments that make functions infinite, or NaN, where they are zero, whatever the others are.
SINGULAR: Final = {"/": 1, **dict.fromkeys(("div", *sorted(DIVIDING)), 1), "pow": 0}
# Where functions have a value, as regions over their arguments; `some` of all others. Those that make something else of
# zeros have one everywhere; `regions.usual` knows what numbers as arguments change.
_NOT_ZERO: Final = (
    "acos acosh clamp cos cosh eq erfc exp exp2 ge hardsigmoid hardtanh le log log10 log2 logsigmoid not pow "
    "reciprocal rsqrt sigmoid softplus"
)
REGIONS: Final = {
    **dict.fromkeys(_NOT_ZERO.split(), "all"),
    **dict.fromkeys(("mul", "and"), "every"),
    **dict.fromkeys(("celu", "div", "elu", "first", "floor_divide", "fmod", "leaky_relu", "remainder"), "0"),
    "second": "1",
    "where": "0 & 1 | 2",
}
REDUCTIONS: Final = {
    "+": "sum",
    "add": "sum",
    "sum": "sum",
    "*": "prod",
    "mul": "prod",
    "prod": "prod",
    "&": "all",
    "and": "all",
    "all": "all",
    "|": "any",
    "or": "any",
    "any": "any",
    "^": "xor",
    "xor": "xor",
    "min": "min",
    "max": "max",
    "mean": "mean",
}
# The updates of an old element by a new one, and of a new one where there is no old one.
UPDATES: Final = {
    "-": "a - b",
    "/": "a / b",
    "sum": "a + b",
    "prod": "a * b",
    "min": "min(a, b)",
    "max": "max(a, b)",
    "any": "or(a, b)",
    "all": "and(a, b)",
    "xor": "xor(a, b)",
}
ALONE: Final = {"-": "-b", "/": "0 / b"}
PARAMETERS: Final = ("x", "y", "z")

# The partial derivatives of the functions, in the expression language, over x, y, z; "" where it is zero. Those of real
# values, and of complex ones where there is a complex derivative; `partials` knows abs, real, imag and conj of those.
DERIVATIVES: Final[dict[str, tuple[str, ...]]] = {
    "add": ("1", "1"),
    "sub": ("1", "-1"),
    "mul": ("y", "x"),
    "div": ("1 / y", "-x / (y * y)"),
    "neg": ("-1",),
    "min": ("lt(x, y) + eq(x, y) / 2", "lt(y, x) + eq(x, y) / 2"),
    "max": ("gt(x, y) + eq(x, y) / 2", "gt(y, x) + eq(x, y) / 2"),
    "first": ("1", ""),
    "second": ("", "1"),
    "pow": ("y * pow(x, y - 1)", "where(eq(x, 0), 0, log(x) * pow(x, y))"),
    "atan2": ("y / (x * x + y * y)", "-x / (x * x + y * y)"),
    "hypot": ("x / hypot(x, y)", "y / hypot(x, y)"),
    "fmod": ("1", "-trunc(x / y)"),
    "remainder": ("1", "-floor(x / y)"),
    "where": ("", "ne(x, 0)", "eq(x, 0)"),
    "clamp": ("ge(x, y) * le(x, z)", "lt(x, y)", "gt(x, z)"),
    "abs": ("sign(x)",),
    "conj": ("1",),
    "sum": ("1",),
    "real": ("1",),
    "imag": ("",),
    "sqrt": ("1 / (2 * sqrt(x))",),
    "cbrt": ("1 / (3 * square(cbrt(x)))",),
    "rsqrt": ("-1 / (2 * x * sqrt(x))",),
    "reciprocal": ("-1 / (x * x)",),
    "square": ("2 * x",),
    "cube": ("3 * x * x",),
    "exp": ("exp(x)",),
    "exp2": ("0.6931471805599453 * exp2(x)",),
    "expm1": ("exp(x)",),
    "log": ("1 / x",),
    "log2": ("1.4426950408889634 / x",),
    "log10": ("0.4342944819032518 / x",),
    "log1p": ("1 / (1 + x)",),
    "sin": ("cos(x)",),
    "cos": ("-sin(x)",),
    "tan": ("1 + square(tan(x))",),
    "asin": ("1 / sqrt(1 - x * x)",),
    "acos": ("-1 / sqrt(1 - x * x)",),
    "atan": ("1 / (1 + x * x)",),
    "sinh": ("cosh(x)",),
    "cosh": ("sinh(x)",),
    "tanh": ("1 - square(tanh(x))",),
    "asinh": ("1 / sqrt(x * x + 1)",),
    "acosh": ("1 / (sqrt(x - 1) * sqrt(x + 1))",),
    "atanh": ("1 / (1 - x * x)",),
    "erf": ("1.1283791670955126 * exp(-x * x)",),
    "erfc": ("-1.1283791670955126 * exp(-x * x)",),
    "sigmoid": ("sigmoid(x) * (1 - sigmoid(x))",),
    "silu": ("sigmoid(x) * (1 + x * (1 - sigmoid(x)))",),
    "softplus": ("sigmoid(x)",),
    "logsigmoid": ("sigmoid(-x)",),
    "relu": ("gt(x, 0)",),
    "relu6": ("gt(x, 0) * lt(x, 6)",),
    "leaky_relu": ("where(gt(x, 0), 1, y)", "min(x, 0)"),
    "elu": ("where(gt(x, 0), 1, y * exp(where(lt(x, 0), x, 0)))", "expm1(min(x, 0))"),
    "celu": (
        "where(gt(x, 0), 1, exp(where(lt(x, 0), x, 0) / y))",
        "expm1(min(x, 0) / y) - min(x, 0) / y * exp(min(x, 0) / y)",
    ),
    "selu": ("where(gt(x, 0), 1.0507009873554805, 1.7580993408473766 * exp(where(lt(x, 0), x, 0)))",),
    "gelu": ("(1 + erf(0.7071067811865476 * x)) / 2 + 0.3989422804014327 * x * exp(-x * x / 2)",),
    "mish": ("tanh(softplus(x)) + x * sigmoid(x) * (1 - square(tanh(softplus(x))))",),
    "hardtanh": ("gt(x, y) * lt(x, z)", "le(x, y)", "ge(x, z)"),
    "hardsigmoid": ("gt(x, -3) * lt(x, 3) / 6",),
    "hardswish": ("where(gt(x, 3), 1, ge(x, -3) * (x / 3 + 0.5))",),
    "tanhshrink": ("square(tanh(x))",),
    "softsign": ("1 / square(1 + abs(x))",),
    "frac": ("1",),
    **{name: ("",) for name in ["ceil", "floor", "round", "trunc", "sign", "not", "isnan", "stored", "truth"]},
    **{name: ("", "") for name in ["and", "or", "xor", "eq", "ne", "lt", "le", "gt", "ge"]},
    **{name: ("", "") for name in ["heaviside", "floor_divide"]},
}


OF_TENSORS = frozenset(
    [
        "softmax",
        "log_softmax",
        "softmin",
        "logsumexp",
        "normalize",
        "layer_norm",
        "mean",
        "var",
        "std",
        "norm",
        "prod",
        "cumsum",
        "cumprod",
        "amax",
        "amin",
    ]
)
"""Functions of torch whose elements depend on several of the argument's."""


def suggestion(name: str) -> str:
    """A sentence with the function that a name may be meant for, "" where none is like it."""
    found = difflib.get_close_matches(name, [*ARITY, *ALIASES], 1)
    return f"; did you mean the function {found[0]!r}?" if found else ""


def is_floating(op: str) -> bool:
    """Whether an operator or a function makes floating values of integers."""
    return op == "/" or op in FLOAT_ONLY
