package schedule

import (
	"strings"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// readers read the arguments of a command, by its name.
var readers = map[string]func(a *arguments) Command{
	"split": (*arguments).split,
	"divide": func(a *arguments) Command {
		return Divide{Var: a.variable(), Outer: a.variable(), Inner: a.variable(), Parts: a.number(a.next("the number of parts"))}
	},
	"fuse": func(a *arguments) Command {
		return Fuse{Outer: a.variable(), Inner: a.variable(), Fused: a.variable()}
	},
	"pos": func(a *arguments) Command {
		return Pos{Var: a.variable(), Pos: a.variable(), Of: string(a.variable())}
	},
	"bound": func(a *arguments) Command {
		c := Exactly(a.variable(), a.number(a.next("the extent")))
		if len(a.parts) > 0 {
			c.Most = a.number(a.next("the largest extent"))
		}
		return c
	},
	"unroll": func(a *arguments) Command {
		return Unroll{Var: a.variable(), Factor: a.number(a.next("the factor"))}
	},
	"prefetch": func(a *arguments) Command {
		return Prefetch{Var: a.variable(), Distance: a.number(a.next("the distance")), Begin: a.choice("begin") != ""}
	},
	"ahead": func(a *arguments) Command {
		return Ahead{Var: a.variable(), Of: string(a.variable()), Distance: a.number(a.next("the distance"))}
	},
	"adjacent":    func(a *arguments) Command { return Adjacent{Var: a.variable()} },
	"gather":      func(a *arguments) Command { return Gather{Var: a.variable()} },
	"order":       func(a *arguments) Command { return Order{Var: a.variable(), Of: string(a.variable())} },
	"vectorize":   func(a *arguments) Command { return Vectorize{Var: a.variable()} },
	"reorder":     (*arguments).reorder,
	"parallelize": (*arguments).parallelize,
	"convert":     (*arguments).convert,
	"mergeby":     (*arguments).mergeBy,
	"assemble":    (*arguments).assemble,
	"precompute":  (*arguments).precompute,
}

func (a *arguments) assemble() Command {
	switch a.choice("insert", "append", "bounded") {
	case "insert":
		return Assemble{Insert: true}
	case "bounded":
		return Assemble{Bounded: true}
	case "":
		a.failf("how is missing")
	}
	return Assemble{}
}

func (a *arguments) split() Command {
	c := Split{Var: a.variable(), Outer: a.variable(), Inner: a.variable(), Factor: a.number(a.next("the factor"))}
	if tail, ok := a.option("tail"); ok {
		if c.Tail = a.number(tail); c.Tail < 1 {
			a.failf("a tail is at least 1")
		}
		c.Joined = a.choice("joined") != ""
	}
	return c
}

func (a *arguments) reorder() Command {
	c := Reorder{}
	for len(a.parts) > 0 && a.err == nil {
		c.Vars = append(c.Vars, a.variable())
	}
	return c
}

func (a *arguments) parallelize() Command {
	c := Parallelize{Var: a.variable()}
	a.choice("threads")
	c.Race = cin.Race(a.choice(string(cin.Atomics), string(cin.Temporary)))
	return c
}

func (a *arguments) convert() Command {
	c := Convert{Tensor: string(a.variable())}
	if n := len(a.parts); n > 1 && a.parts[n-1] == "values" {
		a.parts, c.Values = a.parts[:n-1], true
	}
	text := strings.Join(a.parts, ",") // mode orders have commas
	f, err := format.Parse(text)
	if err != nil || f.Order() == 0 {
		a.failf("%q is no format", text)
	}
	a.parts, c.To = nil, f
	return c
}

func (a *arguments) mergeBy() Command {
	c := MergeBy{Var: a.variable()}
	switch a.choice("gallop", "choose", "twofinger") {
	case "gallop":
		c.Gallop = true
	case "choose":
		c.Choose = true
	case "":
		a.failf("how is missing")
	}
	return c
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
	c.Storage = cin.Storage(a.choice(string(cin.Tile), string(cin.Array), string(cin.Row), string(cin.Scatter),
		string(cin.Bitmap), string(cin.Bytemap), string(cin.Blocks), string(cin.Adaptive), string(cin.List), string(cin.Hash), string(cin.Lookup)))
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
