package lower

import "testing"

// TestScope binds names twice, at places that share a parent.
func TestScope(t *testing.T) {
	var root *scope[string, int]
	if _, ok := root.lookup("i"); ok || root.get("i") != 0 {
		t.Error("an empty scope has a binding")
	}
	outer := root.with("i", 1)
	left, right := outer.with("j", 2).with("i", 3), outer.with("j", 4)
	for _, c := range []struct {
		name string
		in   *scope[string, int]
		i, j int
	}{{"outer", outer, 1, 0}, {"left", left, 3, 2}, {"right", right, 1, 4}} {
		if c.in.get("i") != c.i || c.in.get("j") != c.j {
			t.Errorf("%s: i = %d, j = %d, want %d and %d", c.name, c.in.get("i"), c.in.get("j"), c.i, c.j)
		}
	}
}
