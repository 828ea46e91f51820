// Package learned predicts how fast a schedule is from numbers that describe it, the pattern, and the machine: by regression trees, which
// `make train` grows of measurements.
//
// It must not know what the numbers mean: they are found by their names.
package learned

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"

	"libsparse/libsparse/diag"
)

// Header says what a model has learned from.
type Header struct {
	// Features are the names of the numbers that the model reads.
	Features []string `json:"features"`
	// Groups are how many trees each member of the ensemble has. Each was grown of another part of the measurements.
	Groups []int `json:"groups"`
	// Spread is how many trees say how far members are off, on patterns that they have not seen: a logarithm to base 2.
	Spread int `json:"spread"`
	// Digest is that of the measurements, Samples their number.
	Digest  string `json:"digest"`
	Samples int    `json:"samples"`
}

// Model is an ensemble of sums of trees. It never changes.
type Model struct {
	Header
	trees [][]node // of all members, one after the other, and of the spread
}

// node is a place of a tree, in the order in which a walk to the left visits them.
type node struct {
	feature uint8
	// leaf has the value as its threshold; absent says that numbers that are not known go to the left.
	leaf, absent bool
	right        uint16  // the other child; the left one follows
	threshold    float32 // numbers up to it go to the left
}

const (
	nodeBytes  = 8
	flagLeaf   = 1
	flagAbsent = 2
)

// Prediction is a logarithm to base 2 of the time over that of the compiler's schedule.
type Prediction struct {
	Mean, Deviation float64
}

// Read takes a model from its file: the length of the header, the header as JSON, and for each tree the number of nodes and the nodes.
func Read(file []byte) (*Model, error) {
	wrong := func(what string) error {
		return diag.Errorf(diag.Internal, "the file of the learned model is damaged: %s", what)
	}
	if len(file) < 4 {
		return nil, wrong("it ends early")
	}
	length := int(binary.LittleEndian.Uint32(file))
	if length < 0 || 4+length > len(file) {
		return nil, wrong("its header ends early")
	}
	m := &Model{}
	if err := json.Unmarshal(file[4:4+length], &m.Header); err != nil {
		return nil, wrong(err.Error())
	}
	if m.Spread < 0 || slices.ContainsFunc(m.Groups, func(n int) bool { return n < 0 }) {
		return nil, wrong("there are fewer than no trees")
	}
	rest, all := file[4+length:], m.Spread
	for _, n := range m.Groups {
		all += n
	}
	for range all {
		if len(rest) < 2 {
			return nil, wrong("trees are missing")
		}
		count := int(binary.LittleEndian.Uint16(rest))
		rest = rest[2:]
		if count == 0 || len(rest) < count*nodeBytes {
			return nil, wrong("a tree ends early")
		}
		tree, ok := readTree(rest[:count*nodeBytes], len(m.Features))
		if !ok {
			return nil, wrong("a tree leads nowhere")
		}
		m.trees = append(m.trees, tree)
		rest = rest[count*nodeBytes:]
	}
	if len(rest) > 0 || len(m.Groups) == 0 {
		return nil, wrong("there are no trees, or more than it says")
	}
	return m, nil
}

// readTree is a tree; false where a walk could leave it, or not end.
func readTree(text []byte, features int) ([]node, bool) {
	tree := make([]node, len(text)/nodeBytes)
	for i := range tree {
		b := text[i*nodeBytes:]
		n := node{feature: b[0], leaf: b[1]&flagLeaf != 0, absent: b[1]&flagAbsent != 0, right: binary.LittleEndian.Uint16(b[2:])}
		n.threshold = math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))
		tree[i] = n
		if !n.leaf && (int(n.right) <= i || int(n.right) >= len(tree) || int(n.feature) >= features) {
			return nil, false
		}
	}
	return tree, tree[len(tree)-1].leaf
}

// Predict judges a schedule by its features, in the order of Features; NaN is one that is not known.
func (m *Model) Predict(features []float32) Prediction { return m.PredictAll([][]float32{features})[0] }

// PredictAll judges several schedules, one tree after the other, each of which stays in the nearest cache meanwhile.
func (m *Model) PredictAll(rows [][]float32) []Prediction {
	last := len(m.trees) - m.Spread
	means, spreads := sums(m.trees[:last], rows), sums(m.trees[last:], rows)
	found := make([]Prediction, len(rows))
	for i := range rows {
		found[i] = Prediction{Mean: float64(means[i]) / float64(len(m.Groups)), Deviation: math.Exp2(float64(spreads[i]))}
	}
	return found
}

func sums(trees [][]node, rows [][]float32) []float32 {
	values := make([]float32, len(rows))
	for _, t := range trees {
		for i, features := range rows {
			values[i] += walk(t, features)
		}
	}
	return values
}

func walk(tree []node, features []float32) float32 {
	at := 0
	for {
		n := &tree[at]
		if n.leaf {
			return n.threshold
		}
		x := features[n.feature]
		if x <= n.threshold || (n.absent && x != x) {
			at++
		} else {
			at = int(n.right)
		}
	}
}

// Places says where each feature of the model stands among names, -1 for one that is not there.
func (m *Model) Places(names []string) []int {
	at := map[string]int{}
	for i, name := range names {
		at[name] = i
	}
	places := make([]int, len(m.Features))
	for i, name := range m.Features {
		places[i] = -1
		if place, ok := at[name]; ok {
			places[i] = place
		}
	}
	return places
}
