package conf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// field is one key of a mapping with its value.
type field struct {
	key   string
	line  int
	value *yaml.Node
}

// document returns the one value of a text; nil when the text is empty.
func document(text []byte) (*yaml.Node, Faults) {
	root, err := decode(text)
	if err == nil {
		return root, nil
	}
	if many, ok := errors.AsType[*yaml.TypeError](err); ok {
		faults := make(Faults, len(many.Errors))
		for i, text := range many.Errors {
			if strings.Contains(text, "already defined at line") {
				text += ": keep one of them"
			}
			faults[i] = placed(text)
		}
		return nil, faults
	}
	fault := placed(strings.TrimPrefix(err.Error(), "yaml: "))
	if line := broken(text); line > 0 {
		fault.Line = line
	}
	fault.Err = fmt.Errorf("this is no YAML: %w; mind colons, quotes, tabs and how far lines stand in", fault.Err)
	return nil, Faults{fault}
}

func decode(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: a second document begins: keep one", second.Line)}}
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	var all any // finds keys that come twice, and aliases that would grow without end
	if err := doc.Decode(&all); err != nil {
		return nil, err
	}
	if all == nil || len(doc.Content) == 0 {
		return nil, nil
	}
	return resolve(doc.Content[0]), nil
}

// broken returns the line from which on a text is no YAML: all before it is. The
// library names the block that the line is in, or none. 0: the text is too long to look.
func broken(text []byte) int {
	const most = 1000
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) > most {
		return 0
	}
	end := len(text)
	for n := len(lines); n > 0; n-- {
		end -= len(lines[n-1])
		_, err := decode(text[:end])
		if _, sound := errors.AsType[*yaml.TypeError](err); err == nil || sound {
			return n
		}
	}
	return 1
}

// placed cuts "line 3: " off a text.
func placed(text string) Fault {
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		number, what, _ := strings.Cut(rest, ": ")
		if line, err := strconv.Atoi(number); err == nil {
			return Fault{Line: line, Err: errors.New(what)}
		}
	}
	return Fault{Err: errors.New(text)}
}

// resolve follows aliases.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// null reports whether nothing is written where a value could be.
func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// fields lists the keys of a mapping in order, then those that it merges in and lacks.
func fields(n *yaml.Node) []field {
	var own, merged []field
	known := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		switch {
		case key.Tag != "!!merge":
			own = append(own, field{key.Value, key.Line, value})
			known[key.Value] = true
		case value.Kind == yaml.SequenceNode:
			for _, each := range value.Content {
				merged = append(merged, fields(resolve(each))...)
			}
		default:
			merged = append(merged, fields(value)...)
		}
	}
	for _, f := range merged {
		if !known[f.key] {
			own = append(own, f)
			known[f.key] = true
		}
	}
	return own
}

// find returns the field called key.
func find(in []field, key string) (field, bool) {
	for _, f := range in {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}

// value turns a node into what arguments are made of.
func value(n *yaml.Node) any {
	switch n = resolve(n); n.Kind {
	case yaml.MappingNode:
		return arguments(fields(n))
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = value(item)
		}
		return list
	default:
		var v any
		if n.Tag == "!!timestamp" || n.Decode(&v) != nil {
			return n.Value // as written
		}
		return v
	}
}

// arguments turns fields into arguments. A block within them is a map[string]any.
func arguments(in []field) map[string]any {
	args := make(map[string]any, len(in))
	for _, f := range in {
		args[f.key] = value(f.value)
	}
	return args
}

// wrong says that the value of key is not what it must be.
func wrong(key string, n *yaml.Node, remedy string) error {
	text := n.Value
	switch n.Kind {
	case yaml.MappingNode:
		text = "a mapping"
	case yaml.SequenceNode:
		text = "a list"
	default:
		if null(n) {
			text = "empty"
		} else {
			text = strconv.Quote(shorten(text))
		}
	}
	return fmt.Errorf("%s is %s: %s", key, text, remedy)
}

// shorten bounds what is repeated of a value.
func shorten(text string) string { return reason.Clip(text, 60) }

// unknown says that a name means nothing here.
func unknown(what, name string, known []string) error {
	return &framework.UnknownError{What: what, Name: name, Near: framework.Nearest(name, known), Known: known}
}
