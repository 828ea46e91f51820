package ir

import "slices"

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
	word := place / 64
	m.span(s.Bits, word, word+1).Int[word] |= 1 << (place % 64)
	if s.Words != nil {
		m.span(s.Words, word, word+1).Int[word] = 1
	}
}

// listPlaces leaves words that are not marked alone, as compiled code does.
func (m *machine) listPlaces(s *ListPlaces) {
	extent := m.eval(s.Extent).Int
	bits := m.span(s.Bits, 0, (extent+255)/256*4).Int
	var places []int64
	for word := range (extent + 63) / 64 {
		if s.Words != nil {
			marks := m.span(s.Words, word, word+1).Int
			if marks[word] == 0 {
				continue
			}
			marks[word] = 0
		}
		for bit := range int64(64) {
			if bits[word]>>bit&1 != 0 {
				places = append(places, word*64+bit)
			}
		}
		bits[word] = 0
	}
	n := int64(len(places))
	copy(m.span(s.Array, 0, n+PlacesRoom).Int, places)
	m.vars[s.Count.Name] = intValue(s.Count.T.Elem, n)
}
