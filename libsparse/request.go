package libsparse

import (
	"regexp"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Request is what Compile is asked for. Its JSON form is what the C interface and the executable take.
type Request struct {
	// Spec is an einsum, Expr an assignment; one of them is set.
	Spec     string    `json:"spec,omitempty"`
	Expr     string    `json:"expr,omitempty"`
	Operands []Operand `json:"operands"`
	Output   Output    `json:"output"`
	// Reduce and Combine are the operators of an einsum; empty means sum and mul.
	Reduce  string `json:"reduce,omitempty"`
	Combine string `json:"combine,omitempty"`
	// Schedule is what to do in place of what autoschedule would choose; operands are then used as they are stored.
	Schedule string `json:"schedule,omitempty"`
	Target   Target `json:"target"`
	// Key names the request in the cache's table of requests; empty means that it is not entered.
	Key string `json:"request_key,omitempty"`
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
	// SamePattern is the earlier operand whose index arrays this one shares, or -1.
	SamePattern *int `json:"same_pattern,omitempty"`
}

// Output says what is wanted of the result; what is empty is inferred.
type Output struct {
	Format string `json:"format,omitempty"`
	Dtype  string `json:"dtype,omitempty"`
	Index  string `json:"index,omitempty"`
	// PatternOf asks for exactly that operand's pattern; entries without a term are zero.
	PatternOf *int `json:"pattern_of,omitempty"`
}

// Target is where the kernel will run and with what it is compiled.
type Target struct {
	// CPU identifies the processor; it is part of every cache key.
	CPU string `json:"cpu,omitempty"`
	// CC is the C compiler, or empty to look for one in Path.
	CC   string `json:"cc,omitempty"`
	Path string `json:"path,omitempty"`
	// OpenMP is the runtime that the process has loaded, or empty for the compiler's own.
	OpenMP   string `json:"openmp,omitempty"`
	CacheDir string `json:"cache_dir,omitempty"`
}

// assignment turns a request into index notation.
func (r *Request) assignment() (*index.Assignment, []*index.Tensor, error) {
	operands := make([]*index.Tensor, len(r.Operands))
	names := map[string]bool{"out": r.Expr == ""}
	for i, o := range r.Operands {
		if !identifier.MatchString(o.Name) || names[o.Name] {
			return nil, nil, diag.Errorf(diag.Syntax, "operand %d can't be called %q: names are letters and digits, each given once", i, o.Name)
		}
		names[o.Name] = true
		t, err := o.tensor(i, operands[:i])
		if err != nil {
			return nil, nil, err
		}
		operands[i] = t
	}
	a, err := r.parse(operands, &index.Tensor{Name: "out", Index: dtype.I32})
	return a, operands, err
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *Request) parse(operands []*index.Tensor, result *index.Tensor) (*index.Assignment, error) {
	if r.Expr != "" {
		return r.parseExpr(operands, result)
	}
	combine, err := operator(r.Combine, dtype.Mul)
	if err != nil {
		return nil, err
	}
	reduce, err := operator(r.Reduce, dtype.Add)
	if err != nil {
		return nil, err
	}
	return index.ParseEinsum(r.Spec, operands, result, combine, reduce)
}

// parseExpr reads an assignment; operands are found by name, the result by its absence from them.
func (r *Request) parseExpr(operands []*index.Tensor, result *index.Tensor) (*index.Assignment, error) {
	used := map[string]bool{}
	a, err := index.ParseAssignment(r.Expr, func(name string, _ int, isResult bool) (*index.Tensor, error) {
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
		result.Name = name
		return result, nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range operands {
		if !used[t.Name] {
			return nil, diag.Errorf(diag.Syntax, "expression %q: operand %s is not used", r.Expr, t.Name)
		}
	}
	return a, nil
}

func operator(name string, otherwise dtype.Op) (dtype.Op, error) {
	switch name {
	case "":
		return otherwise, nil
	case "sum":
		return dtype.Add, nil
	case "prod":
		return dtype.Mul, nil
	case "any":
		return dtype.Or, nil
	case "all":
		return dtype.And, nil
	}
	op := dtype.Op(name)
	if op.Arity() != 2 {
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

func (o Operand) tensor(i int, earlier []*index.Tensor) (*index.Tensor, error) {
	f, err := format.Parse(o.Format)
	if err != nil {
		return nil, err
	}
	t := &index.Tensor{Name: o.Name, Format: f, PatternOnly: o.PatternOnly, Extents: o.Shape, NNZ: o.NNZ, Index: dtype.I32}
	var ok bool
	if t.Elem, ok = dtype.Parse(o.Dtype); !ok {
		return nil, diag.Errorf(diag.Dtype, "operand %d (%s) has dtype %q; the types are %v", i, o.Name, o.Dtype, dtype.All())
	}
	if o.Index != "" {
		if t.Index, err = indexType(o.Index); err != nil {
			return nil, err
		}
	}
	if len(o.Shape) != f.Order() {
		return nil, diag.Errorf(diag.Shape, "operand %d (%s) has %d extents and format %q of order %d", i, o.Name, len(o.Shape), o.Format, f.Order())
	}
	if s := o.SamePattern; s != nil && *s >= 0 {
		if *s >= i || !earlier[*s].Format.Equal(f) {
			return nil, diag.Errorf(diag.Format, "operand %d (%s) can't share the pattern of operand %d", i, o.Name, *s)
		}
		t.SamePattern = earlier[*s]
	}
	return t, nil
}
