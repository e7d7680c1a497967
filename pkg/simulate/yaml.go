package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader reads the YAML of one file and gathers what is wrong with it.
type reader struct {
	file   string
	faults Faults
}

// field is one key of a mapping, with its value and its path.
type field struct {
	key  string
	path string
	line int
	node *yaml.Node
}

// documents returns the values of a text, one after the other.
func (r *reader) documents(text []byte) []*yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	var docs []*yaml.Node
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err == nil {
			var all any // finds keys that come twice, and aliases that would grow without end
			err = doc.Decode(&all)
		}
		if err != nil {
			r.noYAML(err)
			return docs
		}
		if len(doc.Content) > 0 && !null(doc.Content[0]) {
			docs = append(docs, resolve(doc.Content[0]))
		}
	}
}

// noYAML says what the library says, with the line that it names.
func (r *reader) noYAML(err error) {
	texts := []string{err.Error()}
	if many, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = many.Errors
	}
	for _, text := range texts {
		text = strings.TrimPrefix(text, "yaml: ")
		line := 0
		if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(text); m != nil {
			line, _ = strconv.Atoi(m[1])
			text = text[len(m[0]):]
		}
		r.faults = append(r.faults, Fault{File: r.file, Line: line, What: "this is no YAML: " + text, Remedy: "mind colons, quotes, tabs and how far lines stand in"})
	}
}

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// wrong notes that the value of a field can't be right.
func (r *reader) wrong(f field, remedy string) {
	fault := Fault{File: r.file, Line: f.line, Field: f.path, Remedy: remedy}
	switch n := f.node; {
	case n.Kind == yaml.MappingNode:
		fault.What = "is a mapping"
	case n.Kind == yaml.SequenceNode:
		fault.What = "is a list"
	case !null(n):
		fault.Value = n.Value
	}
	r.faults = append(r.faults, fault)
}

// lacks notes that a key is not there.
func (r *reader) lacks(at field, key, remedy string) {
	r.faults = append(r.faults, Fault{File: r.file, Line: at.line, Field: join(at.path, key), What: "is not given", Remedy: remedy})
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// fields are the keys of a mapping by name. Keys that are not known are noted; without known, all are.
func (r *reader) fields(at field, known ...string) map[string]field {
	if at.node.Kind != yaml.MappingNode {
		r.wrong(at, "write keys with values")
		return nil
	}
	out := map[string]field{}
	for i := 0; i+1 < len(at.node.Content); i += 2 {
		key, value := resolve(at.node.Content[i]), resolve(at.node.Content[i+1])
		if key.Tag == "!!merge" {
			r.faults = append(r.faults, Fault{File: r.file, Line: key.Line, Field: join(at.path, "<<"), What: "merges are not read", Remedy: "write the keys out"})
			continue
		}
		f := field{key.Value, join(at.path, key.Value), key.Line, value}
		if len(known) > 0 && !slices.Contains(known, key.Value) {
			r.faults = append(r.faults, unknown(place{r.file, key.Line}, "key", f.path, prefixed(at.path, known)))
			continue
		}
		if !null(value) {
			out[key.Value] = f
		}
	}
	return out
}

func prefixed(path string, keys []string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = join(path, k)
	}
	return out
}

// items are the values of a list.
func (r *reader) items(f field) []field {
	if f.node.Kind != yaml.SequenceNode {
		r.wrong(f, "write a list, each item behind a dash")
		return nil
	}
	out := make([]field, len(f.node.Content))
	for i, n := range f.node.Content {
		n = resolve(n)
		out[i] = field{node: n, line: n.Line, path: fmt.Sprintf("%s[%d]", f.path, i)}
	}
	return out
}

// text reads a scalar by a function that returns a remedy when it can't.
func text[T any](r *reader, f field, read func(string) (T, string)) (value T) {
	remedy := "write one value"
	if f.node.Kind == yaml.ScalarNode {
		if value, remedy = read(f.node.Value); remedy == "" {
			return value
		}
	}
	r.wrong(f, remedy)
	return value
}

// strings reads a mapping of texts.
func (r *reader) strings(f field) map[string]string {
	out := map[string]string{}
	fields := r.fields(f)
	//muster:anyorder a copy from map to map
	for key, each := range fields {
		out[key] = text(r, each, func(s string) (string, string) { return s, "" })
	}
	return out
}

// into reads a value into one of the API's types; only says what is wrong with it.
func (r *reader) into(f field, target any) bool {
	var plain any
	if err := f.node.Decode(&plain); err != nil {
		r.wrong(f, err.Error())
		return false
	}
	data, err := json.Marshal(plain)
	if err == nil {
		err = json.Unmarshal(data, target)
	}
	if err != nil {
		r.wrong(f, "that can't be read as what the API has there: "+err.Error())
		return false
	}
	return true
}
