package tensorfile

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"sync"
	"unsafe"
)

// A decimal number is m * 10^e with an integer m of 64 bits, as long as it has no more than 19 digits.
const (
	maxDigits   = 19
	maxShift    = 1 << 20
	exactPowers = 22 // powers of ten up to this one are floats
	leastPower  = -330
	mostPower   = 310
)

// decimal reads the plain decimal number that words starts with, such as -1.25e-3, up to a space or the end; ok is false for
// everything else, such as nan or 0x1.
func decimal(words []byte) (x float64, length int, ok bool) {
	at := 0
	if len(words) > 0 && words[0] == '-' {
		at = 1
	}
	first := at
	m, at := digits(words, at, 0)
	e, count := 0, at-first
	if at < len(words) && words[at] == '.' {
		first = at + 1
		m, at = digits(words, first, m)
		e = first - at
		count -= e
	}
	if count == 0 {
		return 0, 0, false
	}
	if at < len(words) && words[at]|' ' == 'e' {
		first = at + 1
		at = wordEnd(words, first)
		if e, ok = shifted(e, words[first:at]); !ok {
			return 0, 0, false
		}
	}
	if at < len(words) && words[at] > ' ' {
		return 0, 0, false
	}
	if x, ok = scaled(m, e); ok && count <= maxDigits {
		if words[0] == '-' {
			x = -x
		}
		return x, at, true
	}
	x, err := strconv.ParseFloat(text(words[:at]), 64)
	return x, at, err == nil
}

// shifted is e plus an exponent.
func shifted(e int, exponent []byte) (sum int, ok bool) {
	shift, err := strconv.Atoi(text(exponent))
	return e + shift, err == nil && -maxShift <= shift && shift <= maxShift
}

// digits goes on with a number; end is behind its last digit.
func digits(words []byte, at int, m uint64) (number uint64, end int) {
	for at < len(words) && words[at]-'0' <= 9 {
		m = 10*m + uint64(words[at]-'0')
		at++
	}
	return m, at
}

// scaled is the float nearest to m * 10^e; ok is false where that is not known.
func scaled(m uint64, e int) (x float64, ok bool) {
	switch {
	case m < 1<<53 && 0 <= e && e <= exactPowers: // one rounding of exact numbers
		return float64(m) * tens.floats[e], true
	case m < 1<<53 && -exactPowers <= e && e < 0:
		return float64(m) / tens.floats[-e], true
	case m == 0:
		return 0, true
	case leastPower <= e && e <= mostPower:
		return nearest(m, &tens.powers[e-leastPower])
	}
	return 0, false
}

// nearest is the float nearest to the product of m and a power of ten, after D. Lemire, "Number Parsing at a Gigabyte per
// Second", 2021, section 5; ok is false where 128 bits of the power do not decide which one that is.
func nearest(m uint64, p *power) (x float64, ok bool) {
	zeros := bits.LeadingZeros64(m)
	m <<= zeros
	// the upper 128 of the 192 bits of the product; what was cut off, of it and of the power, is less than 2 of its last bit
	high, low := bits.Mul64(m, p.high)
	carry, _ := bits.Mul64(m, p.low)
	low, over := bits.Add64(low, carry, 0)
	high += over
	exponent := p.exponent - zeros + 128
	if high>>63 == 0 {
		high, low, exponent = high<<1|low>>63, low<<1, exponent-1
	}
	const below = 64 - 53 // bits of high that a float has no room for
	rest, half := high&(1<<below-1), uint64(1)<<(below-1)
	if rest == half && low == 0 || rest == half-1 && low >= math.MaxUint64-4 {
		return 0, false // halfway, or so close below that what was cut off decides
	}
	mantissa := high >> below
	if rest >= half {
		mantissa++
	}
	exponent += below
	if exponent < -1022-52 || exponent > 1023-53 {
		return 0, false // it may be no normal number
	}
	// a mantissa of 2^53 adds one to the exponent
	return math.Float64frombits(uint64(exponent+1022+52)<<52 + mantissa), true
}

// power is 10^e as high:low * 2^exponent, without the bits below, which is exact for small positive powers.
type power struct {
	high, low uint64
	exponent  int
}

// tens are powers of ten; they are computed when a file is read.
var tens struct {
	sync.Once
	powers []power
	floats []float64
}

func computeTens() {
	for e := leastPower; e <= mostPower; e++ {
		tens.powers = append(tens.powers, powerOfTen(e))
	}
	for e, x := 0, 1.0; e <= exactPowers; e, x = e+1, x*10 {
		tens.floats = append(tens.floats, x)
	}
}

func powerOfTen(e int) power {
	const room = 2000 // bits that a quotient has at least
	n := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(e, -e))), nil)
	exponent := 0
	if e < 0 {
		n.Quo(new(big.Int).Lsh(big.NewInt(1), room), n)
		exponent = -room
	}
	if cut := n.BitLen() - 128; cut >= 0 {
		n.Rsh(n, uint(cut))
		exponent += cut
	} else {
		n.Lsh(n, uint(-cut))
		exponent += cut
	}
	low := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	return power{n.Rsh(n, 64).Uint64(), low, exponent}
}

// text is a word as a string that shares its memory: it must not live longer.
func text(word []byte) string { return unsafe.String(unsafe.SliceData(word), len(word)) }
