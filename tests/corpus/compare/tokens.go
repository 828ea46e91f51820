package main

import (
	"regexp"
)

var (
	comment = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	library = regexp.MustCompile(`(?m)^(#include|#define|typedef __U?(INT|SIZE)|[a-z][\w *]+\([\w *,]*\);$).*`)
	token   = regexp.MustCompile(`[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\S`)
	name    = regexp.MustCompile(`^[A-Za-z_]`)
)

// tokens splits C into names, numbers, strings and signs, without comments, space and declarations of the C library.
func tokens(source string) []string {
	return token.FindAllString(library.ReplaceAllString(comment.ReplaceAllString(source, " "), " "), -1)
}

// outcome says how the C of two versions relates.
type outcome int

const (
	identical outcome = iota // every token is the same
	renamed                  // one renaming, one to one, turns the one into the other
	different
)

// compareC compares two texts by their tokens; at is the first token that no renaming explains, -1 if there is none.
func compareC(base, now string) (result outcome, at int) {
	a, b := tokens(base), tokens(now)
	forth, back := map[string]string{}, map[string]string{}
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if name.MatchString(x) && name.MatchString(y) {
			to, known := forth[x]
			from, taken := back[y]
			if known != taken || known && (to != y || from != x) {
				return different, i
			}
			forth[x], back[y] = y, x
		} else if x != y {
			return different, i
		}
		if x != y {
			result = renamed
		}
	}
	if len(a) != len(b) {
		return different, min(len(a), len(b))
	}
	return result, -1
}
