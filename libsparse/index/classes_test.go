package index

import "testing"

func TestBoundsOfClasses(t *testing.T) {
	for n := range int64(200) {
		class := SizeClass(n)
		least, most, known := Bounds(class)
		if known != (n < 64 || Exact(n)) {
			t.Errorf("bounds of the class of %d are known: %v", n, known)
		}
		if known && (n < least || n > most || SizeClass(least) != class || SizeClass(most) != class) {
			t.Errorf("%d is in a class of %d to %d", n, least, most)
		}
	}
	for _, few := range []int64{10, 26, 50} {
		if _, _, known := Bounds(few); known {
			t.Errorf("class %d has members of all sizes", few)
		}
	}
}

func TestSizeClass(t *testing.T) {
	for n, want := range map[int64]int64{
		0: 0, 7: 7, 8: 8, 9: 9, 15: 9, 16: 16, 17: 17, 23: 17, 63: 57, 64: 64, 65: 65, 127: 65, 128: 128, 129: 129, 192: 129, 256: 256, 512: 512, 640: 513, 1024: 1025,
		1 << 20: 1<<20 + 1, 1<<20 + 1: 1<<20 + 1,
	} {
		if got := SizeClass(n); got != want {
			t.Errorf("SizeClass(%d) = %d, want %d", n, got, want)
		}
		if SizeClass(SizeClass(n)) != SizeClass(n) {
			t.Errorf("the class of %d is not a member of itself", n)
		}
	}
}
