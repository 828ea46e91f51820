package libsparse

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// Random schedules: what autoschedule chose for a program, with commands left out and others put in between, as far as
// their preconditions hold. A command that can't be applied has to say so; it must not crash or change the meaning.

// relaid puts the modes of a dense operand or result that is not converted already into another order, for one program in four. What is
// drawn follows from the text of the program, so that the schedules of a seed stay what they were.
func relaid(n *Nest) string {
	text := n.Assignment.String()
	rng := rand.New(rand.NewPCG(uint64(len(text)), uint64(text[len(text)/2])))
	if rng.IntN(4) > 0 {
		return ""
	}
	t := pick(rng, append(slices.Clone(n.Operands), n.Assignment.LHS.Tensor))
	f := n.Assignment.Of(t).Format
	known := slices.ContainsFunc(n.Decision.Conversions, func(c autoschedule.Conversion) bool { return c.Tensor.Name == t.Name })
	if known || !f.Dense() || f.Order() < 2 {
		return ""
	}
	return schedule.Convert{Tensor: t.Name, To: format.Format{Levels: f.Levels, ModeOrder: rng.Perm(f.Order())}}.String() + "; "
}

// rescheduled is r with operands as autoschedule wants them stored, and a random schedule; nil where the program of r takes
// several steps.
func rescheduled(t testing.TB, rng *rand.Rand, r *Request, extents map[index.Var]int) *Request {
	s, err := Lower(r, avx2)
	if err != nil {
		t.Fatalf("%s: %v", describe(r), err)
	}
	if len(s.Nests) > 1 || len(s.Nests[0].Assignment.Vars()) == 0 {
		return nil
	}
	q := *r
	q.Operands = slices.Clone(r.Operands)
	q.Schedule = ";"
	if rng.IntN(2) == 0 {
		for _, c := range s.Nests[0].Decision.Conversions { // the schedule asks for them
			q.Schedule = schedule.Convert{Tensor: c.Tensor.Name, To: c.To}.String() + "; " + q.Schedule
		}
	} else {
		for i, o := range s.Nests[0].Operands {
			q.Operands[i].Format = s.Nests[0].Assignment.Of(o).Format.String()
		}
	}
	q.Schedule = relaid(s.Nests[0]) + q.Schedule
	conversions := q.Schedule
	divided, err := Divide(&q, s.Backend)
	if err != nil && diag.From(err).Kind == diag.Unsupported && strings.Contains(err.Error(), "takes several steps") {
		return nil // on operands in the formats that they are converted to
	}
	if err != nil {
		t.Fatalf("%s: %v", describe(&q), err)
	}
	base := divided.Nests[0]
	if err := run(base, NestStages()[:2], nil); err != nil {
		t.Fatalf("%s: %v", describe(&q), err)
	}
	g := &scheduler{t: t, rng: rng, naive: base.Naive, vars: base.Assignment.Vars(), extents: extents}
	var chosen []string
	for _, c := range s.Nests[0].Decision.Commands {
		chosen = append(chosen, c.String())
	}
	if g.try(chosen); g.commands == nil {
		return nil // what autoschedule does with the operands' patterns as they were is not possible with these
	}
	other := pick(rng, []string{", row)", ", scatter)", ", bitmap)", ", adaptive)", ", blocks)", ", list)", ", hash)"})
	stored := strings.NewReplacer(", row)", other, ", scatter)", other, ", bitmap)", other, ", adaptive)", other, ", blocks)", other, ", list)", other, ", hash)", other)
	g.try(strings.Split(stored.Replace(strings.Join(g.commands, "; ")), "; "))
	for range rng.IntN(4) {
		if len(g.commands) > 0 {
			at := rng.IntN(len(g.commands))
			g.try(slices.Delete(slices.Clone(g.commands), at, at+1))
		}
	}
	for range rng.IntN(3) {
		g.try(g.renamed())
	}
	for range 4 + rng.IntN(20) {
		g.try(slices.Insert(slices.Clone(g.commands), max(rng.IntN(len(g.commands)+1), rng.IntN(len(g.commands)+1)), g.command()))
	}
	q.Schedule = conversions + strings.Join(g.commands, "; ") + ";"
	if _, err := Lower(&q, avx2); err != nil && strings.Contains(err.Error(), "in order, and format") {
		return nil // only loops that are lowered show which levels they walk in no order
	}
	return &q
}

type scheduler struct {
	t        testing.TB
	rng      *rand.Rand
	naive    *cin.Program
	extents  map[index.Var]int
	vars     []index.Var // of the program, and those that commands made
	known    int         // how many of vars the program has
	commands []string
	made     int
}

// try keeps a list of commands if it is legal.
func (g *scheduler) try(commands []string) {
	defer func() { g.vars = g.vars[:max(g.known, len(g.naive.Source.Vars()))] }() // without those of what is refused
	script, err := schedule.Parse(strings.Join(commands, "; "))
	if err != nil {
		g.t.Fatalf("%v: %v", commands, err)
	}
	defer func() {
		if r := recover(); r != nil {
			g.t.Fatalf("%s: %s: %v\n%s", g.naive.Source, script, r, debug.Stack())
		}
	}()
	p, err := script.Apply(g.naive)
	if err == nil {
		err = p.Legal()
	}
	switch {
	case err == nil:
		g.commands, g.known = commands, len(g.vars)
	case diag.From(err).Kind != diag.Unsupported:
		g.t.Fatalf("%s: %v", script, err)
	}
}

func (g *scheduler) fresh() index.Var {
	g.made++
	v := index.Var(fmt.Sprintf("v%d", g.made))
	g.vars = append(g.vars, v)
	return v
}

// command draws one; names are made up last, so that no command derives a variable from one that it makes.
func (g *scheduler) command() string {
	v, w := pick(g.rng, g.vars), pick(g.rng, g.vars)
	accesses := index.Accesses(g.naive.Source.RHS)
	of := pick(g.rng, accesses).Tensor.Name
	switch g.rng.IntN(24) {
	case 0, 1:
		return fmt.Sprintf("split(%s, %s, %s, %d%s)", v, g.fresh(), g.fresh(), pick(g.rng, []int{1, 2, 3, 4, 8}), g.tail(v))
	case 2:
		return fmt.Sprintf("divide(%s, %s, %s, %d)", v, g.fresh(), g.fresh(), pick(g.rng, []int{1, 2, 3, 7}))
	case 3, 4:
		return fmt.Sprintf("fuse(%s, %s, %s)", v, w, g.fresh())
	case 5, 6:
		return fmt.Sprintf("pos(%s, %s, %s)", v, g.fresh(), of)
	case 7, 8:
		return fmt.Sprintf("reorder(%s, %s)", v, w)
	case 9:
		return fmt.Sprintf("unroll(%s, %d)", v, 2+g.rng.IntN(3))
	case 10:
		return fmt.Sprintf("vectorize(%s)", v)
	case 11:
		return fmt.Sprintf("parallelize(%s, threads%s)", v, pick(g.rng, []string{"", ", atomics", ", temporary"}))
	case 12, 13, 14, 15, 16:
		part := pick(g.rng, []string{"all", of, index.String(part(g.rng, g.naive.Source.RHS))})
		g.made++
		return fmt.Sprintf("precompute(%s, w%d, at=%d%s%s)", part, g.made, g.rng.IntN(4), pick(g.rng, []string{"", "", ", array", ", row", ", scatter", ", bitmap", ", adaptive", ", blocks", ", list", ", hash", ", lookup"}), g.renames())
	case 17:
		return fmt.Sprintf("prefetch(%s, %d%s)", v, 1+g.rng.IntN(20), pick(g.rng, []string{"", ", begin"}))
	case 18:
		return fmt.Sprintf("mergeby(%s, %s)", v, pick(g.rng, []string{"gallop", "gallop", "gallop", "choose", "twofinger"}))
	case 19:
		return fmt.Sprintf("order(%s, %s)", v, of)
	case 20:
		return fmt.Sprintf("ahead(%s, %s, %d)", v, of, 1+g.rng.IntN(600))
	case 21:
		return fmt.Sprintf("%s(%s)", pick(g.rng, []string{"adjacent", "gather"}), v)
	case 22:
		v = pick(g.rng, g.naive.Source.Vars())
		return fmt.Sprintf("bound(%s, %d, %d)", v, max(0, g.extents[v]-g.rng.IntN(3)), g.extents[v]+g.rng.IntN(4))
	default:
		return fmt.Sprintf("assemble(%s)", pick(g.rng, []string{"insert", "append", "bounded"}))
	}
}

// tail asks for shifted strips where the extent is known to allow them.
func (g *scheduler) tail(v index.Var) string {
	if !slices.Contains(g.naive.Source.Vars(), v) || g.extents[v] < 2 || g.rng.IntN(2) > 0 {
		return ""
	}
	return fmt.Sprintf(", tail=%d", 1+g.rng.IntN(2))
}

// renamed are the commands with new names in one of the workspaces.
func (g *scheduler) renamed() []string {
	commands := slices.Clone(g.commands)
	for i, c := range commands {
		if strings.HasPrefix(c, "precompute(") && !strings.Contains(c, "rename=") && g.rng.IntN(2) == 0 {
			commands[i] = strings.TrimSuffix(c, ")") + g.renames() + ")"
		}
	}
	return commands
}

// renames draws new names for the variables of a workspace, or none.
func (g *scheduler) renames() string {
	var pairs []string
	for range g.rng.IntN(4) {
		pairs = append(pairs, fmt.Sprintf("%s:%s", pick(g.rng, g.vars), g.fresh()))
	}
	if len(pairs) == 0 {
		return ""
	}
	return ", rename=" + strings.Join(pairs, " ")
}

// part is a subexpression.
func part(rng *rand.Rand, e index.Expr) index.Expr {
	if c, ok := e.(*index.Call); ok && rng.IntN(3) > 0 {
		return part(rng, pick(rng, c.Args))
	}
	return e
}
