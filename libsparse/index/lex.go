package index

import (
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
)

type kind int

const (
	end kind = iota
	name
	number
	sign
)

type token struct {
	kind       kind
	text       string
	start, end int
}

func (p *parser) next() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t' || p.text[p.at] == '\n') {
		p.at++
	}
	start, k := p.at, sign
	switch {
	case p.at == len(p.text):
		k = end
	case isLetter(p.text[p.at]):
		k = name
		for p.at < len(p.text) && (isLetter(p.text[p.at]) || isDigit(p.text[p.at])) {
			p.at++
		}
	case isDigit(p.text[p.at]) || p.text[p.at] == '.':
		k = number
		p.number()
	case strings.HasPrefix(p.text[p.at:], "//"):
		p.at += 2
	default:
		p.at++
	}
	p.tok = token{kind: k, text: p.text[start:p.at], start: start, end: p.at}
}

// number skips digits, a point and an exponent.
func (p *parser) number() {
	for p.at < len(p.text) {
		c := p.text[p.at]
		signed := (c == '+' || c == '-') && (p.text[p.at-1] == 'e' || p.text[p.at-1] == 'E')
		if !isDigit(c) && c != '.' && c != 'e' && c != 'E' && !signed {
			return
		}
		p.at++
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func (p *parser) unexpected(want string) error {
	got := strconv.Quote(p.tok.text)
	if p.tok.kind == end {
		got = "the end"
	}
	return diag.Errorf(diag.Syntax, "expression %q: expected %s at column %d, found %s", p.text, want, p.tok.start+1, got).
		At(p.tok.start, p.tok.end)
}

// called reports whether a parenthesis follows the current token.
func (p *parser) called() bool {
	rest := strings.TrimLeft(p.text[p.tok.end:], " \t\n")
	return strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "[")
}

func (p *parser) accept(text string) bool {
	if p.tok.kind != sign || p.tok.text != text {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return p.unexpected(strconv.Quote(text))
	}
	return nil
}
