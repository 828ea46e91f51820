// Package libsparse is the compiler: Compile turns an expression over tensors in given formats into a shared object with
// a kernel for exactly that, or finds it in the cache. pipeline.go lists the stages.
//
// It must not run kernels, and nothing from here down uses cgo.
package libsparse

import (
	"context"
	"path/filepath"
	"strings"

	"libsparse/cache"
	"libsparse/libsparse/backend"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lower"
)

// ABI is the version of the kernel interface: the slot block, the statuses, the fields of Kernel.
const ABI = 2

// Kernel describes a compiled kernel. Its JSON form is what callers read.
type Kernel struct {
	ABI     int    `json:"abi"`
	Version string `json:"version"`
	Key     string `json:"key"`
	// Object and Source are paths below the version's folder in the cache.
	Object string `json:"object"`
	Source string `json:"source"`
	// SHA256 is that of the object file.
	SHA256 string `json:"sha256"`
	// Assemble and Compute are the entry points; Assemble is empty if the result's pattern is known beforehand.
	Assemble string `json:"assemble"`
	// Revalue computes the values of a result whose positions and coordinates an earlier call has left; empty if there is no such function.
	Revalue string `json:"revalue,omitempty"`
	// Bound finds how many entries a result may have, before Assemble; empty if there is no such function.
	Bound   string       `json:"bound,omitempty"`
	Compute string       `json:"compute"`
	Slots   []lower.Slot `json:"slots"`
	Output  KernelOutput `json:"output"`
	// Convert lists the operands to convert to another format first; the slots mean the converted ones.
	Convert []Convert `json:"convert,omitempty"`
	// Expression is the assignment, Notes are the scheduler's choices with their reasons.
	Expression string   `json:"expression"`
	Notes      []string `json:"notes"`
	// Steps are what to compute in place of one kernel, one after the other; then there is no object.
	Steps []Step `json:"steps,omitempty"`
}

// Step is one assignment of several, to be compiled by itself.
type Step struct {
	Result   string   `json:"result"`
	Indices  []string `json:"indices"`
	Expr     string   `json:"expr"`
	Operands []string `json:"operands"`
	// Dtype is the type of the result, which halves among the operands don't decide.
	Dtype string `json:"dtype"`
	// Temporary and Format go into the output of the request for this step.
	Temporary bool   `json:"temporary,omitempty"`
	Format    string `json:"format,omitempty"`
}

// KernelOutput describes the result of a kernel.
type KernelOutput struct {
	Format string `json:"format"`
	Dtype  string `json:"dtype"`
	Index  string `json:"index"`
	// PatternOf is the operand whose pattern the result has, or -1.
	PatternOf int `json:"pattern_of"`
}

// Convert is an operand and the format to convert it to.
type Convert struct {
	Operand int    `json:"operand"`
	Format  string `json:"format"`
	// Values says that the values are brought into the new order, too, and kept until they are written to.
	Values bool `json:"values,omitempty"`
}

// Compiler compiles requests. It is safe for concurrent use.
type Compiler struct {
	// Version names the compiler in the cache.
	Version string
	Backend backend.Backend
}

// Compile returns the kernel for a request. The second caller of one kernel waits for the first, in this process or
// another.
func (c *Compiler) Compile(ctx context.Context, r *Request) (*Kernel, error) {
	if r.Target.CacheDir == "" {
		return nil, diag.Errorf(diag.Cache, "the request names no cache folder")
	}
	unit, err := Lower(r, c.Backend)
	if err != nil {
		return nil, err
	}
	store, err := cache.Open(r.Target.CacheDir, c.Version)
	if err != nil {
		return nil, err
	}
	if len(unit.Nests) > 1 {
		return c.publish(r, store, c.describeSteps(unit))
	}
	nest := unit.Nests[0]
	tools, err := c.Backend.Toolchain(ctx, r.Target.Tools())
	if err != nil {
		return nil, err
	}
	identity := append([]string{withoutHeading(nest.Source)}, tools.Identity()...)
	key := cache.Key(append(identity, r.Target.CPU, r.Target.OpenMP)...)
	built := false
	entry, err := store.Build(ctx, key, nest.Source, func(dir string) error {
		built = true
		return tools.Build(ctx, filepath.Join(dir, cache.SourceName), filepath.Join(dir, cache.ObjectName))
	})
	if err != nil {
		return nil, err
	}
	k, err := c.publish(r, store, c.describe(nest, store, entry))
	if built {
		_ = store.Trim(r.Target.cacheBytes()) // the kernel is there, whether or not others could be removed
	}
	return k, err
}

// withoutHeading is C without the comment that it begins with, which names the request: others may have the same code, such as a transposed operand.
func withoutHeading(source string) string {
	if heading, code, found := strings.Cut(source, "*/"); found && strings.HasPrefix(heading, "/*") {
		return code
	}
	return source
}

// publish enters the answer to a request in the cache's table.
func (c *Compiler) publish(r *Request, store *cache.Store, k *Kernel) (*Kernel, error) {
	if r.Key == "" {
		return k, nil
	}
	if err := store.PutRequest(r.Key, marshal(k)); err != nil {
		return nil, err
	}
	return k, nil
}

func (c *Compiler) describeSteps(unit *Compilation) *Kernel {
	k := &Kernel{ABI: ABI, Version: c.Version, Expression: lines(unit.Program), Output: KernelOutput{PatternOf: -1}}
	for _, n := range unit.Nests {
		a := n.Assignment
		step := Step{Result: a.LHS.Tensor.Name, Expr: a.String(), Indices: []string{}, Dtype: string(a.LHS.Tensor.Elem), Temporary: n.Output.Temporary}
		for _, v := range a.LHS.Vars {
			step.Indices = append(step.Indices, string(v))
		}
		for _, t := range n.Operands {
			step.Operands = append(step.Operands, t.Name)
		}
		k.Steps = append(k.Steps, step)
		k.Notes = append(k.Notes, "step: "+step.Expr)
	}
	if unit.Request.Output.Format == "" {
		last := len(unit.Nests) - 1
		k.Steps[last].Format = unit.Nests[last].Output.Format
	}
	return k
}

// describe is the kernel as its callers see it.
func (c *Compiler) describe(n *Nest, store *cache.Store, entry cache.Entry) *Kernel {
	result, stored := n.Assignment.LHS.Tensor, n.Assignment.Result()
	k := &Kernel{
		ABI: ABI, Version: c.Version, Key: entry.Key, SHA256: entry.SHA256,
		Object: below(store.Root(), entry.Object), Source: below(store.Root(), entry.Source),
		Compute: lower.ComputeName,
		Output: KernelOutput{
			Format: stored.Format.String(), Dtype: string(result.Elem), Index: string(stored.Index), PatternOf: -1,
		},
		Expression: n.Assignment.String(),
		Notes:      append([]string{n.Decision.Summary}, n.Decision.Notes...),
	}
	if n.Kernel.Assembled {
		k.Assemble = lower.AssembleName
	}
	if n.Kernel.Bounded {
		k.Bound = lower.BoundName
	}
	if n.Kernel.Revalued {
		k.Revalue = lower.RevalueName
	}
	if stored.SamePattern != nil {
		k.Output.PatternOf = n.operand(n.Assignment.Owner(result))
	}
	tensors := n.Assignment.Tensors()
	for _, slot := range n.Kernel.Layout {
		if slot.Operand >= 0 && slot.Kind != "threads" && slot.Kind != "streamed" && slot.Kind != "extent" {
			slot.Operand = n.operand(tensors[slot.Operand])
		}
		k.Slots = append(k.Slots, slot)
	}
	for _, conv := range n.Decision.Conversions {
		if conv.Tensor == result {
			continue // the format of the output says it
		}
		k.Convert = append(k.Convert, Convert{Operand: n.operand(conv.Tensor), Format: conv.To.String(), Values: conv.Values})
	}
	return k
}

// operand is the place of a tensor in the request.
func (n *Nest) operand(t *index.Tensor) int {
	for i, o := range n.Operands {
		if o.Name == t.Name {
			return i
		}
	}
	panic("BUG: " + t.Name + " is no operand")
}

func below(root, path string) string {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return path
	}
	return rel
}
