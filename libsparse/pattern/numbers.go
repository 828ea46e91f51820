package pattern

import (
	"encoding/json"
	"math"
)

// Numbers are features; in JSON, null stands for one that isn't known.
type Numbers []float64

// MarshalJSON writes NaN as null, and no list as null, too.
func (n Numbers) MarshalJSON() ([]byte, error) {
	if n == nil {
		return []byte("null"), nil
	}
	out := make([]*float64, len(n))
	for i := range n {
		if !math.IsNaN(n[i]) {
			out[i] = &n[i]
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads null as NaN.
func (n *Numbers) UnmarshalJSON(text []byte) error {
	var in []*float64
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*n = make(Numbers, len(in))
	for i, x := range in {
		(*n)[i] = math.NaN()
		if x != nil {
			(*n)[i] = *x
		}
	}
	return nil
}
