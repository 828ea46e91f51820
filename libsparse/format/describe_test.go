package format

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table of levels in the documents has the letter of every kind, and no other.
func TestLevelsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/internals/levels.md")
	if err != nil {
		t.Fatal(err)
	}
	var kinds, documented []string
	for _, l := range Levels() {
		kinds = append(kinds, l.String()[:1])
	}
	_, table, _ := strings.Cut(string(text), "| level | letter |")
	table, _, _ = strings.Cut(table, "\n\n")
	letters := regexp.MustCompile("`([a-z])[^`]*`")
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			continue
		}
		for _, letter := range letters.FindAllStringSubmatch(cells[2], -1) {
			documented = append(documented, letter[1])
		}
	}
	slices.Sort(kinds)
	slices.Sort(documented)
	if !slices.Equal(kinds, documented) {
		t.Errorf("docs/internals/levels.md has the letters %v, levels have %v", documented, kinds)
	}
}

// TestDescriptionsHoldForAllNumbers describes levels by other stand-ins: what is left of the numbers are their names.
func TestDescriptionsHoldForAllNumbers(t *testing.T) {
	want := Describe()
	kept := standIns
	defer func() { standIns = kept }()
	standIns = []int64{6301, 6311}
	if diff := cmp.Diff(want, Describe()); diff != "" {
		t.Error(diff)
	}
}

// TestDescription reads the description of slices as another program would.
func TestDescription(t *testing.T) {
	text, err := json.Marshal(describe(Sliced{}))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Letter  string
		Numbers int
		Source  string
		Place   any
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	slice := []any{"/", "parent", "number0"}
	lane := []any{"-", "parent", []any{"*", slice, "number0"}}
	place := []any{"+", []any{"+", []any{"pos", slice}, lane}, []any{"*", "step", "number0"}}
	if got.Letter != "l" || got.Numbers != 1 || got.Source != "s" || !reflect.DeepEqual(got.Place, place) {
		t.Errorf("%s", text)
	}
}
