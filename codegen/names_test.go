package codegen_test

import (
	"strings"
	"testing"

	"libsparse/codegen"
	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// TestReservedNames runs a program whose names are words of C, of its library, and what those are renamed to.
func TestReservedNames(t *testing.T) {
	sum := out("for_", dtype.I64)
	var body []ir.Stmt
	var total ir.Expr = num(0)
	for i, word := range []string{
		"for", "for__", "int", "exp", "expf", "y0", "slots", "status", "done", "errno", "NULL", "main", "uint16_t",
		"_Complex", "__FILE__", "__attribute__", "_", "_v", "max_i64", "f32x8",
	} {
		v := iv(word)
		body = append(body, &ir.Decl{Var: v, Init: num(int64(1) << i)})
		total = add(total, v)
	}
	body = append(body, &ir.Store{Array: sum, Index: num(0), Value: total})
	m := &ir.Module{Slots: arrays(sum), Funcs: []*ir.Func{{Name: "f", Body: block(body...)}}}
	args := []ir.Arg{ir.ArrayArg(ir.NewBuffer(dtype.I64, 1))}
	crun.Compile(t, m, crun.Options{Warnings: true}).Run(t, []string{"f"}, args)
	if got := args[0].Array.Int[0]; got != 1<<20-1 {
		source, _ := codegen.Emit(m, codegen.Options{})
		t.Errorf("got %d of %d\n%s", got, 1<<20-1, source)
	}
	if source, _ := codegen.Emit(m, codegen.Options{}); !strings.Contains(source, "for__") {
		t.Error("the word for keeps its name")
	}
}
