package conformance

import (
	"fmt"
	"strconv"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// fixture is given data: the numbers that are not zero, by coordinate.
type fixture struct {
	shape  []int
	values map[string]float64
}

func (f *fixture) at(coord []int) (float64, bool) {
	v, ok := f.values[fmt.Sprint(coord)]
	return v, ok
}

// points makes a tensor from text such as "01:2 20:3", coordinates of one digit each.
func points(text string, shape ...int) *fixture {
	f := &fixture{shape: shape, values: map[string]float64{}}
	for field := range strings.FieldsSeq(text) {
		digits, value, _ := strings.Cut(field, ":")
		coord := make([]int, len(digits))
		for m, d := range digits {
			coord[m] = int(d - '0')
		}
		f.set(coord, value)
	}
	return f
}

func (f *fixture) set(coord []int, text string) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	f.values[fmt.Sprint(coord)] = v
}

// numbers makes a vector from text such as "1 0 2".
func numbers(text string) *fixture {
	values := strings.Fields(text)
	f := &fixture{shape: []int{len(values)}, values: map[string]float64{}}
	for i, v := range values {
		if v != "0" {
			f.set([]int{i}, v)
		}
	}
	return f
}

// scalar makes a number.
func scalar(v float64) *fixture { return &fixture{shape: []int{}, values: map[string]float64{"[]": v}} }

// rows makes a matrix from digits, rows separated by "/".
func rows(text string) *fixture {
	lines := strings.Split(text, "/")
	f := &fixture{shape: []int{len(lines), len(lines[0])}, values: map[string]float64{}}
	for i, line := range lines {
		for j, d := range line {
			if d != '0' {
				f.set([]int{i, j}, string(d))
			}
		}
	}
	return f
}

// The data of TACO's tests.
var (
	d33a  = points("01:2 20:3 22:4", 3, 3)
	d33b  = points("00:10 01:20 21:30", 3, 3)
	d5a   = points("1:2 4:3", 5)
	d5b   = points("0:10 1:20", 5)
	d233a = points("000:2 001:3 022:4 101:5 120:6 122:7", 2, 3, 3)
	d3a   = numbers("3 2 1")
	d3b   = numbers("2 0 3")
)

// The data of Scorch's tests.
var (
	e5  = rows("10000/02000/00300/00040/00005")
	n5  = rows("12345/22000/30300/40040/50005")
	a5  = rows("12345/22000/30300/00000/50005")
	b5  = rows("10000/02000/00000/00010/00031")
	v1  = numbers("1 0 2 0 3 0 4 0 5 0 8 4")
	v2  = numbers("2 2 2 2 2 0 0 0 0 0 1 2.5")
	t3a = points("000:1 012:2 020:3 201:4 210:5 211:6", 3, 3, 3)
	t3b = points("200:1 212:2 220:3 001:4 010:5 011:6", 3, 3, 3)
)

// expected compares a result with the arrays that a row wants, such as "pos1 0,2,3 crd1 0,1,0 val 1,2,3".
func (c *trial) expected(d *format.Data) string {
	fields := strings.Fields(c.row.want)
	for i := 0; i+1 < len(fields); i += 2 {
		if got := array(d, fields[i]); got != fields[i+1] {
			return fmt.Sprintf("%s: got %s, want %s", fields[i], got, fields[i+1])
		}
	}
	return ""
}

// array is one of the arrays of d as text.
func array(d *format.Data, name string) string {
	if name == "val" {
		return joined(d.Vals, func(v dtype.Value) string {
			if v.Int != 0 {
				return strconv.FormatInt(v.Int, 10)
			}
			return strconv.FormatFloat(real(v.Num), 'g', -1, 64)
		})
	}
	level := int(name[3] - '0')
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	if strings.HasPrefix(name, "pos") {
		return joined(d.Pos[level], number)
	}
	return joined(d.Crd[level], number)
}

// joined is numbers as a row writes them, "-" for none.
func joined[T any](values []T, text func(T) string) string {
	if len(values) == 0 {
		return "-"
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = text(v)
	}
	return strings.Join(parts, ",")
}
