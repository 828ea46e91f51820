package schedule

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// MergeBy says how a loop that visits several levels together goes from one coordinate to the next: each level by one entry
// at a time, as two fingers do, or past whatever the others don't store, by searches in growing steps (Gallop). That pays
// where one of them stores far fewer coordinates than another. Of a union of two levels, the value of each case may be computed, and one be
// chosen without a branch (Choose), which pays where nothing foretells which level has the next coordinate; elsewhere that does nothing.
type MergeBy struct {
	Var            index.Var
	Gallop, Choose bool
}

func (c MergeBy) String() string {
	how := "twofinger"
	switch {
	case c.Gallop:
		how = "gallop"
	case c.Choose:
		how = "choose"
	}
	return fmt.Sprintf("mergeby(%s, %s)", c.Var, how)
}

// Apply implements Command. Of a workspace's two loops over the variable it is the one that can gallop.
func (c MergeBy) Apply(p *cin.Program) (*cin.Program, error) {
	why := ""
	able := false
	q, err := mark(c, p, c.Var, func(f *cin.Forall) {
		if reason := stiff(p, f); c.Gallop && reason != "" {
			why = reason
			return
		}
		f.Gallop, f.Choose, able = c.Gallop, c.Choose, true
	})
	if err == nil && !able {
		return nil, failf(c, "the loop over %s %s", c.Var, why)
	}
	return q, err
}

// check verifies that the loops still merge as they did.
func (c MergeBy) check(p *cin.Program) (err error) {
	eachLoop(p.Body, func(f *cin.Forall) bool { return f.Gallop }, func(f *cin.Forall, _ []*cin.Forall) {
		if why := stiff(p, f); err == nil && why != "" {
			err = failf(c, "a later command has made of it the loop over %s, which %s", f.Var, why)
		}
	})
	return err
}

// stiff says why f can't gallop, "" if it can: it has to visit the coordinates that two levels or more have in common, and
// all of them have to be searchable.
func stiff(p *cin.Program, f *cin.Forall) string {
	v, ok := p.Walked(f.Var)
	if !ok {
		return "runs over positions or coordinates of several variables, and merges nothing"
	}
	l := lattice.Loop(p.Source.Table, cin.Value(f.Body), v)
	its := l.Iterators()
	switch {
	case l.Full():
		return "visits every coordinate, so there is nothing to skip; gallop where sparse levels are multiplied"
	case len(l.Points) > 1:
		return fmt.Sprintf("visits %s, what any of them stores, so nothing can be skipped; gallop where sparse levels are multiplied", l.Points[0])
	case len(its) == 1:
		return fmt.Sprintf("visits what one level stores, %s, so there is nothing to skip", l.Points[0])
	}
	for _, it := range its {
		if props := it.Props(); !props.Ordered || !props.Unique || props.Padded {
			return fmt.Sprintf("visits %s in format %q, whose level %d can't be searched: its coordinates have to be stored in order, each once",
				it.Access, p.Source.Of(it.Access.Tensor).Format, it.Level+1)
		}
	}
	return ""
}
