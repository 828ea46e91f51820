package ir

import (
	"fmt"

	"libsparse/libsparse/dtype"
)

// Formula is the JSON form of an integer expression, for callers that evaluate it outside of a kernel, perhaps on whole arrays: a
// number, the name of a variable, or a list of an operator and its operands. An element of an array is a list of the array's
// name and the index. Conversions between integer types are left out. Variables and arrays in names are given other names.
//
// The operators are + - * / (of numbers that aren't negative), min and max, < <= > >= == !=, && and ||, hash (key, size; see HashOf)
// and select (condition, then, else).
func Formula(e Expr, names map[string]string) any {
	switch e := e.(type) {
	case nil:
		return nil
	case *Int:
		return e.Value
	case *Var:
		return named(e.Name, names)
	case *Load:
		return []any{named(e.Array.Name, names), Formula(e.Index, names)}
	case *Cast:
		return Formula(e.X, names)
	case *Binary:
		return []any{operators[e.Op], Formula(e.X, names), Formula(e.Y, names)}
	case *Compare:
		return []any{string(e.Op), Formula(e.X, names), Formula(e.Y, names)}
	case *Hash:
		return []any{"hash", Formula(e.Key, names), Formula(e.Size, names)}
	case *Select:
		return []any{"select", Formula(e.Cond, names), Formula(e.Then, names), Formula(e.Else, names)}
	default:
		panic(fmt.Sprintf("BUG: no formula for %T", e))
	}
}

func named(name string, names map[string]string) string {
	if other, ok := names[name]; ok {
		return other
	}
	return name
}

var operators = map[dtype.Op]string{
	dtype.Add: "+", dtype.Sub: "-", dtype.Mul: "*", dtype.Div: "/", dtype.Min: "min", dtype.Max: "max", dtype.And: "&&", dtype.Or: "||",
}
