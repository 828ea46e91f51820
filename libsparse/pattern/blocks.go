package pattern

// block is the height and the logarithm of the width of blocks whose number is counted: how many entries there are in each says how full
// they are, and how often columns and lines of the cache are read again soon.
type block struct {
	name   string
	height int
	shift  uint
}

var blocks = []block{
	{"block1x8", 1, 3},
	{"block1x16", 1, 4},
	{"block2x2", 2, 1},
	{"block4x1", 4, 0},
	{"block4x4", 4, 2},
	{"block8x1", 8, 0},
	{"block8x8", 8, 3},
	{"block16x1", 16, 0},
	{"block16x16", 16, 4},
}

// counter counts the blocks of a kind that have entries.
type counter struct {
	block
	set
	found int
}

func newCounters() []counter {
	out := make([]counter, len(blocks))
	for i, b := range blocks {
		out[i] = counter{block: b, set: newSet(256)}
	}
	return out
}

// fiber counts the entries from and to of a fiber, whose number in its window is given.
func (c *counter) fiber(f *fibers, number, from, to int) {
	if number%c.height == 0 {
		c.forget()
	}
	last := int64(-1)
	for e := from; e < to; e++ {
		if at := f.crd.At(e) >> c.shift; at != last {
			last = at
			if c.add(at) {
				c.found++
			}
		}
	}
}

// set is a set of numbers that is emptied at once: what was added before the last time that it was counts as absent.
type set struct {
	keys  []int64
	ages  []uint32
	age   uint32
	count int
}

func newSet(expected int64) set {
	size := 64
	for int64(size) < 2*expected {
		size *= 2
	}
	return set{keys: make([]int64, size), ages: make([]uint32, size), age: 1}
}

func (s *set) forget() {
	s.age++
	s.count = 0
}

// add reports whether a number is new.
func (s *set) add(key int64) bool {
	if 2*s.count >= len(s.keys) {
		s.grow()
	}
	mask := len(s.keys) - 1
	for at := int(uint64(key)*0x9E3779B97F4A7C15>>32) & mask; ; at = (at + 1) & mask {
		if s.ages[at] != s.age {
			s.ages[at], s.keys[at] = s.age, key
			s.count++
			return true
		}
		if s.keys[at] == key {
			return false
		}
	}
}

func (s *set) grow() {
	old := *s
	*s = newSet(int64(len(old.keys)))
	for i, age := range old.ages {
		if age == old.age {
			s.add(old.keys[i])
		}
	}
}
