package space

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
)

// constraint is a condition on the values of some parameters.
type constraint struct {
	text   string
	params []int // that it reads, ascending
	holds  func(Point) float64
}

// words are operators as Python spells them, which scenarios of other tuners are written in.
var words = regexp.MustCompile(`\b(and|or)\b`)

// parseConstraint reads an expression of numbers and parameters with + - * / %, comparisons, & | ! and parentheses.
//
// The element of a permutation p at position 2 is p_2, the position of its element 2 is p_i2.
func parseConstraint(text string, params []*Parameter) (*constraint, error) {
	if strings.Contains(text, "//") || strings.Contains(text, "/*") { // comments of Go's
		return nil, diag.Errorf(diag.Syntax, "constraint %q has an operation that is none: write (x - x %% y) / y for x // y", text)
	}
	inGo := words.ReplaceAllStringFunc(text, func(word string) string {
		return map[string]string{"and": "&&", "or": "||"}[word]
	})
	tree, err := parser.ParseExpr(inGo)
	if err != nil {
		return nil, diag.Errorf(diag.Syntax, "constraint %q can't be read: %v", text, err)
	}
	c := &constraint{text: text}
	c.holds, err = c.compile(tree, params)
	if err != nil {
		return nil, err
	}
	slices.Sort(c.params)
	c.params = slices.Compact(c.params)
	return c, nil
}

// compile makes a function of a tree: 1 and 0 stand for true and false.
func (c *constraint) compile(tree ast.Expr, params []*Parameter) (func(Point) float64, error) {
	switch e := tree.(type) {
	case *ast.ParenExpr:
		return c.compile(e.X, params)
	case *ast.BasicLit:
		value, err := strconv.ParseFloat(e.Value, 64)
		if err != nil {
			return nil, diag.Errorf(diag.Syntax, "constraint %q: %s is no number", c.text, e.Value)
		}
		return func(Point) float64 { return value }, nil
	case *ast.Ident:
		return c.read(e.Name, params)
	case *ast.UnaryExpr:
		x, err := c.compile(e.X, params)
		if err != nil {
			return nil, err
		}
		switch e.Op {
		case token.SUB:
			return func(p Point) float64 { return -x(p) }, nil
		case token.NOT:
			return func(p Point) float64 { return truth(x(p) == 0) }, nil
		}
	case *ast.BinaryExpr:
		return c.binary(e, params)
	}
	return nil, c.unknown()
}

func (c *constraint) binary(e *ast.BinaryExpr, params []*Parameter) (func(Point) float64, error) {
	operation, known := operations[e.Op]
	if !known {
		return nil, c.unknown()
	}
	if isComparison(e) && (isComparison(e.X) || isComparison(e.Y)) {
		return nil, diag.Errorf(diag.Syntax, "constraint %q compares a comparison: write a < b & b < c, or parentheses", c.text)
	}
	x, err := c.compile(e.X, params)
	if err != nil {
		return nil, err
	}
	y, err := c.compile(e.Y, params)
	if err != nil {
		return nil, err
	}
	return func(p Point) float64 { return operation(x(p), y(p)) }, nil
}

func (c *constraint) unknown() error {
	return diag.Errorf(diag.Syntax, "constraint %q has an operation that is none of + - * / %% == != < <= > >= & | !", c.text)
}

// allows reports whether a point satisfies c; what is no number is not true.
func (c *constraint) allows(at Point) bool {
	value := c.holds(at)
	return value != 0 && !math.IsNaN(value)
}

func isComparison(tree ast.Expr) bool {
	e, ok := tree.(*ast.BinaryExpr)
	return ok && slices.Contains([]token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}, e.Op)
}

func truth(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

var operations = map[token.Token]func(x, y float64) float64{
	token.ADD:  func(x, y float64) float64 { return x + y },
	token.SUB:  func(x, y float64) float64 { return x - y },
	token.MUL:  func(x, y float64) float64 { return x * y },
	token.QUO:  func(x, y float64) float64 { return x / y },
	token.REM:  math.Mod,
	token.EQL:  func(x, y float64) float64 { return truth(x == y) },
	token.NEQ:  func(x, y float64) float64 { return truth(x != y) },
	token.LSS:  func(x, y float64) float64 { return truth(x < y) },
	token.LEQ:  func(x, y float64) float64 { return truth(x <= y) },
	token.GTR:  func(x, y float64) float64 { return truth(x > y) },
	token.GEQ:  func(x, y float64) float64 { return truth(x >= y) },
	token.AND:  func(x, y float64) float64 { return truth(x != 0 && y != 0) },
	token.OR:   func(x, y float64) float64 { return truth(x != 0 || y != 0) },
	token.LAND: func(x, y float64) float64 { return truth(x != 0 && y != 0) },
	token.LOR:  func(x, y float64) float64 { return truth(x != 0 || y != 0) },
}

// read is the value of a parameter, or of an element or a position of a permutation.
func (c *constraint) read(name string, params []*Parameter) (func(Point) float64, error) {
	for number, param := range params {
		if param.Name == name && param.Kind != Permutation {
			c.params = append(c.params, number)
			switch param.Kind {
			case Ordinal:
				values := param.Values
				return func(p Point) float64 { return values[int(p[number])] }, nil
			case Categorical:
				return categoryValue(param, number), nil
			default:
				return func(p Point) float64 { return p[number] }, nil
			}
		}
		rest, isPart := strings.CutPrefix(name, param.Name+"_")
		if param.Kind != Permutation || !isPart {
			continue
		}
		parts := param.orders
		if digits, isPlace := strings.CutPrefix(rest, "i"); isPlace {
			rest, parts = digits, param.places
		}
		if k, err := strconv.Atoi(rest); err == nil && k >= 0 && k < param.Length {
			c.params = append(c.params, number)
			return func(p Point) float64 { return float64(parts[int(p[number])][k]) }, nil
		}
	}
	return nil, diag.Errorf(diag.Syntax, "constraint %q reads %q, which is no parameter; of a permutation p write p_0 or p_i0", c.text, name)
}

// categoryValue is the label of a categorical parameter where it is a number, else the number of the choice.
func categoryValue(param *Parameter, number int) func(Point) float64 {
	values := make([]float64, len(param.Labels))
	for choice, label := range param.Labels {
		value, err := strconv.ParseFloat(label, 64)
		if err != nil {
			value = float64(choice)
		}
		values[choice] = value
	}
	return func(p Point) float64 { return values[int(p[number])] }
}
