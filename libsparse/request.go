package libsparse

import (
	"maps"
	"regexp"
	"slices"

	"libsparse/cache"
	"libsparse/libsparse/backend"
	"libsparse/libsparse/bind"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Request is an expression to compile. Its JSON form is what the C interface and the executable take.
type Request struct {
	// Spec is an einsum, Expr an assignment; one of them is set.
	Spec     string    `json:"spec,omitempty"`
	Expr     string    `json:"expr,omitempty"`
	Operands []Operand `json:"operands"`
	Output   Output    `json:"output"`
	// Reduce and Combine are the operators of an einsum, or of a plain "=" and of "*"; empty means sum and mul.
	Reduce  string `json:"reduce,omitempty"`
	Combine string `json:"combine,omitempty"`
	// Schedule is what to do in place of what autoschedule would choose; operands are then used as they are stored.
	Schedule string `json:"schedule,omitempty"`
	// Functions are the caller's own, which the expression and later ones of them may call.
	Functions []Function `json:"functions,omitempty"`
	// Priors has operands scheduled as if nobody had counted their entries.
	Priors bool   `json:"priors,omitempty"`
	Target Target `json:"target"`
	// Key names the request in the cache's table of requests; empty means that it is not entered.
	Key string `json:"request_key,omitempty"`
}

// Function defines a function of the caller: what it is in which region of its arguments, the first that fits.
type Function struct {
	Name   string           `json:"name"`
	Params []string         `json:"params"`
	Cases  []index.CaseText `json:"cases"`
}

// Operand describes one tensor of a request.
type Operand struct {
	Name        string `json:"name"`
	Format      string `json:"format"`
	Dtype       string `json:"dtype"`
	PatternOnly bool   `json:"pattern_only,omitempty"`
	Index       string `json:"index,omitempty"`
	// Shape and NNZ are representatives of size classes; the scheduler reads them.
	Shape []int64 `json:"shape"`
	NNZ   int64   `json:"nnz,omitempty"`
	// Filled is how many coordinates of the first level have entries, where that is known.
	Filled int64 `json:"filled,omitempty"`
	// Skew and Reach say how the entries are spread, where that is known; see bind.Statistics.
	Skew  []int64 `json:"skew,omitempty"`
	Reach int64   `json:"reach,omitempty"`
	// Scattered says that the coordinates of neighbouring entries are seldom neighbours.
	Scattered bool `json:"scattered,omitempty"`
	// Far says that they are, and that caches don't keep the entries, which are several in a row.
	Far bool `json:"far,omitempty"`
	// Uneven says that the lengths of neighbouring rows differ, and can't be foreseen.
	Uneven bool `json:"uneven,omitempty"`
	// Adjacent says that neighbouring rows of slices mostly have neighbouring coordinates at each step.
	Adjacent bool `json:"adjacent,omitempty"`
	// Strip is how many rows of a dense operand a thread turns into a panel at a time, where a product reads it across its rows.
	Strip int64 `json:"strip,omitempty"`
	// SamePattern is the earlier operand whose index arrays this one shares, or -1.
	SamePattern *int `json:"same_pattern,omitempty"`
}

// Output is the wanted properties of the result; empty ones are inferred.
type Output struct {
	Format string `json:"format,omitempty"`
	Dtype  string `json:"dtype,omitempty"`
	Index  string `json:"index,omitempty"`
	// PatternOf asks for exactly that operand's pattern; entries without a term are zero.
	PatternOf *int `json:"pattern_of,omitempty"`
	// Temporary says that nobody sees the result, so that it may be dense where that takes less.
	Temporary bool `json:"temporary,omitempty"`
	// Step says that the expression is a part of a computation already, which is not divided again.
	Step bool `json:"step,omitempty"`
	// Divided says that each step is to be a kernel of its own: each is differentiated by itself.
	Divided bool `json:"divided,omitempty"`
	// Counted says that the entries of a sparse result are counted before they are written, since an upper bound of their number is
	// too much memory.
	Counted bool `json:"counted,omitempty"`
	// Few says that the patterns of operands have been used few times, and perhaps won't be used again.
	Few bool `json:"few,omitempty"`
}

// Target is where the kernel will run and with what it is compiled.
type Target struct {
	// CPU identifies the processor; it is part of every cache key.
	CPU string `json:"cpu,omitempty"`
	// Caches are the sizes in bytes of the caches beyond the first level, the nearest first; empty if they aren't known.
	Caches []int64 `json:"caches,omitempty"`
	// CC is the C compiler, or empty to look for one in Path.
	CC   string `json:"cc,omitempty"`
	Path string `json:"path,omitempty"`
	// OpenMP is the runtime that the process has loaded, or empty for the compiler's own.
	OpenMP string `json:"openmp,omitempty"`
	// Level names the instructions to compile for in place of those of CPU, for processes with any runtime.
	Level    string `json:"level,omitempty"`
	CacheDir string `json:"cache_dir,omitempty"`
	// CacheBytes is how much the cache may take; 0 leaves it to the cache.
	CacheBytes int64 `json:"cache_bytes,omitempty"`
}

func (t Target) cacheBytes() int64 {
	if t.CacheBytes > 0 {
		return t.CacheBytes
	}
	return cache.DefaultBytes
}

// Tools is the tools that a backend builds kernels for t with.
func (t Target) Tools() backend.Tools {
	return backend.Tools{Compiler: t.CC, Path: t.Path, Threads: t.OpenMP, Level: t.Level}
}

// program turns a request into index notation, with the storage of the operands.
func (r *Request) program() ([]*index.Assignment, []*index.Tensor, *bind.Table, error) {
	var storage *bind.Table
	operands := make([]*index.Tensor, len(r.Operands))
	names := map[string]bool{"out": r.Expr == ""}
	for i, o := range r.Operands {
		if !identifier.MatchString(o.Name) || names[o.Name] {
			return nil, nil, nil, diag.Errorf(diag.Syntax, "operand %d can't be called %q: names are letters and digits, each given once", i, o.Name)
		}
		names[o.Name] = true
		if r.Priors {
			o.NNZ, o.Filled, o.Skew, o.Reach, o.Scattered, o.Far, o.Uneven, o.Adjacent, o.Strip = 0, 0, nil, 0, false, false, false, false, 0
		}
		t, s, err := o.tensor(i, operands[:i], storage)
		if err != nil {
			return nil, nil, nil, err
		}
		operands[i], storage = t, storage.With(t, s)
	}
	program, err := r.parse(operands, storage)
	return program, operands, storage, err
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *Request) parse(operands []*index.Tensor, storage *bind.Table) ([]*index.Assignment, error) {
	combine, err := operator(r.Combine, dtype.Mul)
	if err != nil {
		return nil, err
	}
	reduce, err := reduction(r.Reduce)
	if err != nil {
		return nil, err
	}
	if r.Expr != "" {
		return r.parseExpr(operands, combine, reduce)
	}
	a, err := index.ParseEinsum(r.Spec, operands, &index.Tensor{Name: "out"}, combine, reduce)
	if err != nil {
		return nil, err
	}
	for i, acc := range index.Accesses(a.RHS) {
		if f := storage.Of(acc.Tensor).Format; len(acc.Vars) != f.Order() {
			return nil, diag.Errorf(diag.Shape, "operand %d (%s) has %d indices, but its format %q has %d modes", i, acc, len(acc.Vars), f, f.Order())
		}
	}
	a.RHS = index.Named(a.RHS)
	return []*index.Assignment{a}, nil
}

// parseExpr reads assignments; operands are found by name, results by their absence from them.
func (r *Request) parseExpr(operands []*index.Tensor, combine, reduce dtype.Op) ([]*index.Assignment, error) {
	functions, err := r.Library()
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	program, err := index.Grammar{Functions: functions, Combine: combine, Reduce: reduce, Lookup: func(name string, _ int, isResult bool) (*index.Tensor, error) {
		for _, t := range operands {
			switch {
			case t.Name != name:
			case isResult:
				return nil, diag.Errorf(diag.Syntax, "expression %q: the result %s is also an operand", r.Expr, name)
			case used[name]:
				return nil, diag.Errorf(diag.Unsupported, "expression %q: operand %s is read twice; pass it under two names", r.Expr, name)
			default:
				used[name] = true
				return t, nil
			}
		}
		if !isResult {
			return nil, diag.Errorf(diag.Syntax, "expression %q: there is no operand %s", r.Expr, name)
		}
		return &index.Tensor{Name: name, Elem: promoted(operands)}, nil
	}}.Parse(r.Expr)
	if err != nil {
		return nil, err
	}
	for _, a := range program {
		a.RHS = index.Named(a.RHS)
	}
	for _, t := range operands {
		if !used[t.Name] {
			return nil, diag.Errorf(diag.Syntax, "expression %q: operand %s is not used", r.Expr, t.Name)
		}
	}
	return program, nil
}

// promoted is the type of the operands with values, which the caller has promoted to one.
func promoted(operands []*index.Tensor) dtype.T {
	for _, t := range operands {
		if !t.PatternOnly {
			return t.Elem
		}
	}
	return dtype.Bool
}

// Library is the functions that the request's expression can call: those of the compiler, and its own.
func (r *Request) Library() (map[string]*index.Function, error) {
	known := index.Library()
	if len(r.Functions) > 0 {
		known = maps.Clone(known)
	}
	for _, f := range r.Functions {
		if !identifier.MatchString(f.Name) || known[f.Name] != nil || dtype.Op(f.Name).Arity() > 0 {
			return nil, diag.Errorf(diag.Syntax, "a function can't be called %q: names are letters and digits, none the library's or given twice", f.Name)
		}
		for i, p := range f.Params {
			if !identifier.MatchString(p) || slices.Contains(f.Params[:i], p) {
				return nil, diag.Errorf(diag.Syntax, "a parameter of %s can't be called %q: names are letters and digits, each given once", f.Name, p)
			}
		}
		function, err := index.NewFunction(f.Name, f.Params, f.Cases, known)
		if err != nil {
			return nil, err
		}
		known[f.Name] = function
	}
	return known, nil
}

func reduction(name string) (dtype.Op, error) {
	if name == "" {
		return dtype.Add, nil
	}
	op, ok := index.Reduction(name)
	if !ok {
		return "", diag.Errorf(diag.Unsupported, "there is no reduction %q; there are sum, prod, min, max, any, all, xor and mean", name)
	}
	return op, nil
}

func operator(name string, otherwise dtype.Op) (dtype.Op, error) {
	if name == "" {
		return otherwise, nil
	}
	op := dtype.Op(name)
	if f := index.Library()[name]; op.Arity() != 2 && (f == nil || len(f.Params) != 2) {
		return "", diag.Errorf(diag.Unsupported, "there is no operator %q", name)
	}
	return op, nil
}

// indexType reads the type of positions and coordinates.
func indexType(name string) (dtype.T, error) {
	if t, ok := dtype.Parse(name); ok && (t == dtype.I32 || t == dtype.I64) {
		return t, nil
	}
	return dtype.Invalid, diag.Errorf(diag.Dtype, "the index type %q has to be i32 or i64", name)
}

// format is the format of an operand: of one that is only a pattern, also that of a selection of rows.
func (o Operand) format() (format.Format, error) {
	if o.PatternOnly && o.Format == format.Selection.String() {
		return format.Selection, nil
	}
	return format.Parse(o.Format)
}

// tensor is operand i of a request with its storage; that of the earlier ones is known.
func (o Operand) tensor(i int, earlier []*index.Tensor, known *bind.Table) (*index.Tensor, bind.Storage, error) {
	t := &index.Tensor{Name: o.Name, PatternOnly: o.PatternOnly}
	s := bind.Storage{
		Index:      dtype.I32,
		Statistics: bind.Statistics{Extents: o.Shape, NNZ: o.NNZ, Filled: o.Filled, Skew: o.Skew, Reach: o.Reach, Scattered: o.Scattered, Far: o.Far, Uneven: o.Uneven, Adjacent: o.Adjacent, Strip: o.Strip},
	}
	var err error
	if s.Format, err = o.format(); err != nil {
		return t, s, err
	}
	var ok bool
	if t.Elem, ok = dtype.Parse(o.Dtype); !ok {
		return t, s, diag.Errorf(diag.Dtype, "operand %d (%s) has dtype %q; the types are %v", i, o.Name, o.Dtype, dtype.All())
	}
	if o.Index != "" {
		if s.Index, err = indexType(o.Index); err != nil {
			return t, s, err
		}
	}
	if n := s.Format.Order(); len(o.Shape) != n {
		return t, s, diag.Errorf(diag.Shape, "operand %d (%s) has %d extents and format %q of order %d", i, o.Name, len(o.Shape), o.Format, n)
	}
	if k := o.SamePattern; k != nil && *k >= 0 {
		if *k >= i || !known.Of(earlier[*k]).Format.SameEntries(s.Format) {
			return t, s, diag.Errorf(diag.Format, "operand %d (%s) can't share the pattern of operand %d", i, o.Name, *k)
		}
		s.SamePattern = earlier[*k]
	}
	return t, s, nil
}
