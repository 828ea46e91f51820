package asymptotic

// front holds the costs seen so far that no other dominates, each with its programs.
type front struct {
	logic    *logic
	members  []*member
	byCost   map[costID]*member
	excluded map[costID]bool // costs that are dominated
}

type member struct {
	cost     costID
	programs []nodeID
	found    []found // programs of several workers, each with its store
}

// found is a program where it was found.
type found struct {
	*enumerator
	n nodeID
}

func newFront(l *logic) *front {
	return &front{logic: l, byCost: map[costID]*member{}, excluded: map[costID]bool{}}
}

// dominated reports whether a member of the front dominates c, and so every cost that includes c.
func (f *front) dominated(c costID) bool {
	if f.excluded[c] {
		return true
	}
	if f.byCost[c] != nil {
		return false
	}
	for _, m := range f.members {
		if f.logic.dominates(c, m.cost) {
			f.excluded[c] = true
			return true
		}
	}
	return false
}

// at is the member with cost c, which is added if there is none; nil if c is dominated. Members that c dominates are removed.
func (f *front) at(c costID) *member {
	if m := f.byCost[c]; m != nil {
		return m
	}
	if f.dominated(c) {
		return nil
	}
	kept := f.members[:0]
	for _, m := range f.members {
		if f.logic.dominates(m.cost, c) {
			f.excluded[m.cost] = true
			delete(f.byCost, m.cost)
		} else {
			kept = append(kept, m)
		}
	}
	m := &member{cost: c}
	f.members = append(kept, m)
	f.byCost[c] = m
	return m
}
