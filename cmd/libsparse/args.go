package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"libsparse/libsparse"
	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// defaultExtent is the extent of an index that no -d names, defaultFill how many entries a row of a sparse operand has.
const (
	defaultExtent = 4096
	defaultFill   = 16
)

// options are what the flags say of an expression's tensors, by name.
type options struct {
	formats, types map[string]string
	extents        map[string]int64
}

// requestFromArgs makes a request from an assignment in TACO's syntax and flags such as -f=A:ds:1,0.
func requestFromArgs(expr string, flags []string) (*libsparse.Request, error) {
	o := options{formats: map[string]string{}, types: map[string]string{}, extents: map[string]int64{}}
	for _, flag := range flags {
		if err := o.set(flag); err != nil {
			return nil, err
		}
	}
	r := &libsparse.Request{Expr: expr}
	seen := map[string]bool{}
	_, err := index.ParseAssignment(expr, func(name string, order int, result bool) (*index.Tensor, error) {
		if result {
			r.Output.Format = o.formats[name]
			r.Output.Dtype = o.types[name]
		} else if order > 0 || o.formats[name] != "" || len(name) > 1 {
			if !seen[name] {
				seen[name] = true
				r.Operands = append(r.Operands, o.operand(name, order))
			}
		} else {
			return nil, diag.Errorf(diag.Syntax, "%s is no tensor", name) // an index variable as a value
		}
		return &index.Tensor{Name: name, Format: format.AllDense(order)}, nil
	})
	if err != nil {
		return nil, err
	}
	folder, err := os.UserCacheDir()
	r.Target = libsparse.Target{Path: os.Getenv("PATH"), CC: os.Getenv("LIBSPARSE_CC"), CacheDir: filepath.Join(folder, "libsparse")}
	if dir := os.Getenv("LIBSPARSE_CACHE_DIR"); dir != "" || err != nil {
		r.Target.CacheDir = dir
	}
	return r, o.shape(r)
}

// set reads one flag.
func (o options) set(flag string) error {
	name, value, ok := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	key, rest, pair := strings.Cut(value, ":")
	if !ok || !pair || !strings.HasPrefix(flag, "-") {
		return diag.Errorf(diag.Syntax, "%q is no option; the options are -f=TENSOR:FORMAT[:MODES] -t=TENSOR:DTYPE -d=INDEX:EXTENT", flag)
	}
	switch name {
	case "f":
		o.formats[key] = rest
	case "t":
		o.types[key] = rest
	case "d":
		n, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || n < 0 {
			return diag.Errorf(diag.Syntax, "%q: %q is no extent", flag, rest)
		}
		o.extents[key] = n
	default:
		return diag.Errorf(diag.Syntax, "%q is no option; the options are -f -t -d", flag)
	}
	return nil
}

func (o options) operand(name string, order int) libsparse.Operand {
	op := libsparse.Operand{Name: name, Format: o.formats[name], Dtype: o.types[name]}
	if op.Format == "" {
		op.Format = strings.Repeat("d", order)
	}
	if op.Dtype == "" {
		op.Dtype = "f32"
	}
	return op
}

// shape gives the operands representative extents, once the whole expression is known.
func (o options) shape(r *libsparse.Request) error {
	a, err := index.ParseAssignment(r.Expr, func(name string, order int, _ bool) (*index.Tensor, error) {
		return &index.Tensor{Name: name, Format: format.AllDense(order)}, nil
	})
	if err != nil {
		return err
	}
	for _, acc := range index.Accesses(a.RHS) {
		for i := range r.Operands {
			if r.Operands[i].Name == acc.Tensor.Name {
				o.fill(&r.Operands[i], acc.Vars)
			}
		}
	}
	return nil
}

func (o options) fill(op *libsparse.Operand, vars []index.Var) {
	op.Shape, op.NNZ = nil, defaultFill
	for m, v := range vars {
		n, ok := o.extents[string(v)]
		if !ok {
			n = defaultExtent
		}
		op.Shape = append(op.Shape, autoschedule.SizeClass(n))
		if m == 0 {
			op.NNZ *= n
		}
	}
}
