package ir

import (
	"fmt"

	"libsparse/libsparse/dtype"
)

// Formula is the JSON form of an integer expression, for callers that evaluate it outside of a kernel, perhaps on whole arrays: a
// number, the name of a variable, or a list of an operator and its operands. An element of an array is a list of the array's
// name and the index. Conversions between integer types are left out.
//
// The operators are + - * / (of numbers that aren't negative), min and max, < <= > >= == !=, && and ||, hash (key, size; see HashOf)
// and select (condition, then, else).
func Formula(e Expr) any {
	switch e := e.(type) {
	case nil:
		return nil
	case *Int:
		return e.Value
	case *Var:
		return e.Name
	case *Load:
		return []any{e.Array.Name, Formula(e.Index)}
	case *Cast:
		return Formula(e.X)
	case *Binary:
		return []any{operators[e.Op], Formula(e.X), Formula(e.Y)}
	case *Compare:
		return []any{string(e.Op), Formula(e.X), Formula(e.Y)}
	case *Hash:
		return []any{"hash", Formula(e.Key), Formula(e.Size)}
	case *Select:
		return []any{"select", Formula(e.Cond), Formula(e.Then), Formula(e.Else)}
	default:
		panic(fmt.Sprintf("BUG: no formula for %T", e))
	}
}

var operators = map[dtype.Op]string{
	dtype.Add: "+", dtype.Sub: "-", dtype.Mul: "*", dtype.Div: "/", dtype.Min: "min", dtype.Max: "max", dtype.And: "&&", dtype.Or: "||",
}
