package conformance

import (
	"slices"
	"strings"

	"libsparse/libsparse/format"
)

// named are formats by other names than their letters; "oo" and so on is COO, a suffix "T" the order 1,0, "@210" any other.
var named = map[string]string{
	"bsr": "dk(2,3)", "ell": "dp", "sell": "dl(2)", "sells": "w(4)l(2)", "dia": "do",
}

// plain are the formats of dense and compressed levels, and COO, that the predecessors have.
var plain = []string{"dd", "ds", "sd", "ss", "ddT", "dsT", "sdT", "ssT", "oo", "ooT"}

// all lists the formats of an order, those of matrices in both mode orders.
func all(order int) []string {
	switch order {
	case 0:
		return []string{""}
	case 1:
		return []string{"d", "s", "b", "h"}
	case 2:
		return slices.Concat(plain, []string{"dn", "dnT", "db", "bb", "sb", "dh", "hh", "ell", "sell", "sells", "dia", "bsr", "dbT", "dhT", "ellT", "sellT", "sellsT", "diaT", "bsrT"})
	default:
		return append(levels(order), strings.Repeat("o", order), strings.Repeat("h", order), strings.Repeat("b", order))
	}
}

// levels is {d,s} to the power of order.
func levels(order int) []string {
	out := []string{""}
	for range order {
		out = product2(out)
	}
	return out
}

func product2(out []string) []string {
	var longer []string
	for _, f := range out {
		longer = append(longer, f+"d", f+"s")
	}
	return longer
}

// expand is the formats that a part of a row's text means.
func expand(text string, order int) []string {
	var out []string
	for part := range strings.SplitSeq(text, "|") {
		switch part {
		case "any":
			out = append(out, all(order)...)
		case "plain":
			out = append(out, plain...)
		case "xx":
			out = append(out, levels(order)...)
		default:
			out = append(out, part)
		}
	}
	for i := range out {
		out[i] = spelled(out[i])
	}
	return out
}

// spelled is a format as the compiler reads it.
func spelled(text string) string {
	text, pattern := strings.CutSuffix(text, "!")
	text, transposed := strings.CutSuffix(text, "T")
	text, order, _ := strings.Cut(text, "@")
	if f, ok := named[text]; ok {
		text = f
	}
	if strings.Trim(text, "o") == "" && len(text) > 1 {
		text = format.COO(len(text)).String()
	}
	if transposed {
		order = "10"
	}
	if order != "" {
		text += ":" + strings.Join(strings.Split(order, ""), ",")
	}
	if pattern {
		text += "!"
	}
	return text
}
