package index

import "testing"

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
