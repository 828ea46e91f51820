package ir

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"libsparse/libsparse/dtype"
)

// Binding strengths of the text of expressions.
const (
	bindSelect = iota
	bindOr
	bindAnd
	bindCompare
	bindAdd
	bindMul
	bindUnary
	bindAtom
)

// ExprText is e as readable text. Parentheses stand where the tree needs them, so distinct trees have distinct texts.
func ExprText(e Expr) string { return exprText(e, bindSelect) }

func exprText(e Expr, least int) string {
	text, bind := exprForm(e)
	if bind < least {
		return "(" + text + ")"
	}
	return text
}

// exprForm is the text of e and how strongly its root binds.
func exprForm(e Expr) (string, int) {
	switch e := e.(type) {
	case nil:
		return "<nil>", bindAtom
	case *Var:
		return e.Name, bindAtom
	case *Int:
		return intText(e), bindAtom
	case *Float:
		return floatText(e), bindAtom
	case *Load:
		return cell(e.Array, e.Index, e.Lanes), bindAtom
	case *Binary:
		return binaryText(e)
	case *Compare:
		return compareText(e)
	case *Unary:
		if e.Op != dtype.Neg {
			return fmt.Sprintf("%s(%s)", e.Op, ExprText(e.X)), bindAtom
		}
		return "-" + exprText(e.X, bindAtom), bindUnary
	case *Cast:
		return fmt.Sprintf("%s(%s)", e.To, ExprText(e.X)), bindAtom
	case *Select:
		return fmt.Sprintf("%s ? %s : %s", exprText(e.Cond, bindOr), exprText(e.Then, bindOr), exprText(e.Else, bindOr)), bindSelect
	case *Hash:
		return fmt.Sprintf("hash(%s, %s)", ExprText(e.Key), ExprText(e.Size)), bindAtom
	default:
		return vectorText(e), bindAtom
	}
}

// vectorText is the text of an expression that makes or takes apart vectors, or asks where they may be stored.
func vectorText(e Expr) string {
	switch e := e.(type) {
	case *Lanes:
		return fmt.Sprintf("%s{%s}", e.Gathering, listText(e.Of))
	case *Aligned:
		return fmt.Sprintf("aligned(%s, %d)", e.Array.Name, e.Bytes)
	case *ReduceLanes:
		return fmt.Sprintf("%s_lanes(%s)", e.Op, listText(e.Of))
	case *Tail:
		return fmt.Sprintf("tail(%s, %s, %s)", ExprText(e.X), ExprText(e.Count), ExprText(e.Else))
	case *Head:
		return fmt.Sprintf("head(%s, %s, %s)", ExprText(e.X), ExprText(e.Count), ExprText(e.Else))
	case *Where:
		return fmt.Sprintf("where(%s, %s, %s)", ExprText(e.X), ExprText(e.Of), ExprText(e.Else))
	default:
		panic(fmt.Sprintf("BUG: no text for expression %T", e))
	}
}

func listText(list []Expr) string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = ExprText(e)
	}
	return strings.Join(texts, ", ")
}

func binaryText(e *Binary) (string, int) {
	bind := bindAdd
	switch e.Op {
	case dtype.Add, dtype.Sub:
	case dtype.Mul, dtype.Div:
		bind = bindMul
	default:
		return fmt.Sprintf("%s(%s, %s)", e.Op, ExprText(e.X), ExprText(e.Y)), bindAtom
	}
	return fmt.Sprintf("%s %s %s", exprText(e.X, bind), e.Op.Infix(), exprText(e.Y, bind+1)), bind
}

func compareText(e *Compare) (string, int) {
	bind := bindCompare
	switch e.Op {
	case LogAnd:
		bind = bindAnd
	case LogOr:
		bind = bindOr
	}
	return fmt.Sprintf("%s %s %s", exprText(e.X, bind+1), e.Op, exprText(e.Y, bind+1)), bind
}

// cell is the text of one element, or of lanes elements, of an array.
func cell(a *Array, index Expr, lanes int) string {
	if lanes > 1 {
		return fmt.Sprintf("%s[%s :%d]", a.Name, ExprText(index), lanes)
	}
	return fmt.Sprintf("%s[%s]", a.Name, ExprText(index))
}

func intText(e *Int) string {
	switch {
	case e.T == dtype.Bool && e.Value != 0:
		return "true"
	case e.T == dtype.Bool:
		return "false"
	case e.T == dtype.I64:
		return strconv.FormatInt(e.Value, 10)
	default:
		return strconv.FormatInt(e.Value, 10) + string(e.T)
	}
}

func floatText(e *Float) string {
	if math.IsInf(e.Value, 0) {
		return map[bool]string{true: "inf", false: "-inf"}[e.Value > 0] + string(e.T)
	}
	return strconv.FormatFloat(e.Value, 'g', -1, 8*min(max(e.T.Real().Size(), 4), 8)) + string(e.T)
}
