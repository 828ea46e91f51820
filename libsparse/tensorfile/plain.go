package tensorfile

import "libsparse/libsparse/dtype"

// plain reads lines as nearly all writers make them: indices without a sign, one number or none, spaces or tabs between,
// no comment. They are most of any file, and take half the time that the general way takes.
type plain struct {
	limits []int
	number bool // each line ends with a number
	whole  bool // and it is an integer
}

// plain is the way to read plain lines; without one, all lines are read the general way.
func (c *columns) plain() (p plain, ok bool) {
	tens.Do(computeTens)
	return plain{limits: c.limits, number: numbers(c.elem) == 1, whole: c.elem == dtype.I64}, !c.elem.IsComplex() && len(c.limits) > 0
}

// row reads the line at the start of text; it returns the length of the line with its end, or 0 where the line isn't plain.
func (l *plain) row(text []byte, coord []int64) (length int, v dtype.Value) {
	at := 0
	for m, limit := range l.limits {
		first, n := at, int64(0)
		for at < len(text) && text[at]-'0' <= 9 {
			n = 10*n + int64(text[at]-'0')
			at++
		}
		if at == first || at-first > plainDigits || n < 1 || n > int64(limit) {
			return 0, v
		}
		coord[m] = n - 1
		at = skipBlanks(text, at)
	}
	if l.number {
		n, ok := 0, false
		if l.whole {
			n = wordEnd(text[at:], 0)
			var err error
			v.Int, err = integer(text[at : at+n])
			ok = err == nil
		} else {
			var x float64
			x, n, ok = decimal(text[at:])
			v.Num = complex(x, 0)
		}
		if !ok {
			return 0, v
		}
		at += n
	}
	if at < len(text) && text[at] == '\r' {
		at++
	}
	if at < len(text) && text[at] != '\n' {
		return 0, v
	}
	return min(at+1, len(text)), v
}

func skipBlanks(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}
