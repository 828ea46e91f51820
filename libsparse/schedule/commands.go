package schedule

import (
	"strings"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// command reads the arguments of the command called name.
func (a *arguments) command(name string) Command {
	switch name {
	case "split":
		c := Split{Var: a.variable(), Outer: a.variable(), Inner: a.variable(), Factor: a.number(a.next("the factor"))}
		if tail, ok := a.option("tail"); ok {
			if c.Tail = a.number(tail); c.Tail < 1 {
				a.failf("a tail is at least 1")
			}
		}
		return c
	case "divide":
		return Divide{Var: a.variable(), Outer: a.variable(), Inner: a.variable(), Parts: a.number(a.next("the number of parts"))}
	case "fuse":
		return Fuse{Outer: a.variable(), Inner: a.variable(), Fused: a.variable()}
	case "pos":
		return Pos{Var: a.variable(), Pos: a.variable(), Of: string(a.variable())}
	case "bound":
		return Bound{Var: a.variable(), Extent: a.number(a.next("the extent"))}
	case "unroll":
		return Unroll{Var: a.variable(), Factor: a.number(a.next("the factor"))}
	case "vectorize":
		return Vectorize{Var: a.variable()}
	case "reorder":
		c := Reorder{}
		for len(a.parts) > 0 && a.err == nil {
			c.Vars = append(c.Vars, a.variable())
		}
		return c
	case "parallelize":
		c := Parallelize{Var: a.variable()}
		a.choice("threads")
		c.Race = cin.Race(a.choice(string(cin.Atomics), string(cin.Temporary)))
		return c
	case "convert":
		c := Convert{Tensor: string(a.variable())}
		text := strings.Join(a.parts, ",") // mode orders have commas
		f, err := format.Parse(text)
		if err != nil || f.Order() == 0 {
			a.failf("%q is no format", text)
		}
		a.parts, c.To = nil, f
		return c
	case "mergeby":
		c := MergeBy{Var: a.variable()}
		word := a.choice("gallop", "twofinger")
		if word == "" {
			a.failf("how is missing")
		}
		c.Gallop = word == "gallop"
		return c
	case "assemble":
		word := a.choice("insert", "append")
		if word == "" {
			a.failf("how is missing")
		}
		return Assemble{Insert: word == "insert"}
	default:
		return a.precompute()
	}
}

func (a *arguments) precompute() Command {
	c := Precompute{Of: a.next("the expression"), Name: string(a.variable())}
	if c.Of == "all" {
		c.Of = ""
	}
	at, ok := a.option("at")
	if !ok {
		a.failf("at is missing")
		return c
	}
	c.At = int(a.number(at))
	if c.Rename = a.renaming(); len(c.Rename) > 0 {
		return c // the last argument
	}
	c.Storage = cin.Storage(a.choice(string(cin.Tile), string(cin.Array), string(cin.Row), string(cin.List), string(cin.Hash)))
	c.Rename = a.renaming()
	return c
}

// renaming reads pairs of names, rename=i:iw j:jw.
func (a *arguments) renaming() (out []cin.Rename) {
	text, ok := a.option("rename")
	for _, pair := range strings.Fields(text) {
		of, as, _ := strings.Cut(pair, ":")
		if !isName(of) || !isName(as) {
			a.failf("%q is no pair of names such as i:iw", pair)
		}
		out = append(out, cin.Rename{Of: index.Var(of), As: index.Var(as)})
	}
	if ok && len(out) == 0 {
		a.failf("what to rename is missing")
	}
	return out
}
