package codegen_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// TestSortPlaces sorts short lists by ranks, and longer ones by a bitmap or by halves; bitmaps are left empty.
func TestSortPlaces(t *testing.T) {
	n, extent := iv("n"), iv("extent")
	m := &ir.Module{Slots: vars(n, extent), Funcs: []*ir.Func{{Name: "f", Body: block()}}}
	types := []dtype.T{dtype.I32, dtype.I64}
	for _, elem := range types {
		places, bits, words := out("places_"+string(elem), elem), out("bits_"+string(elem), dtype.I64), out("words_"+string(elem), dtype.U8)
		m.Slots = append(m.Slots, ir.Slot{Array: places}, ir.Slot{Array: bits}, ir.Slot{Array: words})
		m.Funcs[0].Body.Stmts = append(m.Funcs[0].Body.Stmts, &ir.SortPlaces{Array: places, Bits: bits, Words: words, Count: n, Extent: extent})
	}
	p := crun.Compile(t, m, crun.Options{Sanitize: true, Warnings: true})
	rng := rand.New(rand.NewPCG(7, 8))
	for _, length := range []int{0, 1, 2, 7, 8, 9, 16, 17, 63, 64, 65, 100, 700} {
		for _, every := range []int{1, 3, 70, 5000} {
			below := max(1, length*every)
			var want []int64
			for len(want) < length {
				if place := rng.Int64N(int64(below)); !slices.Contains(want, place) {
					want = append(want, place)
				}
			}
			args := []ir.Arg{ir.ScalarArg(int64(length)), ir.ScalarArg(int64(below))}
			for _, elem := range types {
				args = append(args, ir.ArrayArg(ir.Ints(elem, append(slices.Clone(want), make([]int64, ir.PlacesRoom)...)...)))
				args = append(args, ir.ArrayArg(ir.Ints(dtype.I64, make([]int64, (below+255)/256*4)...)))
				args = append(args, ir.ArrayArg(ir.Ints(dtype.U8, make([]int64, (below+4095)/4096*64)...)))
			}
			slices.Sort(want)
			p.Run(t, []string{"f"}, args)
			for i := range types {
				places, bits := args[2+3*i].Array.Int[:length], slices.Concat(args[3+3*i].Array.Int, args[4+3*i].Array.Int)
				if !slices.Equal(places, want) || slices.ContainsFunc(bits, func(word int64) bool { return word != 0 }) {
					t.Errorf("%d places below %d: got %v, want %v, bitmap %v", length, below, places, want, bits)
				}
			}
		}
	}
}

// TestListPlaces marks places, some of them twice, and lists them in order: by all words of a bitmap, and by the words that are marked. Both
// are left empty.
func TestListPlaces(t *testing.T) {
	n, least, extent := iv("n"), iv("least"), iv("extent")
	given := in("given", dtype.I32)
	m := &ir.Module{Slots: append(vars(n, least, extent), arrays(given)...), Funcs: []*ir.Func{{Name: "f", Body: block()}}}
	body := m.Funcs[0].Body
	types := []dtype.T{dtype.I32, dtype.I64}
	for _, elem := range types {
		list, bits, words, count := out("list_"+string(elem), elem), out("bits_"+string(elem), dtype.I64), out("words_"+string(elem), dtype.U8), iv("count_"+string(elem))
		counts, i := out("counts_"+string(elem), dtype.I64), iv("i_"+string(elem))
		if elem == dtype.I64 {
			words = nil
		}
		m.Slots = append(m.Slots, arrays(list, bits, counts)...)
		if words != nil {
			m.Slots = append(m.Slots, arrays(words)...)
		}
		body.Stmts = append(body.Stmts,
			variable(count, num(0)),
			loop(i, num(0), n, ir.Serial, &ir.MarkPlace{Bits: bits, Words: words, Place: wide(&ir.Load{Array: given, Index: i})}),
			&ir.ListPlaces{Array: list, Bits: bits, Words: words, Count: count, Lo: least, Hi: extent},
			put(counts, num(0), count))
	}
	list, set, count := out("list_of_bytes", dtype.I32), out("set", dtype.U8), iv("count_of_bytes")
	counts, i := out("counts_of_bytes", dtype.I64), iv("i_of_bytes")
	m.Slots = append(m.Slots, arrays(list, set, counts)...)
	body.Stmts = append(body.Stmts,
		variable(count, num(0)),
		loop(i, num(0), n, ir.Serial, &ir.MarkPlace{Bits: set, Place: wide(&ir.Load{Array: given, Index: i})}),
		&ir.ListPlaces{Array: list, Bits: set, Count: count, Lo: least, Hi: extent},
		put(counts, num(0), count))
	p := crun.Compile(t, m, crun.Options{Sanitize: true, Warnings: true})
	rng := rand.New(rand.NewPCG(9, 10))
	zeros := func(elem dtype.T, n int64) ir.Arg { return ir.ArrayArg(ir.Ints(elem, make([]int64, n)...)) }
	for _, length := range []int64{0, 1, 3, 64, 300} {
		for _, below := range []int64{1, 63, 64, 65, 256, 257, 4096, 4097, 100000} {
			places := make([]int64, length)
			for k := range places {
				places[k] = below/3 + rng.Int64N(below-below/3)
			}
			want := slices.Compact(slices.Sorted(slices.Values(places)))
			args := []ir.Arg{ir.ScalarArg(length), ir.ScalarArg(below / 3), ir.ScalarArg(below), ir.ArrayArg(ir.Ints(dtype.I32, places...))}
			for _, elem := range types {
				args = append(args, zeros(elem, length+ir.PlacesRoom), zeros(dtype.I64, (below+255)/256*4), zeros(dtype.I64, 1))
				if elem == dtype.I32 {
					args = append(args, zeros(dtype.U8, (below+4095)/4096*64))
				}
			}
			args = append(args, zeros(dtype.I32, length+ir.PlacesRoom), zeros(dtype.U8, (below+63)/64*64), zeros(dtype.I64, 1))
			p.Run(t, []string{"f"}, args)
			for k, first := range []int{4, 8, 11} {
				list, bits, count := args[first].Array.Int, args[first+1].Array.Int, args[first+2].Array.Int[0]
				if !slices.Equal(list[:count], want) || slices.Max(bits) != 0 || slices.Min(bits) != 0 {
					t.Errorf("%d places below %d, %s: got %v, want %v, bitmap %v", length, below, []string{"words", "bits", "bytes"}[k], list[:count], want, bits)
				}
			}
			if slices.Max(args[7].Array.Int) != 0 {
				t.Errorf("%d places below %d: marks of words %v", length, below, args[7].Array.Int)
			}
		}
	}
}
