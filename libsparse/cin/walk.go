package cin

import "iter"

// Within lists s and the statements in it, outer ones first and consumers before producers.
func Within(s Stmt) iter.Seq[Stmt] {
	return func(yield func(Stmt) bool) { within(s, yield) }
}

func within(s Stmt, yield func(Stmt) bool) bool {
	if s == nil || !yield(s) {
		return s == nil
	}
	switch s := s.(type) {
	case *Forall:
		return within(s.Body, yield)
	case *Where:
		return within(s.Consumer, yield) && within(s.Producer, yield)
	default:
		return true
	}
}

// Some reports whether s or a statement in it has a property.
func Some(s Stmt, has func(Stmt) bool) bool {
	for t := range Within(s) {
		if has(t) {
			return true
		}
	}
	return false
}
