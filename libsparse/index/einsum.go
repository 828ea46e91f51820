package index

import (
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// ParseEinsum reads "ij,jk->ik": letters for variables, one term an operand, and an explicit or implicit output. The
// implicit output holds the variables that occur once, in alphabetical order. names are the operands' names.
func ParseEinsum(spec string, operands []*Tensor, result *Tensor, combine, reduce dtype.Op) (*Assignment, error) {
	inputs, output, explicit := strings.Cut(spec, "->")
	terms := strings.Split(inputs, ",")
	if len(terms) != len(operands) {
		return nil, diag.Errorf(diag.Syntax, "einsum %q has %d terms and %d operands; give one term an operand",
			spec, len(terms), len(operands))
	}
	var rhs Expr
	at := 0
	count := map[Var]int{}
	for i, term := range terms {
		vars, err := einsumVars(spec, term, at)
		if err != nil {
			return nil, err
		}
		at += len(term) + 1
		for _, v := range vars {
			count[v]++
		}
		acc := &Access{Tensor: operands[i], Vars: vars}
		if rhs == nil {
			rhs = acc
		} else {
			rhs = Term(combine, rhs, acc)
		}
	}
	out, err := einsumOutput(spec, output, explicit, at+1, count)
	if err != nil {
		return nil, err
	}
	return &Assignment{LHS: &Access{Tensor: result, Vars: out}, Reduce: reduce, RHS: rhs}, nil
}

func einsumOutput(spec, output string, explicit bool, at int, count map[Var]int) ([]Var, error) {
	if !explicit {
		var out []Var
		for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" {
			if count[Var(c)] == 1 {
				out = append(out, Var(c))
			}
		}
		return out, nil
	}
	out, err := einsumVars(spec, output, at)
	if err != nil {
		return nil, err
	}
	seen := map[Var]bool{}
	for _, v := range out {
		if seen[v] {
			return nil, diag.Errorf(diag.Syntax, "einsum %q: the output repeats index %q", spec, string(v)).At(at, len(spec))
		}
		seen[v] = true
		if count[v] == 0 {
			return nil, diag.Errorf(diag.Syntax, "einsum %q: the output index %q is in no operand", spec, string(v)).At(at, len(spec))
		}
	}
	return out, nil
}

func einsumVars(spec, term string, at int) ([]Var, error) {
	var vars []Var
	for i := range len(term) {
		c := term[i]
		switch {
		case c == ' ':
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			vars = append(vars, Var(c))
		default:
			return nil, diag.Errorf(diag.Syntax, "einsum %q: %q is no index; indices are letters", spec, term[i:i+1]).
				At(at+i, at+i+1)
		}
	}
	return vars, nil
}
