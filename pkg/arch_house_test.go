package pkg_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// house is the source tree as the rules look at it.
type house struct {
	fset  *token.FileSet
	files []*file
	// built is what the go command knows of packages, by import path: of ours and of all they reach.
	built map[string]pkg
}

// file is one Go file.
type file struct {
	*ast.File
	name      string // slashed, from the root of the tree
	lines     int
	test      bool // _test.go
	generated bool
}

func (f *file) dir() string { return path.Dir(f.name) }

// pkg is what `go list` tells.
type pkg struct {
	ImportPath string
	Imports    []string
	Export     string // file of export data
	Standard   bool
}

// read parses all Go files under root and asks the go command for what they import.
// Reading each file also tells `go test` what a cached result depends on.
func read(root string) (*house, error) {
	sources := map[string]string{}
	for _, top := range []string{"apis", "cmd", "integrations", "pkg", "test"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
				return err
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			short, err := filepath.Rel(root, name)
			sources[filepath.ToSlash(short)] = string(text)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", top, err)
		}
	}
	if _, err := os.ReadFile(filepath.Join(root, "go.mod")); err != nil {
		return nil, err
	}
	h, err := parse(sources)
	if err != nil {
		return nil, err
	}
	h.built, err = list(root, "./apis/...", "./cmd/...", "./integrations/...", "./pkg/...")
	return h, err
}

// parse makes a house of sources by name.
func parse(sources map[string]string) (*house, error) {
	h := &house{fset: token.NewFileSet()}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		text := sources[name]
		syntax, err := parser.ParseFile(h.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		h.files = append(h.files, &file{
			File: syntax, name: name, lines: strings.Count(text, "\n"),
			test: strings.HasSuffix(name, "_test.go"), generated: ast.IsGenerated(syntax),
		})
	}
	return h, nil
}

// list asks the go command, which compiles what is not compiled yet. It is asked
// for the same build as everything else here, so that the cache serves all.
func list(root string, patterns ...string) (map[string]pkg, error) {
	args := append([]string{"list", "-e", "-export", "-deps", "-json=ImportPath,Imports,Export,Standard"}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	built := map[string]pkg{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return built, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		built[p.ImportPath] = p
	}
}

// packages groups the files that are not tests by folder.
func (h *house) packages() map[string][]*file {
	out := map[string][]*file{}
	for _, f := range h.files {
		if !f.test {
			out[f.dir()] = append(out[f.dir()], f)
		}
	}
	return out
}

// at says where something is.
func (h *house) at(n ast.Node) string {
	p := h.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// typesOf type-checks one package and returns the types of its expressions.
func (h *house) typesOf(dir string, files []*file) (*types.Info, error) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(h.fset, "gc", func(name string) (io.ReadCloser, error) {
		p, ok := h.built[name]
		if !ok || p.Export == "" {
			return nil, fmt.Errorf("%s does not compile", name)
		}
		return os.Open(p.Export)
	})}
	syntax := make([]*ast.File, len(files))
	for i, f := range files {
		syntax[i] = f.File
	}
	_, err := config.Check(module+"/"+dir, h.fset, syntax, info)
	return info, err
}

// importsOf yields the import paths of a file.
func importsOf(f *file) map[string]*ast.ImportSpec {
	out := map[string]*ast.ImportSpec{}
	for _, spec := range f.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			out[name] = spec
		}
	}
	return out
}

// route returns the shortest way of imports from one package to one that starts with prefix.
func (h *house) route(from, prefix string) []string {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range h.built[queue[0]].Imports {
			if _, seen := before[next]; seen || h.built[next].Standard || next == "C" {
				continue
			}
			before[next] = queue[0]
			if strings.HasPrefix(next+"/", prefix) && !strings.HasPrefix(next, module) {
				way := []string{next}
				for p := queue[0]; p != from; p = before[p] {
					way = append(way, p)
				}
				slices.Reverse(way)
				return way
			}
			queue = append(queue, next)
		}
	}
	return nil
}
