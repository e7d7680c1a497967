package pkg_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// imports checks each import against the table.
func (h *house) imports() (found []string) {
	for dir, files := range h.packages() {
		r, ok := roomOf(dir)
		if !ok {
			found = append(found, fmt.Sprintf("%s: no room of the import table; add a row to rooms()", dir))
			continue
		}
		for _, f := range files {
			for name, spec := range importsOf(f) {
				if why := r.refuses(dir, f, name); why != "" {
					found = append(found, fmt.Sprintf("%s: %s must not import %s: %s", h.at(spec), dir, name, why))
				}
			}
		}
		for prefix, why := range deepBans(dir, r.pure) {
			if way := h.route(module+"/"+dir, prefix); way != nil {
				found = append(found, fmt.Sprintf("%s reaches %s: %s", dir, strings.Join(way, " → "), why))
			}
		}
	}
	slices.Sort(found)
	return found
}

// refuses says why a file must not import name; empty when it may.
func (r room) refuses(dir string, f *file, name string) string {
	if strings.HasPrefix(dir, "pkg/controllers/") && strings.HasSuffix(f.name, "/step.go") &&
		hasPrefix([]string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/"}, name) {
		return "a step is pure: it says what is to be done and has no client"
	}
	if ours, ok := strings.CutPrefix(name, module+"/"); ok {
		if matches(r.ours, ours) {
			return ""
		}
		return r.why
	}
	if why, banned := directBans()[name]; r.pure && banned {
		return why
	}
	if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") || hasPrefix(r.outside, name) {
		return ""
	}
	return r.why
}

// undocumented finds packages without a comment that says what they are for.
func (h *house) undocumented() (found []string) {
	for dir, files := range h.packages() {
		documented := slices.ContainsFunc(files, func(f *file) bool { return len(strings.TrimSpace(f.Doc.Text())) > 20 })
		if !documented {
			found = append(found, dir+": no package comment; say what the package is for and what it does not do")
		}
	}
	slices.Sort(found)
	return found
}

// size is how big something is.
type size struct {
	what string
	n    int
}

// worst sorts by size, biggest first.
func worst(sizes []size) []size {
	slices.SortFunc(sizes, func(a, b size) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.what, b.what)) })
	return sizes
}

// budget is the most of something that is allowed.
type budget struct {
	name  string
	max   int
	sizes []size
}

// budgets measures everything that has one.
func (h *house) budgets() []budget {
	var files, tests, functions, branches, parameters, packages []size
	for _, f := range h.files {
		if f.generated {
			continue
		}
		if f.test {
			tests = append(tests, size{f.name, f.lines})
		} else {
			files = append(files, size{f.name, f.lines})
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			what := h.at(fn) + " " + fn.Name.Name
			excuse := excuses(f, fn)
			if !strings.Contains(excuse, "funlen") {
				functions = append(functions, size{what, h.fset.Position(fn.End()).Line - h.fset.Position(fn.Pos()).Line + 1})
			}
			if !strings.Contains(excuse, "gocyclo") {
				branches = append(branches, size{what, cyclomatic(fn)})
			}
			if !strings.Contains(excuse, "revive") { // it is of a foreign interface
				parameters = append(parameters, size{what, fn.Type.Params.NumFields()})
			}
		}
	}
	for dir, files := range h.packages() {
		own := slices.DeleteFunc(slices.Clone(files), func(f *file) bool { return f.generated })
		packages = append(packages, size{dir, len(own)})
	}
	return []budget{
		{"lines of a file", 350, worst(files)},
		{"lines of a test file", 600, worst(tests)},
		{"lines of a function", 80, worst(functions)},
		{"cyclomatic complexity of a function", 15, worst(branches)},
		{"parameters of a function", 5, worst(parameters)},
		{"files of a package", 15, worst(packages)},
	}
}

// excuses returns the nolint comment of a function; the linter demands that it gives a reason.
func excuses(f *file, fn *ast.FuncDecl) string {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//nolint:") && c.End() <= fn.Body.Lbrace && fn.Pos()-c.End() < 200 && (fn.Doc == nil || c.Pos() >= fn.Doc.Pos()) {
				return c.Text
			}
		}
	}
	return ""
}

// cyclomatic counts the ways through a function.
func cyclomatic(fn *ast.FuncDecl) int {
	n := 1
	ast.Inspect(fn, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// state finds init functions anywhere and, in pure rooms, variables of packages.
func (h *house) state() (found []string) {
	for _, f := range h.files {
		if f.test || f.generated {
			continue
		}
		r, _ := roomOf(f.dir())
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					found = append(found, h.at(d)+": init(): put it in a function that somebody calls")
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR && r.pure {
					found = append(found, h.globals(d)...)
				}
			}
		}
	}
	return found
}

// globals finds the variables of a declaration that are not constant in all but name.
func (h *house) globals(d *ast.GenDecl) (found []string) {
	for _, s := range d.Specs {
		spec, ok := s.(*ast.ValueSpec)
		if !ok || strings.Contains(d.Doc.Text()+spec.Doc.Text(), "go:embed") {
			continue
		}
		for i, name := range spec.Names {
			if name.Name == "_" || (i < len(spec.Values) && constant(spec.Values[i])) {
				continue
			}
			found = append(found, fmt.Sprintf("%s: variable %s of a package: make it a constant, a field, or a function that returns a fresh value", h.at(name), name.Name))
		}
	}
	return found
}

// constant reports whether an expression makes an error or compiles a regular expression.
func constant(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	name := types.ExprString(call.Fun)
	return slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile"}, name)
}

// impure finds, in pure rooms, goroutines, uses of the clock, and walks over maps
// whose order may reach a decision.
func (h *house) impure() (found []string) {
	byDir := h.packages()
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		if r, _ := roomOf(dir); !r.pure {
			continue
		}
		info, err := h.typesOf(dir, byDir[dir])
		if err != nil {
			found = append(found, fmt.Sprintf("%s: can't be checked: %v", dir, err))
			continue
		}
		for _, f := range byDir[dir] {
			if f.generated {
				continue
			}
			for _, d := range f.Decls {
				found = append(found, h.impureIn(f, d, info)...)
			}
		}
	}
	return found
}

func (h *house) impureIn(f *file, d ast.Decl, info *types.Info) (found []string) {
	sorts := false
	var walks []ast.Node
	ast.Inspect(d, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			found = append(found, h.at(node)+": go statement: the edge has the goroutines")
		case *ast.SelectorExpr:
			switch name := qualified(node, info); {
			case slices.Contains([]string{"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick"}, name):
				found = append(found, h.at(node)+": "+name+": time is a parameter")
			case strings.HasPrefix(name, "slices.Sort"), strings.HasPrefix(name, "sort."):
				sorts = true
			}
		case *ast.RangeStmt:
			if unordered(node.X, info) && !excused(h, f, node) {
				walks = append(walks, node)
			}
		}
		return true
	})
	if !sorts {
		for _, w := range walks {
			found = append(found, h.at(w)+": range over a map: sort the keys, or say above it why order does not matter: //muster:anyorder …")
		}
	}
	return found
}

// qualified returns package.Name for a name of a package, else nothing.
func qualified(e *ast.SelectorExpr, info *types.Info) string {
	if id, ok := e.X.(*ast.Ident); ok {
		if p, ok := info.Uses[id].(*types.PkgName); ok {
			return p.Imported().Path() + "." + e.Sel.Name
		}
	}
	return ""
}

// unordered reports whether an expression yields the entries of a map in any order.
func unordered(e ast.Expr, info *types.Info) bool {
	if call, ok := e.(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			return slices.Contains([]string{"maps.All", "maps.Keys", "maps.Values"}, qualified(sel, info))
		}
	}
	t := info.TypeOf(e)
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// excused reports whether the line above, or the same, says why order does not matter.
func excused(h *house, f *file, n ast.Node) bool {
	line := h.fset.Position(n.Pos()).Line
	for _, group := range f.Comments {
		for _, c := range group.List {
			reason, ok := strings.CutPrefix(c.Text, "//muster:anyorder ")
			if at := h.fset.Position(c.Pos()).Line; ok && len(reason) > 3 && (at == line || at == line-1) {
				return true
			}
		}
	}
	return false
}
