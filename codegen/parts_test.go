package codegen

import (
	"slices"
	"testing"
)

func TestParts(t *testing.T) {
	const (
		before   = "typedef long word;\n\nstatic inline int32_t help(void)\n{\n}\n\n"
		assemble = "static __attribute__((noinline)) void assemble_part(int64_t *slots, const int64_t p)\n{\n}\n\nint32_t assemble(int64_t *slots)\n{\n}\n\n"
		compute  = "static void compute_work(int64_t *slots, int64_t *begun)\n{\n}\n\nint32_t compute(int64_t *slots)\n{\n}\n\n"
		revalue  = "int32_t revalue(int64_t *slots)\n{\n}\n"
	)
	for _, c := range []struct {
		source string
		most   int
		want   []string
	}{
		{before + compute, 4, []string{before + compute}},
		{before + assemble + compute, 4, []string{before + assemble, before + compute}},
		{before + assemble + compute + revalue, 2, []string{before + assemble, before + compute + revalue}},
		{before + assemble + revalue, 1, []string{before + assemble + revalue}},
		{before, 4, []string{before}},
	} {
		if got := parts(c.source, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%d parts of %q: %q", c.most, c.source, got)
		}
	}
}
