package tensorfile

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestDecimal compares with strconv: numbers of any length and size, and some halfway between two floats.
func TestDecimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := []string{
		"0", "-0", "1", ".5", "5.", ".", "-", "", "e5", "1e", "1e5", "1E+5", "1e-5", "nan", "inf", "0x1p3", "1_0", "+1", "1e400", "1e-400",
		"9007199254740993", "9007199254740993e0", "9007199254740992.5", "4.9e-324", "2.2250738585072011e-308", "2.2250738585072014e-308",
		"1.7976931348623157e308", "1.7976931348623159e308", "18446744073709551615", "99999999999999999999", "0.1e99999999999999999999",
	}
	for range 200_000 {
		x := math.Float64frombits(rng.Uint64())
		switch rng.IntN(4) {
		case 0:
			words = append(words, strconv.FormatFloat(x, 'e', rng.IntN(20)-1, 64))
		case 1:
			words = append(words, strconv.FormatFloat(rng.NormFloat64(), 'g', -1, 64))
		case 2:
			words = append(words, strconv.FormatFloat(rng.NormFloat64()*1e9, 'f', rng.IntN(12), 64))
		default: // halfway: one bit more than a float has
			words = append(words, strconv.FormatUint(1<<53+2*(rng.Uint64()>>12)+1, 10)+[]string{"", "e0", ".0", "e1", "e-3"}[rng.IntN(5)])
		}
	}
	tens.Do(computeTens)
	for _, word := range words {
		got, n, ok := decimal([]byte(word + " 7"))
		want, err := strconv.ParseFloat(word, 64)
		plain := err == nil && strings.Trim(word, "0123456789.eE+-") == "" && word[0] != '+'
		if ok != plain || ok && n != len(word) {
			t.Fatalf("%q: %v %v, want %v %v", word, got, ok, want, err)
		}
		if ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%q: %v, want %v", word, got, want)
		}
	}
}
