package ir

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// sortPlaces sorts places, whose bitmap stays empty.
func (m *machine) sortPlaces(s *SortPlaces) {
	n, extent := m.eval(s.Count).Int, m.eval(s.Extent).Int
	places := m.span(s.Array, 0, n+PlacesRoom).Int[:n]
	m.empty(s.Bits, (extent+255)/256*4)
	m.empty(s.Words, (extent+4095)/4096*64)
	slices.Sort(places)
	for i, place := range places {
		if place < 0 || place >= extent || i > 0 && place == places[i-1] {
			m.failf("%s has %d, of places below %d", s.Array.Name, place, extent)
		}
	}
}

// empty checks that the first n elements of an array are zero.
func (m *machine) empty(a *Array, n int64) {
	if slices.ContainsFunc(m.span(a, 0, n).Int[:n], func(x int64) bool { return x != 0 }) {
		m.failf("%s is not empty", a.Name)
	}
}

func (m *machine) markPlace(s *MarkPlace) {
	place := m.eval(s.Place).Int
	if place < 0 {
		m.failf("place %d in %s", place, s.Bits.Name)
	}
	if s.Bits.Elem == dtype.U8 {
		m.span(s.Bits, place, place+1).Int[place] = 1
		return
	}
	word := place / 64
	m.span(s.Bits, word, word+1).Int[word] |= 1 << (place % 64)
	if s.Words != nil {
		m.span(s.Words, word, word+1).Int[word] = 1
	}
}

// listPlaces finds all places, to see that none is outside the range.
func (m *machine) listPlaces(s *ListPlaces) {
	lo, hi := m.eval(s.Lo).Int, m.eval(s.Hi).Int
	bits := m.span(s.Bits, 0, 0).Int
	var places []int64
	if s.Bits.Elem == dtype.U8 {
		m.list(s, setBytes(m, s, bits, lo, hi))
		return
	}
	for word := range bits {
		marked := s.Words == nil || bits[word] == 0
		if !marked {
			marks := m.span(s.Words, int64(word), int64(word)+1).Int
			marked, marks[word] = marks[word] != 0, 0
		}
		for bit := range 64 {
			if bits[word]>>bit&1 == 0 {
				continue
			}
			place := int64(word*64 + bit)
			if !marked || place < lo || place >= hi {
				m.failf("place %d in %s, of %d to %d", place, s.Bits.Name, lo, hi)
			}
			places = append(places, place)
		}
		bits[word] = 0
	}
	m.list(s, places)
}

// setBytes are the places whose bytes are set, which it clears.
func setBytes(m *machine, s *ListPlaces, set []int64, lo, hi int64) (places []int64) {
	for place, x := range set {
		if x == 0 {
			continue
		}
		if set[place] = 0; int64(place) < lo || int64(place) >= hi {
			m.failf("place %d in %s, of %d to %d", place, s.Bits.Name, lo, hi)
		}
		places = append(places, int64(place))
	}
	return places
}

func (m *machine) list(s *ListPlaces, places []int64) {
	n := int64(len(places))
	copy(m.span(s.Array, 0, n+PlacesRoom).Int, places)
	if s.Count != nil {
		m.vars[s.Count.Name] = intValue(s.Count.T.Elem, n)
	}
}
