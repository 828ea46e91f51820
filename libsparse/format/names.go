package format

import (
	"strconv"
	"strings"
)

// Name is a format that has a name. {0} and {1} stand for its numbers, in the order of the name's.
type Name struct {
	Name    string `json:"name"`
	Numbers int    `json:"numbers"`
	Text    string `json:"text"`
}

// Names lists the names of formats of matrices. coo, csf and dense are names in every order, see Spell.
func Names() []Name {
	return []Name{
		{"csr", 0, "ds"},
		{"csc", 0, "ds:1,0"},
		{"dcsr", 0, "ss"},
		{"dcsc", 0, "ss:1,0"},
		{"ell", 0, "dp"},
		{"dia", 0, "do"},
		{"bsr", 2, "dk({0},{1})"},
		{"bsc", 2, "dk({1},{0}):1,0"}, // its levels go by columns, and so do the numbers of the level
		{"sell", 1, "dl({0})"},
		{"sell", 2, "w({1})l({0})"},
	}
}

// Spell is the text of a format of so many modes, in letters where it is given by its name, perhaps with a mode order.
func Spell(text string, order int) string {
	name, modes, ordered := strings.Cut(text, ":")
	letters := letters(name, order)
	if ordered {
		letters += ":" + modes
	}
	return letters
}

func letters(name string, order int) string {
	switch {
	case name == "coo" && order > 1:
		return "u" + strings.Repeat("c", order-2) + "q"
	case name == "coo" || name == "csf":
		return strings.Repeat("s", order)
	case name == "dense":
		return strings.Repeat("d", order)
	}
	kind, inner, _ := strings.Cut(strings.TrimSuffix(name, ")"), "(")
	var numbers []string
	if inner != "" {
		numbers = strings.Split(inner, ",")
	}
	for _, n := range Names() {
		if n.Name == kind && n.Numbers == len(numbers) {
			text := n.Text
			for i, number := range numbers {
				text = strings.ReplaceAll(text, "{"+strconv.Itoa(i)+"}", number)
			}
			return text
		}
	}
	return name
}
