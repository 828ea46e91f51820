package index

import (
	"strconv"

	"libsparse/libsparse/diag"
)

// Window is the part of a mode with the coordinates Lo, Lo+Step, ... below Hi. The index variable of a window counts these coordinates:
// value v is coordinate Lo + Step*v.
type Window struct{ Lo, Hi, Step int64 }

// Extent is the number of coordinates in w.
func (w *Window) Extent() int64 { return (w.Hi - w.Lo + w.Step - 1) / w.Step }

// Coord is the coordinate for value v of the index variable; without a window it is v.
func (w *Window) Coord(v int) int {
	if w == nil {
		return v
	}
	return int(w.Lo) + int(w.Step)*v
}

func (w *Window) String() string {
	text := strconv.FormatInt(w.Lo, 10) + ":" + strconv.FormatInt(w.Hi, 10)
	if w.Step != 1 {
		text += ":" + strconv.FormatInt(w.Step, 10)
	}
	return "(" + text + ")"
}

// Window is the part of a mode that a accesses, nil for all of it.
func (a *Access) Window(mode int) *Window {
	if a.Windows == nil {
		return nil
	}
	return a.Windows[mode]
}

// Windowed reports whether a accesses a part of some mode.
func (a *Access) Windowed() bool {
	for _, w := range a.Windows {
		if w != nil {
			return true
		}
	}
	return false
}

// Index is the variable of a mode with its window.
func (a *Access) Index(mode int) string {
	text := string(a.Vars[mode])
	if w := a.Window(mode); w != nil {
		text += w.String()
	}
	return text
}

// maxCoord bounds windows, so that arithmetic on their bounds can't overflow.
const maxCoord = 1 << 62

// verifyWindows checks that windows are ranges and that a variable has one extent in all of them.
func (a *Assignment) verifyWindows() error {
	known := map[Var]int64{}
	for _, acc := range append([]*Access{a.LHS}, Accesses(a.RHS)...) {
		for m, w := range acc.Windows {
			if w == nil {
				continue
			}
			v := acc.Vars[m]
			if w.Lo < 0 || w.Hi < w.Lo || w.Step < 1 || w.Hi > maxCoord || w.Step > maxCoord {
				return diag.Errorf(diag.Shape, "%s: the window %s of %s in %s is no range first:end:step of coordinates", a, w, string(v), acc)
			}
			n, ok := known[v]
			if ok && n != w.Extent() {
				return diag.Errorf(diag.Shape, "%s: the window %s of %s has %d coordinates; index %q has %d elsewhere", a, w, acc, w.Extent(), string(v), n)
			}
			known[v] = w.Extent()
		}
	}
	return nil
}
