// Package arch checks the shape of the source tree: who may import whom, where cgo may appear, that every package says
// what it is for, and that files stay readable.
//
// It must not import any package of the project: it reads their sources, so it also works while one doesn't compile.
package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "libsparse"

// allowed lists, for each package, the packages of the project that it may import; a package that is not listed is
// an offence too, so that a new one is placed in the graph on purpose. Tests of a package may import anything below
// its own level and are checked only for what nobody may do.
var allowed = map[string][]string{
	"libsparse/diag":   {},
	"libsparse/dtype":  {},
	"libsparse/ir":     {"diag", "dtype"},
	"libsparse/format": {"diag", "dtype", "ir"}, // a level format gives the loop code of its iterators
	"libsparse/index":  {"diag", "dtype"},       // notation, whatever is stored
	"libsparse/bind":   {"diag", "dtype", "format", "index"},
	// assignments for tests; nothing but tests imports it
	"libsparse/bind/bindtest": {"bind", "dtype", "format", "index"},

	"libsparse/cin":          {"diag", "dtype", "format", "index", "bind"},
	"libsparse/schedule":     {"diag", "dtype", "format", "index", "bind", "cin", "lattice"},
	"libsparse/infer":        {"diag", "dtype", "format", "index", "bind", "cin"},
	"libsparse/lattice":      {"diag", "dtype", "format", "index", "bind", "cin"},
	"libsparse/lower":        {"diag", "dtype", "format", "index", "bind", "cin", "lattice", "ir"},
	"libsparse/execute":      {"dtype", "format", "index", "bind", "ir", "lower"},
	"libsparse/tensorfile":   {"diag", "dtype", "format"},
	"libsparse/autoschedule": {"diag", "dtype", "format", "index", "bind", "cin", "schedule", "lattice", "infer"},
	"libsparse/asymptotic":   {"diag", "dtype", "format", "index", "bind", "cin", "schedule"},

	"libsparse/backend": {"ir"},

	"cache":   {"diag"},
	"codegen": {"diag", "dtype", "ir"},
	// runs emitted C in a process of its own
	"codegen/process": {"diag", "dtype", "ir", "/codegen"},
	// the backend for the machine's processor
	"codegen/native": {"backend", "ir", "/codegen", "/codegen/process"},
	// the same for tests; nothing but tests imports it
	"codegen/crun": {"diag", "ir", "/codegen", "/codegen/process"},
	"libsparse": {
		"diag", "dtype", "format", "index", "bind", "cin", "schedule", "infer", "lattice", "ir", "lower",
		"autoschedule", "backend", "/cache",
	},
	// what the command line and tuners ask beside compilation
	"libsparse/frontier":   {"diag", "dtype", "format", "index", "bind", "infer", "autoschedule", "asymptotic", "/libsparse"},
	"libsparse/candidates": {"diag", "autoschedule", "backend", "/libsparse"},
	"libsparse/prices":     {"diag", "autoschedule", "backend", "/libsparse"},
	// numbers that describe a pattern
	"libsparse/pattern": {"diag", "format"},
	// tuners, which know nothing of tensors
	"libsparse/tune/space": {"diag"},
	"libsparse/tune/bayes": {"diag", "tune/space"},
	// what a schedule's features say about its time
	"libsparse/tune/learned": {"diag"},
	// the schedules of a request as a space
	"libsparse/tune/kernels": {
		"diag", "format", "index", "bind", "cin", "schedule", "autoschedule", "backend", "pattern", "tune/space", "tune/bayes", "tune/learned", "/libsparse",
	},
	"capi":          {"/libsparse", "diag", "format", "tensorfile", "/cache", "/codegen", "/codegen/native", "/command", "pattern", "tune/kernels"},
	"cmd/libsparse": {"/command"},
	// the command line, a program of the library and one without it
	"command": {
		"/libsparse", "diag", "dtype", "format", "index", "ir", "lower", "schedule", "execute", "tensorfile", "asymptotic", "frontier", "candidates", "prices", "tune/space", "tune/bayes",
		"/codegen/native", "/cache",
	},
}

// maxLines is the cap; a file that reaches it has a second concern to move out.
const maxLines = 400

// file is one parsed source.
type file struct {
	path  string // relative to the repository, with slashes
	pkg   string // folder, relative to the repository
	test  bool
	lines int
	ast   *ast.File
}

// sources parses every Go file of the repository.
func sources(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	var files []file
	err := filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			hidden := strings.HasPrefix(name, ".") && name != ".." && name != "."
			if hidden || name == "testdata" || name == "build" || name == "python" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		files = append(files, file{
			path: rel, pkg: path.Dir(rel), test: strings.HasSuffix(name, "_test.go"),
			lines: bytes.Count(text, []byte("\n")), ast: tree,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no Go files found: the test runs in the wrong folder")
	}
	return files
}

// imports lists the import paths of f.
func (f file) imports(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}

// folder turns an entry of the table into the folder it stands for.
func folder(entry string) string {
	if rest, ok := strings.CutPrefix(entry, "/"); ok {
		return rest
	}
	return module + "/" + entry
}

// offence says why pkg may not import target, or "".
func offence(pkg, target string) string {
	entries, known := allowed[pkg]
	if !known {
		return pkg + " is not in the table of packages: add it to tests/arch with what it may import"
	}
	if slices.ContainsFunc(entries, func(e string) bool { return folder(e) == target }) {
		return ""
	}
	return pkg + " -> " + target + " is not an allowed import"
}

func TestImportsFollowTheGraph(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || strings.HasPrefix(f.pkg, "tests/") {
			continue
		}
		if _, known := allowed[f.pkg]; !known {
			t.Errorf("%s: %s", f.path, offence(f.pkg, ""))
			continue
		}
		for _, p := range f.imports(t) {
			target, ours := strings.CutPrefix(p, module+"/")
			if !ours {
				continue
			}
			if why := offence(f.pkg, target); why != "" {
				t.Errorf("%s: %s", f.path, why)
			}
		}
	}
}

func TestTheTableHasNoCycle(t *testing.T) {
	const entered, done = 1, 2
	state := map[string]int{}
	var visit func(pkg string, trail []string)
	visit = func(pkg string, trail []string) {
		trail = append(trail, pkg)
		if state[pkg] == entered {
			t.Fatalf("cycle: %s", strings.Join(trail, " -> "))
		}
		if state[pkg] == done {
			return
		}
		state[pkg] = entered
		for _, entry := range allowed[pkg] {
			if _, known := allowed[folder(entry)]; !known {
				t.Errorf("%s may import %s, which is not in the table", pkg, folder(entry))
			}
			visit(folder(entry), trail)
		}
		state[pkg] = done
	}
	for pkg := range allowed {
		visit(pkg, nil)
	}
}

// The check itself has to bite.
func TestAForbiddenEdgeIsNamed(t *testing.T) {
	for _, edge := range [][2]string{
		{"libsparse/dtype", "libsparse/diag"},
		{"libsparse/ir", "libsparse/index"},
		{"codegen", "libsparse"},
		{"cache", "libsparse"},
		{"libsparse/lower", "codegen"},
		{"libsparse", "codegen"},
		{"libsparse/nowhere", "libsparse/diag"},
	} {
		if offence(edge[0], edge[1]) == "" {
			t.Errorf("%s -> %s passes", edge[0], edge[1])
		}
	}
	if why := offence("codegen", "libsparse/ir"); why != "" {
		t.Errorf("an allowed edge is refused: %s", why)
	}
}

func TestOnlyCapiUsesCgo(t *testing.T) {
	for _, f := range sources(t) {
		if f.pkg != "capi" && slices.Contains(f.imports(t), "C") {
			t.Errorf("%s imports \"C\"; only capi may", f.path)
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range sources(t) {
		if f.test && !strings.HasPrefix(f.pkg, "tests/") {
			continue
		}
		documented[f.pkg] = documented[f.pkg] || f.ast.Doc != nil
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment: say what it does and what it must not do", pkg)
		}
	}
}

func TestNamesAndLengths(t *testing.T) {
	for _, f := range sources(t) {
		switch name := f.ast.Name.Name; name {
		case "util", "utils", "common", "helpers", "misc":
			t.Errorf("%s: package %s names nothing; call it after what it does", f.path, name)
		}
		if f.lines > maxLines {
			t.Errorf("%s has %d lines, the cap is %d: move a concern out", f.path, f.lines, maxLines)
		}
	}
}

// Tensors of expressions and their storage are shared by all of a compilation: stages put other storage into a table of their own.
func TestTensorsOfAccessesDontChange(t *testing.T) {
	for _, f := range sources(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			assign, ok := n.(*ast.AssignStmt)
			if !ok || f.test {
				return true
			}
			for _, place := range assign.Lhs {
				field, ok := place.(*ast.SelectorExpr)
				if !ok {
					continue
				}
				of := field.X
				if call, ok := of.(*ast.CallExpr); ok {
					of = call.Fun
				}
				if s, ok := of.(*ast.SelectorExpr); ok && slices.Contains([]string{"Tensor", "Of", "Result"}, s.Sel.Name) {
					t.Errorf("%s: the field %s of a tensor or of its storage is set; make another one, see bind.Table", f.path, field.Sel.Name)
				}
			}
			return true
		})
	}
}

// What loops visit is computed in one place; lowering asks its table, also for loops that it restricts.
func TestLoweringBuildsNoLattice(t *testing.T) {
	for _, f := range sources(t) {
		if !strings.Contains(filepath.ToSlash(f.path), "libsparse/lower/") || f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "Build" || s.Sel.Name == "Loop" || s.Sel.Name == "Of") {
				if of, ok := s.X.(*ast.Ident); ok && of.Name == "lattice" {
					t.Errorf("%s calls lattice.%s; ask the table of the lattice stage", f.path, s.Sel.Name)
				}
			}
			return true
		})
	}
}

// pyproject.toml is where the version is changed; the package needs it without reading its own metadata.
func TestTheVersionIsOne(t *testing.T) {
	var found []string
	for _, place := range [][2]string{{"pyproject.toml", `(?m)^version = "(.*)"`}, {"python/libsparse/_compiler/version.py", `(?m)^VERSION = "(.*)"`}} {
		text, err := os.ReadFile(filepath.Join("..", "..", place[0]))
		if err != nil {
			t.Fatal(err)
		}
		match := regexp.MustCompile(place[1]).FindSubmatch(text)
		if match == nil {
			t.Fatalf("%s has no version", place[0])
		}
		found = append(found, string(match[1]))
	}
	if found[0] != found[1] {
		t.Errorf("pyproject.toml says %s, python/libsparse/_compiler/version.py says %s", found[0], found[1])
	}
}
