"""Examples of the methods and properties of `SparseTensor`: appended to their documentation when the package loads.

Methods that act alike share an example, in which `{name}` stands for the name, and `{base}` for it without its
last underscore. `A` is `ls.tensor([[0.0, 2.0], [1.0, 0.0]])`;
`Q` has small values, `I` integers, `x` is dense.
"""

from __future__ import annotations

import re

_OPERANDS = {
    "A": "A = ls.tensor([[0.0, 2.0], [1.0, 0.0]])",
    "Q": "Q = ls.tensor([[0.0, 0.5], [0.25, 0.0]])",
    "I": "I = ls.tensor([[0, 2], [1, 0]])",
    "x": "x = torch.ones(2, 2)",
    "P": "P = ls.tensor([[0.0, 2.0], [1.0, 0.0]]).pattern",
    "S": 'S = ls.schedule("ij,jk->ik", ls.eye(64), torch.ones(64, 64))',
}

_letters = re.compile(rf"\b[{''.join(_OPERANDS)}]\b").findall

# Names (of other classes with a letter in front), an expression (statements before it end with `;`), what it prints.
_EXAMPLES = """
H T mH mT | A.{name}.to_dense().tolist() -> [[0.0, 1.0], [2.0, 0.0]]
abs absolute acos angle arccos arcsin arcsinh arctan arctanh asin asinh atan atanh ceil cos cosh deg2rad digamma erf \
erfc erfinv exp exp2 expm1 fix floor frac hardshrink i0 isfinite isinf isnan isneginf isposinf isreal lgamma log \
log10 log1p log2 logit nan_to_num neg negative rad2deg reciprocal relu round rsqrt sgn sigmoid sign signbit sin sinc \
sinh sqrt square tan tanh trunc \
    | torch.allclose(Q.{name}().to_dense(), Q.to_dense().{name}()) -> True
abs_ absolute_ acos_ arccos_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ ceil_ cos_ cosh_ deg2rad_ \
digamma_ erf_ erfc_ erfinv_ exp2_ exp_ expm1_ fix_ floor_ frac_ i0_ lgamma_ log10_ log1p_ log2_ log_ logit_ \
nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ round_ rsqrt_ sgn_ sigmoid_ sign_ sin_ sinc_ sinh_ sqrt_ \
square_ tan_ tanh_ trunc_ \
    | torch.equal(Q.clone().{name}().to_dense(), Q.{base}().to_dense()) -> True
acosh arccosh | torch.allclose(Q.{name}().to_dense(), Q.to_dense().{name}()) -> False
acosh_ arccosh_ | torch.allclose((Q + 2).{name}().to_dense(), (Q + 2).{base}().to_dense(), equal_nan=True) -> True
add | A.{name}(A).to_dense().tolist() -> [[0.0, 4.0], [2.0, 0.0]]
add_ | A.clone().{name}(A).to_dense().tolist() -> [[0.0, 4.0], [2.0, 0.0]]
addbmm | torch.zeros(2, 2).{name}(torch.stack([A, A]), torch.ones(2, 2, 2)).tolist() -> [[4.0, 4.0], [2.0, 2.0]]
addbmm_ | torch.zeros(2, 2).{base}(torch.stack([A, A]), torch.ones(2, 2, 2)).tolist() -> [[4.0, 4.0], [2.0, 2.0]]
addcdiv addcmul | A.{name}(A, x).to_dense().tolist() -> [[0.0, 4.0], [2.0, 0.0]]
addcdiv_ | A.clone().{name}(A, A + 1).to_dense().tolist() -> [[0.0, 2.6666667461395264], [1.5, 0.0]]
addcmul_ | A.clone().{name}(A, A).to_dense().tolist() -> [[0.0, 6.0], [2.0, 0.0]]
addmm | x.{name}(A, x).tolist() -> [[3.0, 3.0], [2.0, 2.0]]
addmm_ | A.clone().{name}(A, A).to_dense().tolist() -> [[2.0, 2.0], [1.0, 2.0]]
addmv | torch.ones(2).{name}(A, torch.ones(2)).tolist() -> [3.0, 2.0]
addmv_ | torch.ones(2).{base}(A, torch.ones(2)).tolist() -> [3.0, 2.0]
addr | A.{name}(torch.ones(2), torch.ones(2)).tolist() -> [[1.0, 3.0], [2.0, 1.0]]
addr_ | A.clone().{name}(A[0], A[1]).to_dense().tolist() -> [[0.0, 2.0], [3.0, 0.0]]
adjoint t | A.{name}().to_dense().tolist() -> [[0.0, 1.0], [2.0, 0.0]]
all | A.{name}() -> tensor(False)
allclose equal | A.{name}(A) -> True
amax | A.{name}(1).tolist() -> [2.0, 1.0]
amin | A.{name}(1).tolist() -> [0.0, 0.0]
aminmax | A.{name}() -> (tensor(0.), tensor(2.))
any | A.{name}() -> tensor(True)
arctan2 atan2 fmax fmin hypot logaddexp logaddexp2 maximum minimum nextafter xlogy | A.{name}(A).nnz -> 2
arctan2_ atan2_ hypot_ nextafter_ xlogy_ | A.clone().{name}(A).nnz -> 2
argmax | A.{name}() -> tensor(1)
argmin | A.{name}() -> tensor(0)
argwhere indices nonzero | A.{name}().tolist() -> [[0, 1], [1, 0]]
backward \
    | W = ls.eye(2).requires_grad_(); (W * W).{name}(W.detach()); W.grad.values().tolist() -> [2.0, 2.0]
baddbmm | torch.ones(1, 2, 2).{name}(A[None], x[None]).tolist() -> [[[3.0, 3.0], [2.0, 2.0]]]
baddbmm_ | torch.ones(1, 2, 2).{base}(A[None], x[None]).tolist() -> [[[3.0, 3.0], [2.0, 2.0]]]
bernoulli bernoulli_ | A.{name}(1.0).values().tolist() -> [1.0, 1.0]
bfloat16 bool byte cdouble cfloat char double float half int long short \
    | A.{name}().dtype == torch.ones(1).{name}().dtype -> True
bitwise_and bitwise_or gcd lcm | I.{name}(I).to_dense().tolist() -> [[0, 2], [1, 0]]
bitwise_and_ bitwise_or_ gcd_ lcm_ | I.clone().{name}(I).to_dense().tolist() -> [[0, 2], [1, 0]]
bitwise_left_shift | I.{name}(1).to_dense().tolist() -> [[0, 4], [2, 0]]
bitwise_left_shift_ | I.clone().{name}(1).to_dense().tolist() -> [[0, 4], [2, 0]]
bitwise_not | I.{name}().to_dense().tolist() -> [[-1, -3], [-2, -1]]
bitwise_not_ | I.clone().{name}().to_dense().tolist() -> [[-1, -3], [-2, -1]]
bitwise_right_shift | I.{name}(1).to_dense().tolist() -> [[0, 1], [0, 0]]
bitwise_right_shift_ | I.clone().{name}(1).to_dense().tolist() -> [[0, 1], [0, 0]]
bitwise_xor | I.{name}(I).to_dense().tolist() -> [[0, 0], [0, 0]]
bitwise_xor_ | I.clone().{name}(I).to_dense().tolist() -> [[0, 0], [0, 0]]
bmm | A[None].{name}(x[None]).tolist() -> [[[2.0, 2.0], [1.0, 1.0]]]
broadcast_to | A[:, :1].{name}((2, 2)).to_dense().tolist() -> [[0.0, 0.0], [1.0, 1.0]]
cauchy_ clone coalesce conj conj_physical contiguous cpu detach exponential_ log_normal_ normal_ positive random_ \
resolve_conj resolve_neg uniform_ \
    | A.{name}().nnz -> 2
ccol_indices | A.to_format("csc").{name}().tolist() -> [0, 1, 2]
chunk | [part.shape for part in A.{name}(2)] -> [torch.Size([1, 2]), torch.Size([1, 2])]
clamp clip | A.{name}(0, 1).to_dense().tolist() -> [[0.0, 1.0], [1.0, 0.0]]
clamp_ clip_ | A.clone().{name}(0, 1).to_dense().tolist() -> [[0.0, 1.0], [1.0, 0.0]]
clamp_max softmax | A.{name}(1).to_dense().tolist() -> [[0.0, 1.0], [1.0, 0.0]]
clamp_max_ | A.clone().{name}(1).to_dense().tolist() -> [[0.0, 1.0], [1.0, 0.0]]
clamp_min | A.{name}(1).to_dense().tolist() -> [[1.0, 2.0], [1.0, 1.0]]
clamp_min_ | A.clone().{name}(1).to_dense().tolist() -> [[1.0, 2.0], [1.0, 1.0]]
col | A.{name}.tolist() -> [1, 0]
col_indices | A.{name}().tolist() -> [1, 0]
conj_physical_ detach_ | A.clone().{name}().nnz -> 2
coo | [part.tolist() for part in A.{name}()] -> [[0, 1], [1, 0], [2.0, 1.0]]
copy_ | A.{name}(A * 2).values().tolist() -> [4.0, 2.0]
copysign copysign_ | A.clone().{name}(-1).values().tolist() -> [-2.0, -1.0]
corrcoef | A.{name}().tolist() -> [[1.0, -1.0], [-1.0, 1.0]]
count_nonzero | A.{name}() -> tensor(2)
cov | A.{name}().tolist() -> [[2.0, -1.0], [-1.0, 0.5]]
crd | A.{name}(1).tolist() -> [1, 0]
crow_indices | A.{name}().tolist() -> [0, 1, 2]
csc | [part.tolist() for part in A.{name}()] -> [[0, 1, 2], [1, 0], [1.0, 2.0]]
csr | [part.tolist() for part in A.{name}()] -> [[0, 1, 2], [1, 0], [2.0, 1.0]]
cumsum | A.{name}(0).tolist() -> [[0.0, 2.0], [1.0, 2.0]]
dense_dim | A.{name}() -> 0
density | A.{name} -> 0.5
device | A.{name} -> device(type='cpu')
diag diagonal | A.{name}(1).to_dense().tolist() -> [2.0]
diag_embed | A.{name}().shape -> torch.Size([2, 2, 2])
diagflat | A.{name}().shape -> torch.Size([4, 4])
diff | A.{name}().to_dense().tolist() -> [[2.0], [-1.0]]
dist | A.{name}(A).item() -> 0.0
div divide true_divide | A.{name}(A).to_dense().tolist() -> [[nan, 1.0], [1.0, nan]]
div_ divide_ true_divide_ | A.clone().{name}(A).to_dense().tolist() -> [[nan, 1.0], [1.0, nan]]
dot inner | A[0].{name}(torch.ones(2)).item() -> 2.0
dtype | A.{name} -> torch.float32
eq ge greater_equal isclose le less_equal | A.{name}(A).to_dense().tolist() -> [[True, True], [True, True]]
eq_ ge_ greater_equal_ le_ less_equal_ | A.clone().{name}(A).to_dense().tolist() -> [[1.0, 1.0], [1.0, 1.0]]
expand | A[:, :1].{name}(2, 2).to_dense().tolist() -> [[0.0, 0.0], [1.0, 1.0]]
expand_as | A[:1].{name}(A).to_dense().tolist() -> [[0.0, 2.0], [0.0, 2.0]]
fill_ | A.{name}(3.0).to_dense().tolist() -> [[3.0, 3.0], [3.0, 3.0]]
fill_diag | A.{name}(7.0).to_dense().tolist() -> [[7.0, 2.0], [1.0, 7.0]]
fill_value | torch.exp(A).{name} -> 1.0
flatten ravel | A.{name}().shape -> torch.Size([4])
flip | A.{name}(1).to_dense().tolist() -> [[2.0, 0.0], [0.0, 1.0]]
fliplr rot90 | A.{name}().to_dense().tolist() -> [[2.0, 0.0], [0.0, 1.0]]
flipud | A.{name}().to_dense().tolist() -> [[1.0, 0.0], [0.0, 2.0]]
float_power pow | A.{name}(2).to_dense().tolist() -> [[0.0, 4.0], [1.0, 0.0]]
float_power_ pow_ | A.clone().{name}(2).to_dense().tolist() -> [[0.0, 4.0], [1.0, 0.0]]
floor_divide | A.{name}(2).to_dense().tolist() -> [[0.0, 1.0], [0.0, 0.0]]
floor_divide_ | A.clone().{name}(2).to_dense().tolist() -> [[0.0, 1.0], [0.0, 0.0]]
fmod remainder | A.{name}(2).to_dense().tolist() -> [[0.0, 0.0], [1.0, 0.0]]
fmod_ remainder_ | A.clone().{name}(2).to_dense().tolist() -> [[0.0, 0.0], [1.0, 0.0]]
format | A.{name} -> Format('csr')
gather | A.{name}(1, torch.tensor([[1, 1], [0, 1]])).tolist() -> [[2.0, 2.0], [1.0, 0.0]]
geometric_ | A.{name}(0.5).nnz -> 2
ger outer | A[0].{name}(A[1]).to_dense().tolist() -> [[0.0, 0.0], [2.0, 0.0]]
get_device | A.{name}() -> -1
grad | W = ls.eye(2).requires_grad_(); (W @ x).sum().backward(); W.{name}.values().tolist() -> [2.0, 2.0]
grad_dtype | A.{name} -> torch.float32
grad_fn | A.{name} is None -> True
greater gt less logical_xor lt ne not_equal | A.{name}(A).to_dense().tolist() -> [[False, False], [False, False]]
greater_ gt_ less_ logical_xor_ lt_ ne_ not_equal_ sub_ subtract_ \
    | A.clone().{name}(A).to_dense().tolist() -> [[0.0, 0.0], [0.0, 0.0]]
heaviside heaviside_ | A.clone().{name}(torch.tensor(0.0)).nnz -> 2
histc | A.{name}(2).tolist() -> [2.0, 2.0]
igamma igammac | Q.{name}(Q).nnz -> 2
igamma_ igammac_ | Q.clone().{name}(Q).nnz -> 2
index_fill index_fill_ | A.clone().{name}(0, torch.tensor([1]), 0).to_dense().tolist() -> [[0.0, 2.0], [0.0, 0.0]]
index_add index_add_ | A.clone().{name}(0, torch.tensor([1]), A[1:]).to_dense().tolist() -> [[0.0, 2.0], [2.0, 0.0]]
index_select | A.{name}(0, torch.tensor([1])).to_dense().tolist() -> [[1.0, 0.0]]
is_coalesced | A.{name}() -> True
is_cpu | A.{name} -> True
is_meta | A.to("meta").{name} -> True
is_same_size | A.{name}(torch.ones(2, 2)) -> True
is_leaf | A.{name} -> True
is_nonzero | A.sum().{name}() -> True
is_pinned is_shared | A.{name}() -> False
is_sparse requires_grad | A.{name} -> False
item | A[:1, 1:].{name}() -> 2.0
kron | A.{name}(ls.eye(2)).shape -> torch.Size([4, 4])
kthvalue | A.{name}(2).values.tolist() -> [2.0, 1.0]
ldexp ldexp_ | A.clone().{name}(torch.tensor(1)).to_dense().tolist() -> [[0.0, 4.0], [2.0, 0.0]]
lerp | A.{name}(A, 0.5).to_dense().tolist() -> [[0.0, 2.0], [1.0, 0.0]]
lerp_ | A.clone().{name}(A, 0.5).to_dense().tolist() -> [[0.0, 2.0], [1.0, 0.0]]
log_softmax | A.{name}(1).to_dense().tolist() -> [[0.0, 0.0], [0.0, 0.0]]
logical_and logical_or | A.{name}(A).to_dense().tolist() -> [[False, True], [True, False]]
logical_and_ logical_or_ | A.clone().{name}(A).to_dense().tolist() -> [[0.0, 1.0], [1.0, 0.0]]
logical_not | A.{name}().to_dense().tolist() -> [[True, False], [False, True]]
logical_not_ | A.clone().{name}().to_dense().tolist() -> [[1.0, 0.0], [0.0, 1.0]]
logsumexp | A.{name}(1).tolist() -> [2.1269280910491943, 1.31326162815094]
map | A.{name}(torch.square).values().tolist() -> [4.0, 1.0]
masked_fill | A.{name}(A > 1, 5.0).to_dense().tolist() -> [[0.0, 5.0], [1.0, 0.0]]
masked_fill_ | A.clone().{name}(A > 1, 5.0).to_dense().tolist() -> [[0.0, 5.0], [1.0, 0.0]]
masked_select | A.{name}(A.to_dense() > 0).tolist() -> [2.0, 1.0]
matmul mm | A.{name}(x).tolist() -> [[2.0, 2.0], [1.0, 1.0]]
matrix_power | A.{name}(2).to_dense().tolist() -> [[2.0, 0.0], [0.0, 2.0]]
max | A.{name}() -> tensor(2.)
mean nanmean | A.{name}() -> tensor(0.7500)
median nanmedian | A.{name}(1).values.tolist() -> [0.0, 0.0]
min prod | A.{name}() -> tensor(0.)
module_load | A.clone().{name}(2 * A).to_dense().tolist() -> [[0.0, 4.0], [2.0, 0.0]]
moveaxis movedim swapaxes swapdims transpose | A.{name}(0, 1).to_dense().tolist() -> [[0.0, 1.0], [2.0, 0.0]]
mul multiply | A.{name}(A).to_dense().tolist() -> [[0.0, 4.0], [1.0, 0.0]]
mul_ multiply_ | A.clone().{name}(A).to_dense().tolist() -> [[0.0, 4.0], [1.0, 0.0]]
multinomial | A.{name}(1).tolist() -> [[1], [0]]
mv | A.{name}(torch.ones(2)).tolist() -> [2.0, 1.0]
mvlgamma polygamma | (A + 2).{name}(1).nnz -> 2
mvlgamma_ polygamma_ | (A + 2).{base}(1).nnz -> 2
nansum sum | A.{name}() -> tensor(3.)
narrow narrow_copy | A.{name}(0, 0, 1).to_dense().tolist() -> [[0.0, 2.0]]
ndim nnz | A.{name} -> 2
nelement numel | A.{name}() -> 4
new_empty new_ones new_zeros | A.{name}(2).shape -> torch.Size([2])
new_full | A.{name}((2,), 3.0).tolist() -> [3.0, 3.0]
new_tensor | A.{name}([1.0]).tolist() -> [1.0]
norm | A.{name}() -> tensor(2.2361)
numpy | A.to_dense().{name}().shape -> (2, 2)
pattern | A.{name} -> Pattern(shape=(2, 2), nnz=2, format='csr')
permute | A.{name}(1, 0).to_dense().tolist() -> [[0.0, 1.0], [2.0, 0.0]]
pin_memory | (A.{name}() if torch.cuda.is_available() else A).shape -> torch.Size([2, 2])
pos | A.{name}(1).tolist() -> [0, 1, 2]
quantile nanquantile | A.{name}(0.5, 1).tolist() -> [1.0, 0.5]
register_hook \
    | W = ls.eye(2).requires_grad_(); _ = W.{name}(torch.neg); W.sum().backward(); W.grad.sum().item() -> -2.0
register_post_accumulate_grad_hook \
    | W = ls.eye(2).requires_grad_(); _ = W.{name}(lambda w: print(w.grad.nnz)); W.sum().backward() -> 2
renorm renorm_ | A.clone().{name}(2, 0, 0.5).to_dense().round(decimals=3).tolist() -> [[0.0, 0.5], [0.5, 0.0]]
repeat tile | A.{name}(1, 2).to_dense().tolist() -> [[0.0, 2.0, 0.0, 2.0], [1.0, 0.0, 1.0, 0.0]]
repeat_interleave | A.{name}(2, 0).shape -> torch.Size([4, 2])
requires_grad_ | ls.eye(2).{name}().requires_grad -> True
reshape view | A.{name}(4).to_dense().tolist() -> [0.0, 2.0, 1.0, 0.0]
reshape_as view_as | A.{name}(x).shape -> torch.Size([2, 2])
retain_grad \
    | W = ls.eye(2).requires_grad_(); V = W * 2; V.{name}(); V.sum().backward(); V.grad.values().tolist() -> [1.0, 1.0]
roll | A.{name}(1, 0).to_dense().tolist() -> [[1.0, 0.0], [0.0, 2.0]]
row | A.{name}.tolist() -> [0, 1]
row_indices | A.to_format("csc").{name}().tolist() -> [1, 0]
select | A.{name}(0, 1).to_dense().tolist() -> [1.0, 0.0]
set_diag | A.{name}(torch.tensor([8.0, 9.0])).to_dense().tolist() -> [[8.0, 2.0], [1.0, 9.0]]
shape | A.{name} -> torch.Size([2, 2])
share_memory_ | A.{name}().is_shared() -> True
size | A.{name}() -> torch.Size([2, 2])
sparse_dim | A.{name}() -> 2
sparse_mask | A.{name}(A).to_dense().tolist() -> [[0.0, 2.0], [1.0, 0.0]]
split | [part.shape for part in A.{name}(1)] -> [torch.Size([1, 2]), torch.Size([1, 2])]
split_with_sizes | [part.shape for part in A.{name}([1, 1])] -> [torch.Size([1, 2]), torch.Size([1, 2])]
squeeze | A[:1].{name}(0).shape -> torch.Size([2])
std | A.{name}() -> tensor(0.9574)
sum_to_size | A.{name}(1, 2).tolist() -> [[1.0, 2.0]]
sub subtract | A.{name}(A).to_dense().tolist() -> [[0.0, 0.0], [0.0, 0.0]]
take | A.{name}(torch.tensor([1, 2])).tolist() -> [2.0, 1.0]
hsplit | [part.shape for part in A.{name}(2)] -> [torch.Size([2, 1]), torch.Size([2, 1])]
take_along_dim | A.{name}(torch.tensor([[1], [0]]), 1).tolist() -> [[2.0], [1.0]]
unique | A.{name}().tolist() -> [0.0, 1.0, 2.0]
vsplit | [part.shape for part in A.{name}(2)] -> [torch.Size([1, 2]), torch.Size([1, 2])]
dsplit | [part.shape for part in A[None].{name}(2)] -> [torch.Size([1, 2, 1]), torch.Size([1, 2, 1])]
tensor_split | [part.shape for part in A.{name}(2, 1)] -> [torch.Size([2, 1]), torch.Size([2, 1])]
to type | A.{name}(torch.float64).dtype -> torch.float64
to_dense | A.{name}().tolist() -> [[0.0, 2.0], [1.0, 0.0]]
to_format | A.{name}("coo").format -> Format('coo')
as_linear_operator | A.{name}().matvec([1.0, 1.0]).tolist() -> [2.0, 1.0]
to_scipy | A.{name}().format -> 'csr'
to_sparse to_sparse_coo to_sparse_csc to_sparse_csr | A.{name}().shape -> torch.Size([2, 2])
to_torch | A.{name}(torch.sparse_coo).shape -> torch.Size([2, 2])
topk | A.{name}(1).indices.tolist() -> [[1], [0]]
tolist | A.{name}() -> [[0.0, 2.0], [1.0, 0.0]]
trace | A.{name}().item() -> 0.0
tril | A.{name}().to_dense().tolist() -> [[0.0, 0.0], [1.0, 0.0]]
tril_ | A.clone().{name}().to_dense().tolist() -> [[0.0, 0.0], [1.0, 0.0]]
triu | A.{name}().to_dense().tolist() -> [[0.0, 2.0], [0.0, 0.0]]
triu_ | A.clone().{name}().to_dense().tolist() -> [[0.0, 2.0], [0.0, 0.0]]
type_as | A.{name}(torch.ones(1, dtype=torch.float64)).dtype -> torch.float64
unbind | [row.nnz for row in A.{name}()] -> [1, 1]
unflatten | A.{name}(0, (2, 1)).shape -> torch.Size([2, 1, 2])
unfold | A.{name}(1, 2, 1).shape -> torch.Size([2, 1, 2])
unsqueeze | A.{name}(0).shape -> torch.Size([1, 2, 2])
val | A.{name}.tolist() -> [2.0, 1.0]
values | A.{name}().tolist() -> [2.0, 1.0]
var | A.{name}() -> tensor(0.9167)
vdot | A[0].{name}(A[0]).item() -> 4.0
where | A.{name}(A > 1, 0.0).to_dense().tolist() -> [[0.0, 2.0], [0.0, 0.0]]
with_values | A.{name}(torch.tensor([5.0, 6.0])).to_dense().tolist() -> [[0.0, 5.0], [6.0, 0.0]]
zero_ | A.{name}().to_dense().tolist() -> [[0.0, 0.0], [0.0, 0.0]]
P.compressed | [array.tolist() for array in P.{name}(1)] -> [[0, 1, 2], [1, 0]]
P.converted | P.{name}(ls.Format("csc")).pattern.format == "csc" -> True
P.coordinates | P.{name}().tolist() -> [[0, 1], [1, 0]]
P.derive | P.{name}(("twice",), lambda: 2 * P.nnz) -> 4
P.entries P.spread | P.{name}(torch.tensor([5.0, 6.0])).tolist() -> [5.0, 6.0]
P.extents | P.{name} -> (2, 2)
P.ndim P.nnz | P.{name} -> 2
P.linear | P.{name}().tolist() -> [1, 2]
P.locate | [places.tolist() for places in P.{name}(P)] -> [[0, 1], [True, True]]
P.resample | P.{name}(torch.tensor([5.0, 6.0]), P).tolist() -> [5.0, 6.0]
P.statistics | P.{name} is not None -> True
P.tensors | [array.tolist() for array in P.{name}()] -> [[0, 1, 2], [1, 0]]
P.to_dense | P.{name}(torch.tensor([5.0, 6.0])).tolist() -> [[0.0, 5.0], [6.0, 0.0]]
P.transposed | P.{name}((1, 0)).format == "csc" -> True
P.united | P.{name}(P, lambda first, second: first) is P -> True
P.with_blocks | P.{name}((3,)).shape -> torch.Size([2, 2, 3])
F.permute | str(ls.Format("csr").{name}((1, 0))) -> 'csc'
F.compressed | ls.Format("csr").{name} -> Format('dcsr')
F.padded F.is_dense F.pads | ls.Format("csr").{name} -> False
F.writable | ls.Format("csr").{name} -> Format('csr')
F.sparse_levels | ls.Format("dsd").{name} -> 2
F.ndim | ls.Format("csr").{name} -> 2
F.kinds | [level.name for level in ls.Format("csr").{name}] -> ['dense', 'compressed']
F.resolve | ls.Format("coo").{name}(3) -> Format('coo')
S.parallelize | S.{name}("i").run().shape -> torch.Size([64, 64])
S.split S.divide | S.{name}("k", "k0", "k1", 16).run().shape -> torch.Size([64, 64])
S.reorder | S.{name}("i", "j", "k").run().shape -> torch.Size([64, 64])
S.run | S.{name}().shape -> torch.Size([64, 64])
S.explain | "forall" in str(S.{name}("concrete")) -> True
S.automatic | S.{name}()().shape -> torch.Size([64, 64])
S.prepare | S.{name}()().shape -> torch.Size([64, 64])
S.then | S.{name}("parallelize(i, threads)").run().shape -> torch.Size([64, 64])
S.prefetch | S.{name}("j", 16).run().shape -> torch.Size([64, 64])
S.ahead | S.{name}("j", "A0", 512).run().shape -> torch.Size([64, 64])
S.adjacent S.gather | S.{name}("j").run().shape -> torch.Size([64, 64])
S.order | S.{name}("i", "A0").run().shape -> torch.Size([64, 64])
S.unroll | S.bound("k", 64).{name}("k", 4).run().shape -> torch.Size([64, 64])
S.bound | S.{name}("k", 64).run().shape -> torch.Size([64, 64])
S.vectorize | S.reorder("i", "j", "k").{name}("k").run().shape -> torch.Size([64, 64])
S.request | isinstance(S.{name}(), dict) -> True
S.convert | S.{name}("A0", "csc").reorder("j", "i", "k").run().shape -> torch.Size([64, 64])
S.fuse | S.{name}("i", "k", "f").run().shape -> torch.Size([64, 64])
S.pos \
 | ls.schedule("ij,j->i", ls.eye(2), torch.ones(2)).fuse("i", "j", "f").{name}("f", "p", "A0").run() -> tensor([1., 1.])
S.precompute | S.{name}("all", "w", 2).run().shape -> torch.Size([64, 64])
S.mergeby | ls.schedule("i,i->", ls.tensor([0.0, 1.0]), ls.tensor([0.0, 2.0])).{name}("i", "gallop").run() -> tensor(2.)
S.assemble | ls.schedule("ij,ij->ij", ls.eye(2), ls.eye(2)).{name}("append").run().nnz -> 2
"""


def attach(owners: dict[str, type]) -> None:
    """Appends an example to the documentation of each method and property of classes that the table names.

    Args:
        owners: Classes by their letter in the table.
    """
    members = {
        owner: {n: v for base in cls.__mro__[::-1] for n, v in vars(base).items()} for owner, cls in owners.items()
    }
    done: set[int] = set()
    for line in _EXAMPLES.strip().splitlines():
        names, _, example = line.partition(" | ")
        shown = _shown(example)
        for name in names.split():
            owner, _, own = name.rpartition(".")
            attribute = members.get(owner, {}).get(own)  # torch has it or has it not, by version
            if attribute is not None and id(attribute) not in done:
                done.add(id(attribute))
                text = attribute.__doc__ or own
                last = text[text.rfind("\n") + 1 :]
                margin = "\n" + (last if last.isspace() else "")
                lines = shown.replace("{name}", own).replace("{base}", own.removesuffix("_"))
                attribute.__doc__ = text + f"\n\nExample:\n{lines}".replace("\n", margin)


def _shown(example: str) -> str:
    """An example as an interpreter shows it, with the places of names."""
    code, _, printed = example.partition(" -> ")
    words = _letters(code)
    setup = [line for operand, line in _OPERANDS.items() if operand in words]
    shown = [f"    >>> {line}" for line in (*setup, *code.split("; "))]
    return "\n".join([*shown, f"    {printed}"] if printed else shown)
