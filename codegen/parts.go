package codegen

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// head is how a function of a module begins in C; the work of a parallel region, or of a part of it, stands before the function that it is for.
var head = regexp.MustCompile(`(?m)^(static void \w+_work|static __attribute__\(\(noinline\)\) void \w+_part|int32_t \w+)\(int64_t \*slots`)

// parts divides C that Emit has written into at most most files with about as much text, each with what stands before all functions: C
// compilers that run beside each other are done sooner than one.
func parts(source string, most int) (files []string) {
	begins := head.FindAllStringIndex(source, -1)
	if len(begins) == 0 {
		return []string{source}
	}
	var functions []string
	for k, at := range begins {
		text := source[at[0]:]
		if k+1 < len(begins) {
			text = source[at[0]:begins[k+1][0]]
		}
		if k > 0 && strings.HasPrefix(source[begins[k-1][0]:], "static") {
			functions[len(functions)-1] += text
		} else {
			functions = append(functions, text)
		}
	}
	slices.SortStableFunc(functions, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	files = make([]string, min(most, len(functions)))
	for _, text := range functions {
		least := slices.MinFunc(files, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
		files[slices.Index(files, least)] += text
	}
	for k := range files {
		files[k] = source[:begins[0][0]] + files[k]
	}
	return files
}
