package format

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
