package kernels

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/index"
	"libsparse/libsparse/pattern"
	"libsparse/libsparse/tune/space"
)

// outlook is what follows from the order of the loops and the formats of operands, which many points share.
type outlook struct {
	values []float32
	names  []string
}

// features are the numbers by which a model judges a point; false where the loops of its order suit no formats.
func (s *Search) features(at space.Point, names bool) (features, bool) {
	out, ok := s.outlook(at)
	if !ok {
		return features{}, false
	}
	f := features{named: names}
	f.values = append(make([]float32, 0, 160), s.sight.shared.values...)
	f.values = append(f.values, out.values...)
	if names {
		f.names = append(append(f.names, s.sight.shared.names...), out.names...)
	}
	s.marks(&f, at)
	return f, true
}

// outlook is that of a point, nil where there is none.
func (s *Search) outlook(at space.Point) (*outlook, bool) {
	var name strings.Builder
	for _, place := range s.layout {
		name.WriteString(strconv.Itoa(int(at[place])))
		name.WriteByte(' ')
	}
	known, ok := s.sight.outlooks[name.String()]
	if !ok {
		known = s.outlookOf(at)
		s.sight.outlooks[name.String()] = known
	}
	return known, known != nil
}

func (s *Search) outlookOf(at space.Point) *outlook {
	d, err := s.draft(s.unstripped(at))
	if err != nil {
		return nil
	}
	f := &features{named: true}
	for depth := range seen {
		place := math.NaN()
		if depth < len(s.space.vars) {
			place = float64(slices.Index(d.decision.Order, s.space.vars[depth]))
		}
		f.add("place"+strconv.Itoa(depth), place)
	}
	a, last := d.assignment, d.decision.Order[len(d.decision.Order)-1]
	f.add("innermost extent", log2(float64(a.Extent(last))))
	f.flag("innermost free", isFree(a, last))
	f.flag("innermost dense", autoschedule.Dense(a, last))
	terms := d.decision.Terms
	f.add("relative cost", log2(terms.Sum()/s.cost))
	f.add("relative loops", log2((terms.Loops+1)/(s.terms.Loops+1)))
	f.add("relative strided", log2((terms.Strided+1)/(s.terms.Strided+1)))
	f.add("relative inserted", log2((terms.Insert+1)/(s.terms.Insert+1)))
	f.add("conversions", float64(len(d.decision.Conversions)))
	s.storage(f, at)
	return &outlook{f.values, f.names}
}

// unstripped is a point without strips.
func (s *Search) unstripped(at space.Point) space.Point {
	plain := slices.Clone(at)
	for _, v := range s.space.vars {
		for _, name := range []string{"strip_" + string(v), "strip_at_" + string(v)} {
			if place, ok := s.space.places[name]; ok {
				plain[place] = s.space.origin[place]
			}
		}
	}
	return plain
}

// storage describes the formats of a point: that of the largest sparse operand, how many others change, and what is copied in each call.
func (s *Search) storage(f *features, at space.Point) {
	a := s.nest.Assignment
	others, copied := 0, 0.0
	to := ""
	for _, t := range append(a.Tensors(), a.LHS.Tensor) {
		text := s.space.of("format_"+t.Name, at)
		if text == "" || text == auto {
			continue
		}
		switch {
		case t == s.sight.main:
			to = text
		case a.Of(t).Format.Dense():
			copied += places(a, t)
			fallthrough
		default:
			others++
		}
	}
	f.add("others", float64(others))
	f.add("copied", log2(copied))
	to, values := strings.CutSuffix(to, withValues)
	f.flag("carried", values)
	levels, order, _ := strings.Cut(to, ":")
	now := ""
	if s.sight.main != nil {
		now = a.Of(s.sight.main).Format.String()
	}
	levelsNow, orderNow, _ := strings.Cut(now, ":")
	f.flag("reordered", to != "" && order != orderNow)
	f.flag("compressed", to != "" && strings.HasPrefix(levels, "s") && !strings.HasPrefix(levelsNow, "s"))
	f.flag("expanded", to != "" && strings.HasPrefix(levels, "d") && !strings.HasPrefix(levelsNow, "d"))
	padding, kind := s.padding(levels)
	f.add("padded", kind)
	f.add("padding", padding)
	f.add("relative bytes", s.relativeBytes(levels, padding))
}

// relativeBytes is how much is read of the largest sparse operand in a format of a point, beside a list of entries for each row, as a logarithm.
func (s *Search) relativeBytes(levels string, padding float64) float64 {
	if s.sight.known == nil || levels == "" {
		return 0
	}
	nnz, rows := math.Exp2(s.sight.known[slices.Index(pattern.Names, "entries")]), math.Exp2(s.sight.known[slices.Index(pattern.Names, "fibers")])
	coordinate := 4
	if strings.Contains(levels, "n") {
		coordinate = 2
	}
	entry := nnz * float64(4+s.nest.Assignment.LHS.Tensor.Elem.Size())
	bytes := nnz * float64(coordinate+s.nest.Assignment.LHS.Tensor.Elem.Size()) * math.Exp2(padding)
	if padding == 0 && strings.HasPrefix(levels, "d") {
		bytes += 4 * rows
	}
	return log2(bytes / (entry + 4*rows))
}

// padding is the elements of a padded format for each entry, as a logarithm, and which kind it is, with that of coordinates of 16 bits; 0 of
// others.
func (s *Search) padding(levels string) (padding, kind float64) {
	name := ""
	switch {
	case strings.Contains(levels, "n"):
		return 0, 7
	case strings.Contains(levels, "w(") && strings.Contains(levels, "l(8)"):
		name, kind = "sorted32", 6
	case strings.Contains(levels, "w("):
		name, kind = "sorted32", 5
	case strings.Contains(levels, "p"):
		name, kind = "ell", 1
	case strings.Contains(levels, "l(8)"):
		name, kind = "sell8", 2
	case strings.Contains(levels, "l("):
		name, kind = "sell32", 3
	case strings.Contains(levels, "b"):
		name, kind = "bitmap", 4
	case strings.Contains(levels, "o"):
		name, kind = "diagonals", 9
	case strings.Contains(levels, "k("):
		return s.blockPadding(levels), 8
	default:
		return 0, 0
	}
	if s.sight.known == nil {
		return math.NaN(), kind
	}
	return s.sight.known[slices.Index(pattern.Names, name)], kind
}

// blockPadding is that of blocks, about as that of square ones whose size is known.
func (s *Search) blockPadding(levels string) float64 {
	var height, width int
	if _, err := fmt.Sscanf(levels[strings.Index(levels, "k("):], "k(%d,%d)", &height, &width); err != nil || s.sight.known == nil {
		return math.NaN()
	}
	side := 2
	for side < 16 && 2*side*side < height*width {
		side *= 2
	}
	name := fmt.Sprintf("block%dx%[1]d", side)
	return log2(float64(side*side)) - s.sight.known[slices.Index(pattern.Names, name)]
}

// marks describes what else a point changes: strips, workspaces, threads, lanes and single loops.
func (s *Search) marks(f *features, at space.Point) {
	changes := 0
	for i, x := range at {
		if x != s.space.origin[i] {
			changes++
		}
	}
	f.add("changes", float64(changes))
	for depth := range seen {
		strip, place := 0.0, 0.0
		if depth < len(s.space.vars) {
			name := string(s.space.vars[depth])
			if n := s.space.number("strip_"+name, at); n > 1 {
				strip, place = log2(float64(n)), float64(1+s.space.number("strip_at_"+name, at))
			}
		}
		f.add("strip"+strconv.Itoa(depth), strip)
		f.add("strip_at"+strconv.Itoa(depth), place)
	}
	f.add("workspace", s.category("workspace", at))
	f.add("depth", float64(s.space.number("depth", at)))
	f.add("lanes chosen", s.category("lanes", at))
	f.add("unroll", s.category("unroll", at))
	f.add("unrolled", float64(s.space.number("unrolled", at)))
	f.add("prefetch", s.category("prefetch", at))
	f.add("gallop", s.category("merge", at))
}

// categories are numbers for values that spaces have under the same names.
var categories = map[string][]string{
	"workspace": {auto, "none", "array", "insert", "bounded", "tile", "row", "scatter", "bitmap", "blocks", "list", "hash", "bytemap"},
	"lanes":     {auto, "off", "innermost"},
	"unroll":    {auto, "1", "2", "4", "8"},
	"prefetch":  {auto, "0", "8", "16", "32", "64"},
	"merge":     {auto, "gallop"},
}

// category is the number of a categorical value; that of auto where the space has no such parameter.
func (s *Search) category(name string, at space.Point) float64 {
	return float64(max(0, slices.Index(categories[name], s.space.of(name, at))))
}

// layoutOf is the parameters that an outlook depends on.
func layoutOf(p *parameters, tensors []*index.Tensor) (places []int) {
	for _, t := range tensors {
		if place, ok := p.places["format_"+t.Name]; ok {
			places = append(places, place)
		}
	}
	return append(places, p.places["order"])
}
