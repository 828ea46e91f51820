package schedule

import (
	"regexp"
	"strconv"
	"strings"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
)

// Script is a schedule as text: commands as they print, separated by semicolons or new lines; # starts a comment.
type Script struct {
	Text     string
	Commands []Command
	spans    []diag.Span
}

func (s *Script) String() string {
	lines := make([]string, len(s.Commands))
	for i, c := range s.Commands {
		lines[i] = c.String()
	}
	return strings.Join(lines, "; ")
}

// Apply runs the commands; errors are located in the text.
func (s *Script) Apply(p *cin.Program) (*cin.Program, error) {
	q, at, err := apply(p, s.Commands)
	if err != nil && len(s.spans) > 0 {
		return nil, diag.From(err).At(s.spans[at].Start, s.spans[at].End)
	}
	return q, err
}

// Parse reads a schedule.
func Parse(text string) (*Script, error) {
	s := &Script{Text: text}
	for start := 0; start < len(text); {
		end := start
		for end < len(text) && text[end] != ';' && text[end] != '\n' {
			end++
		}
		if command, _, _ := strings.Cut(text[start:end], "#"); strings.TrimSpace(command) != "" {
			begin := start + len(command) - len(strings.TrimLeft(command, " \t\r"))
			span := diag.Span{Start: begin, End: begin + len(strings.TrimSpace(command))}
			c, err := parseCommand(strings.TrimSpace(command))
			if err != nil {
				return nil, diag.From(err).At(span.Start, span.End)
			}
			s.Commands, s.spans = append(s.Commands, c), append(s.spans, span)
		}
		if end < len(text) && text[end] == ';' && strings.Contains(text[start:end], "#") {
			for end < len(text) && text[end] != '\n' { // a comment goes on to the end of its line
				end++
			}
		}
		start = end + 1
	}
	return s, nil
}

// arguments of one command, read from the left.
type arguments struct {
	text  string
	parts []string
	usage string
	err   error
}

// usages is how each command is written.
var usages = map[string]string{
	"split": "split(i, i0, i1, 16[, tail=4[, joined]])", "divide": "divide(i, i0, i1, 4)", "fuse": "fuse(i, j, f)",
	"pos": "pos(j, jp, A)", "reorder": "reorder(i, j, ...)", "bound": "bound(i, 16[, 23])", "unroll": "unroll(i, 4)",
	"prefetch": "prefetch(j, 16[, begin])", "ahead": "ahead(j, A, 512)", "adjacent": "adjacent(j)", "gather": "gather(j)", "order": "order(i, A)", "vectorize": "vectorize(i)", "parallelize": "parallelize(i, threads[, atomics|temporary])",
	"precompute": "precompute(all|EXPRESSION, w, at=1[, tile|array|row|scatter|bitmap|bytemap|blocks|adaptive|list|hash|lookup][, rename=i:iw ...])", "assemble": "assemble(insert|append|bounded)",
	"convert": "convert(A, ds:1,0[, values])", "mergeby": "mergeby(i, gallop|choose|twofinger)",
}

// names lists the commands in the order in which help texts have them.
var names = []string{
	"reorder", "split", "divide", "fuse", "pos", "bound", "precompute", "unroll", "prefetch", "ahead", "adjacent", "gather", "order", "vectorize", "parallelize", "assemble", "convert", "mergeby",
}

// Usage is one line a command.
func Usage() []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = usages[n]
	}
	return out
}

func parseCommand(text string) (Command, error) {
	name, rest, ok := strings.Cut(text, "(")
	name = strings.TrimSpace(name)
	usage, known := usages[name]
	if !known {
		return nil, diag.Errorf(diag.Syntax, "schedule: there is no command %q; the commands are %s", name, strings.Join(names, ", "))
	}
	if !ok || !strings.HasSuffix(rest, ")") {
		return nil, diag.Errorf(diag.Syntax, "schedule: %s: expected %s", text, usage)
	}
	a := &arguments{text: text, usage: usage, parts: cutArguments(strings.TrimSuffix(rest, ")"))}
	c := readers[name](a)
	if a.err == nil && len(a.parts) > 0 {
		a.failf("too many arguments")
	}
	return c, a.err
}

// cutArguments divides at the commas outside parentheses.
func cutArguments(text string) []string {
	var out []string
	depth, start := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(text[start:i]))
				start = i + 1
			}
		}
	}
	if last := strings.TrimSpace(text[start:]); last != "" || len(out) > 0 {
		out = append(out, last)
	}
	return out
}

func (a *arguments) failf(format string, args ...any) {
	if a.err == nil {
		a.err = diag.Errorf(diag.Syntax, "schedule: %s: "+format+"; expected %s", append(append([]any{a.text}, args...), a.usage)...)
	}
}

func (a *arguments) next(what string) string {
	if len(a.parts) == 0 {
		a.failf("%s is missing", what)
		return ""
	}
	out := a.parts[0]
	a.parts = a.parts[1:]
	return out
}

var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func isName(text string) bool { return name.MatchString(text) }

func (a *arguments) variable() index.Var {
	v := a.next("a variable")
	if a.err == nil && !isName(v) {
		a.failf("%q is no variable", v)
	}
	return index.Var(v)
}

func (a *arguments) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		a.failf("%q is no integer", text)
	}
	return n
}

// option is the value of the next argument if it is key=value.
func (a *arguments) option(key string) (value string, ok bool) {
	if len(a.parts) == 0 {
		return "", false
	}
	k, v, ok := strings.Cut(a.parts[0], "=")
	if !ok || strings.TrimSpace(k) != key {
		return "", false
	}
	a.parts = a.parts[1:]
	return strings.TrimSpace(v), true
}

// choice is the next argument if it is one of several words.
func (a *arguments) choice(words ...string) string {
	if len(a.parts) == 0 {
		return ""
	}
	for _, w := range words {
		if a.parts[0] == w {
			a.parts = a.parts[1:]
			return w
		}
	}
	a.failf("%q is none of %s", a.parts[0], strings.Join(words, ", "))
	return ""
}
