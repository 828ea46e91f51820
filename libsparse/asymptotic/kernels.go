package asymptotic

import (
	"iter"
	"slices"
	"strings"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// Kernel is one loop nest of a program, as input of the compiler: an assignment over tensors in the formats that the protocols need,
// and the commands for its loop order and workspace. Tuners add tiles, threads and lanes.
type Kernel struct {
	Assignment bind.Assignment
	Commands   []schedule.Command
}

// Schedules yields the programs of the frontier that the compiler can run, class by class, with their kernels.
func (f *Frontier) Schedules() iter.Seq2[*Program, []Kernel] {
	return func(yield func(*Program, []Kernel) bool) {
		for _, c := range f.Classes {
			for _, p := range c.Programs {
				if steps, err := p.Kernels(); err == nil && !yield(p, steps) {
					return
				}
			}
		}
	}
}

// Kernels turns the program into schedules, one for each nest; temporaries between nests become tensors. It refuses
// programs that need what the compiler doesn't have: sparse levels that are located in, a where inside another's nest,
// or different orders of the same loops on both sides of a where with loops around it.
func (p *Program) Kernels() ([]Kernel, error) {
	s := &lowerer{program: p, storage: p.Source.Table, between: map[*index.Tensor]bool{}}
	err := s.sequence(p.Body)
	return s.kernels, err
}

type lowerer struct {
	program *Program
	storage *bind.Table
	between map[*index.Tensor]bool // workspaces between nests
	kernels []Kernel
}

// sequence adds the kernels of a where without loops around it, the producer's first, or of a single nest.
func (s *lowerer) sequence(st cin.Stmt) error {
	w, ok := st.(*cin.Where)
	if !ok {
		return s.nest(st)
	}
	held := cin.Written(w.Producer).Tensor
	f, err := s.temporary(held, w.Consumer)
	if err != nil {
		return err
	}
	stored := bind.Storage{Format: f, Index: dtype.I32}
	for _, v := range cin.Written(w.Producer).Vars {
		stored.Extents = append(stored.Extents, s.program.Source.Extent(v))
	}
	s.storage, s.between[held] = s.storage.With(held, stored), true
	if err := s.sequence(w.Producer); err != nil {
		return err
	}
	return s.sequence(w.Consumer)
}

// temporary is the format of a workspace between nests, from the protocols of its reader.
func (s *lowerer) temporary(t *index.Tensor, reader cin.Stmt) (format.Format, error) {
	switch r := reader.(type) {
	case *cin.Forall:
		return s.temporary(t, r.Body)
	case *cin.Where:
		if f, err := s.temporary(t, r.Consumer); err != nil || f.Levels != nil {
			return f, err
		}
		return s.temporary(t, r.Producer)
	case *cin.Assign:
		for _, a := range index.Accesses(r.RHS) {
			if a.Tensor == t {
				return s.program.levels(a), nil
			}
		}
	}
	return format.Format{}, nil
}

// levels is the format with the protocols of an access: a mode that is stepped over is compressed, one that is located in is dense.
func (p *Program) levels(a *index.Access) format.Format {
	f := format.Format{Levels: []format.Level{}, ModeOrder: p.Order[a]}
	for _, m := range p.Order[a] {
		if p.Protocols[a][m] == Step {
			f.Levels = append(f.Levels, format.Compressed{Unique: true})
		} else {
			f.Levels = append(f.Levels, format.Dense{})
		}
	}
	return f
}

// nest adds the kernel of loops around an assignment or around one where.
func (s *lowerer) nest(st cin.Stmt) error {
	loops, body := perfect(st)
	w, split := body.(*cin.Where)
	var inside []*index.Access // the accesses of the producer
	if split {
		inside = index.Accesses(cin.Value(w.Producer))
	}
	var inner []*index.Tensor
	var failed error
	notation := &index.Assignment{Reduce: s.program.Source.Reduce, LHS: cin.Written(st)}
	notation.RHS = index.Replace(cin.Value(st), func(acc *index.Access) index.Expr {
		out, err := s.operand(acc)
		if err != nil {
			failed = err
		}
		if slices.Contains(inside, acc) {
			inner = append(inner, out.Tensor)
		}
		return out
	})
	if failed != nil {
		return failed
	}
	a := bind.Assignment{Assignment: notation, Table: s.storage}
	k := Kernel{Assignment: a, Commands: []schedule.Command{schedule.Reorder{Vars: loops}}}
	if split {
		var err error
		if len(inner) == len(index.Accesses(a.RHS)) {
			inner = nil // all of it
		}
		if k.Commands, err = s.precomputed(loops, w, inner); err != nil {
			return err
		}
	}
	scheduled, err := schedule.Apply(cin.Concretize(a), k.Commands)
	if err != nil && !split { // entries that come in another order than they are stored are collected first
		k.Commands = append(k.Commands, collected(a, loops))
		_, err = schedule.Apply(cin.Concretize(a), k.Commands)
		if err == nil {
			s.kernels = append(s.kernels, k)
		}
		return err
	}
	if err != nil {
		return err
	}
	if nests(scheduled.Body) != nests(st) {
		return s.refuse("no commands lead to %s", s.program)
	}
	s.kernels = append(s.kernels, k)
	return nil
}

// collected is the command for the workspace of a result that is inserted into.
func collected(a bind.Assignment, loops []index.Var) schedule.Command {
	order := a.Result().Format.ModeOrder
	at := 0
	for at < len(order) && at < len(loops) && loops[at] == a.LHS.Vars[order[at]] {
		at++
	}
	at = min(at, len(order)-1)
	storage := cin.List
	if at == len(order)-1 {
		storage = cin.Row
	}
	return schedule.Precompute{At: at, Name: "w", Storage: storage}
}

// precomputed lists the commands for a where inside loops; its producer reads the given tensors.
func (s *lowerer) precomputed(loops []index.Var, w *cin.Where, of []*index.Tensor) ([]schedule.Command, error) {
	consumer, _ := perfect(w.Consumer)
	producer, _ := perfect(w.Producer)
	order, ok := merge(consumer, producer)
	if !ok {
		return nil, s.refuse("the sides of %s want their loops in different orders", s.program)
	}
	held := cin.Written(w.Producer)
	if len(held.Vars) > 1 {
		return nil, s.refuse("workspace %s has more than one mode inside a nest", held)
	}
	storage := cin.Tile
	if len(held.Vars) == 1 {
		storage = cin.Row
	}
	return []schedule.Command{
		schedule.Reorder{Vars: slices.Concat(loops, order)},
		schedule.Precompute{Of: factors(of), At: len(loops), Name: held.Tensor.Name, Storage: storage},
	}, nil
}

// factors is the text by which a command names some factors of a product.
func factors(of []*index.Tensor) string {
	names := make([]string, len(of))
	for i, t := range of {
		names[i] = t.Name
	}
	return strings.Join(names, "*")
}

func (s *lowerer) refuse(text string, args ...any) error {
	return diag.Errorf(diag.Unsupported, "frontier: "+text, args...)
}

// operand is a read of a copy of a's tensor in the format that the protocols need.
func (s *lowerer) operand(a *index.Access) (*index.Access, error) {
	protocols, ok := s.program.Protocols[a]
	if !ok || s.between[a.Tensor] {
		return a, nil
	}
	stepped := false
	for _, m := range s.program.Order[a] {
		if protocols[m] == Locate && stepped {
			return a, s.refuse("%s is located in below a sparse level; no level can be", a)
		}
		stepped = stepped || protocols[m] == Step
	}
	if !stepped {
		return a, s.refuse("%s would be made dense", a)
	}
	t, stored := *a.Tensor, *s.storage.Of(a.Tensor)
	stored.Format, stored.SamePattern = s.program.levels(a), nil
	s.storage = s.storage.With(&t, stored)
	return &index.Access{Tensor: &t, Vars: a.Vars}, nil
}

// perfect is the loops around a statement and the statement in them.
func perfect(s cin.Stmt) ([]index.Var, cin.Stmt) {
	var loops []index.Var
	for {
		f, ok := s.(*cin.Forall)
		if !ok {
			return loops, s
		}
		loops, s = append(loops, f.Var), f.Body
	}
}

// merge is an order of all variables that contains both a and b as subsequences.
func merge(a, b []index.Var) ([]index.Var, bool) {
	var out []index.Var
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) > 0 && !slices.Contains(b, a[0]):
			out, a = append(out, a[0]), a[1:]
		case len(b) > 0 && !slices.Contains(a, b[0]):
			out, b = append(out, b[0]), b[1:]
		case len(a) > 0 && len(b) > 0 && a[0] == b[0]:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		default:
			return nil, false
		}
	}
	return out, true
}

// nests prints the loops of a statement, so that the loops of two can be compared.
func nests(s cin.Stmt) string {
	switch s := s.(type) {
	case *cin.Forall:
		return string(s.Var) + " " + nests(s.Body)
	case *cin.Where:
		return "(" + nests(s.Consumer) + "where " + nests(s.Producer) + ")"
	case *cin.Assign:
		return s.LHS.Tensor.Name + " "
	default:
		return ""
	}
}
