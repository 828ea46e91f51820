package autoschedule

import "libsparse/libsparse/bind"

// Nest is an assignment of which all orders are priced with many constants, to fit those.
type Nest struct {
	model  *model
	orders [][]int
}

// NewNest finds the orders of a that are possible; which these are doesn't depend on constants.
func NewNest(a bind.Assignment) *Nest {
	c, _ := ConstantsFor("")
	n := &Nest{model: newModel(a, c, Machine{})}
	order := make([]int, len(n.model.vars))
	for i := range order {
		order[i] = i
	}
	permute(order, 0, func(o []int) {
		if _, ok := n.model.price(o); ok {
			n.orders = append(n.orders, append([]int(nil), o...))
		}
	})
	return n
}

// Orders lists the orders.
func (n *Nest) Orders() []string {
	out := make([]string, 0, len(n.orders))
	for _, o := range n.orders {
		out = append(out, names(n.model.named(o)))
	}
	return out
}

// Costs is what each order costs with given constants.
func (n *Nest) Costs(c *Constants) []float64 {
	n.model.constants = c
	out := make([]float64, len(n.orders))
	for i, o := range n.orders {
		t, _ := n.model.price(o)
		out[i] = t.Sum()
	}
	return out
}
