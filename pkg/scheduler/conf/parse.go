package conf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Keys at the top of volcano-scheduler.conf.
const (
	keyActions        = "actions"
	keyTiers          = "tiers"
	keyConfigurations = "configurations"
	keyMetrics        = "metrics"
	keyPercentage     = "percentageOfNodesToScore"
)

// longest is how many bytes a text may have: to find keys that come twice, the library
// compares each with each, and a mebibyte of them takes a minute.
const longest = 128 << 10

// Parse reads volcano-scheduler.conf, or a KubeSchedulerConfiguration, for the
// actions and plugins there are. What the text does not say is as in [Default].
// The error is [Faults]: everything that is wrong, each with its line.
func Parse(text []byte, actions map[string]func() engine.Action, registry framework.Registry) (engine.Config, error) {
	var table resource.Table
	p := &parser{actions: actions, registry: registry, env: framework.Env{Dim: table.Dim}, config: Default(), seen: map[string]seen{}, told: map[string]engine.Action{}}
	if len(text) > longest {
		return engine.Config{}, Faults{{Err: fmt.Errorf("the text has %d bytes: give at most %d", len(text), longest)}}
	}
	root, faults := document(text)
	switch {
	case faults != nil:
		p.faults = faults
	case root == nil:
		p.wrong(0, errors.New("the text is empty: write at least one of "+strings.Join(topKeys(), ", ")))
	case root.Kind != yaml.MappingNode:
		p.wrong(root.Line, wrong("the text", root, "give a mapping with the keys "+strings.Join(topKeys(), ", ")))
	default:
		p.top(fields(root))
	}
	if err := p.faults.err(); err != nil {
		return engine.Config{}, err
	}
	return p.config, nil
}

func topKeys() []string {
	return []string{keyActions, keyTiers, keyConfigurations, keyMetrics, keyPercentage}
}

// parser gathers a configuration and what is wrong with its text.
type parser struct {
	actions  map[string]func() engine.Action
	registry framework.Registry
	env      framework.Env
	config   engine.Config
	seen     map[string]seen          // plugins by name
	told     map[string]engine.Action // actions that have their arguments, by name
	faults   Faults
}

func (p *parser) wrong(line int, err error) { p.faults = append(p.faults, Fault{Line: line, Err: err}) }

// idle notes that a setting means nothing here, once.
func (p *parser) idle(line int, what, because string) {
	said := fmt.Sprintf("line %d: %s has no effect here: %s", line, what, because)
	if !slices.Contains(p.config.Idle, said) {
		p.config.Idle = append(p.config.Idle, said)
	}
}

func (p *parser) top(all []field) {
	_, versioned := find(all, "apiVersion")
	_, kind := find(all, "kind")
	if versioned || kind {
		p.kubeScheduler(all)
		return
	}
	for _, f := range all {
		switch {
		case !slices.Contains(topKeys(), f.key):
			p.wrong(f.line, unknown("key", f.key, topKeys()))
		case null(f.value): // as if it were not there
		case f.key == keyActions:
			p.readActions(f)
		case f.key == keyTiers:
			p.readTiers(f)
		case f.key == keyConfigurations:
			p.readConfigurations(f)
		case f.key == keyMetrics:
			p.readMetrics(f)
		case f.key == keyPercentage:
			p.readPercentage(f)
		}
	}
	for i, a := range p.config.Actions {
		if told, ok := p.told[a.Name()]; ok {
			p.config.Actions[i] = told
		}
	}
	p.match(all)
}

// kubeScheduler reads a KubeSchedulerConfiguration, of which one number counts here.
func (p *parser) kubeScheduler(all []field) {
	const group, kind = "kubescheduler.config.k8s.io/", "KubeSchedulerConfiguration"
	name, isKind := find(all, "kind")
	version, isVersion := find(all, "apiVersion")
	switch {
	case isKind && name.value.Value == "ConfigMap":
		p.mustBe("kind", name, all, "give the text of its key "+mainKey+" alone, or name the ConfigMap with --scheduler-conf-configmap")
		return
	case !isKind || name.value.Value != kind:
		p.mustBe("kind", name, all, "give "+kind)
		return
	case !isVersion || !strings.HasPrefix(version.value.Value, group):
		p.mustBe("apiVersion", version, all, "give "+group+"v1")
	}
	known := []string{"apiVersion", "kind", keyPercentage}
	for _, f := range all {
		switch {
		case f.key == keyPercentage:
			p.readPercentage(f)
		case !slices.Contains(known, f.key):
			p.wrong(f.line, fmt.Errorf("%w; nothing else of a %s counts here", unknown("key", f.key, known), kind))
		}
	}
}

// mustBe notes that the field f of key, perhaps missing, is not as it must be.
func (p *parser) mustBe(key string, f field, all []field, remedy string) {
	if f.value == nil {
		p.wrong(all[0].line, fmt.Errorf("%s is missing: %s", key, remedy))
		return
	}
	p.wrong(f.line, wrong(key, f.value, remedy))
}

func (p *parser) readPercentage(f field) {
	n, err := strconv.Atoi(strings.TrimSpace(f.value.Value))
	if err != nil || f.value.Kind != yaml.ScalarNode || n < 0 || n > 100 {
		p.wrong(f.line, wrong(f.key, f.value, "give a whole number from 0 to 100; 0 means all"))
		return
	}
	p.config.NodesToScorePercent = n
}

// readActions reads a comma list or a YAML list of actions.
func (p *parser) readActions(f field) {
	var names []field
	switch f.value.Kind {
	case yaml.SequenceNode:
		for _, item := range f.value.Content {
			item = resolve(item)
			if item.Kind != yaml.ScalarNode || null(item) {
				p.wrong(item.Line, wrong("an action", item, "give a name: one of "+strings.Join(p.actionNames(), ", ")))
				continue
			}
			names = append(names, field{key: strings.TrimSpace(item.Value), line: item.Line})
		}
	case yaml.ScalarNode:
		for name := range strings.SplitSeq(f.value.Value, ",") {
			names = append(names, field{key: strings.TrimSpace(name), line: f.value.Line})
		}
	default:
		p.wrong(f.line, wrong(f.key, f.value, `give a comma list such as "enqueue, allocate, backfill"`))
		return
	}
	if !slices.ContainsFunc(names, func(name field) bool { return name.key != "" }) {
		p.wrong(f.line, wrong(f.key, f.value, "name at least allocate"))
		return
	}
	p.config.Actions = nil
	for i, name := range names {
		build, ok := p.actions[name.key]
		first, twice := find(names[:i], name.key)
		switch {
		case twice && name.key == "": // that is said already
		case name.key == "":
			p.wrong(name.line, wrong(f.key, f.value, "one of its names is empty: take a comma away"))
		case twice:
			p.wrong(name.line, twin("action", first))
		case !ok:
			p.wrong(name.line, unknown("action", name.key, p.actionNames()))
		default:
			p.config.Actions = append(p.config.Actions, build())
		}
	}
}

// twin says that what is named was named before.
func twin(what string, first field) error {
	return fmt.Errorf("%s %q is in line %d already: keep one of them", what, first.key, first.line)
}

func (p *parser) actionNames() []string { return slices.Sorted(maps.Keys(p.actions)) }

// readConfigurations reads the arguments of actions. Whether causes are remembered, which
// all of them have, Muster decides for itself.
func (p *parser) readConfigurations(f field) {
	var before []field
	for _, item := range p.list(f, "name: an action, and arguments") {
		where, line, args := "configurations", item[0].line, []field(nil)
		for _, part := range item {
			switch part.key {
			case "name":
				where = fmt.Sprintf("configurations: action %q", part.value.Value)
				if first, twice := find(before, part.value.Value); twice {
					p.wrong(part.line, fmt.Errorf("configurations: %w", twin("action", first)))
				} else if _, ok := p.actions[part.value.Value]; !ok {
					p.wrong(part.line, fmt.Errorf("configurations: %w", unknown("action", part.value.Value, p.actionNames())))
				}
				before = append(before, field{key: part.value.Value, line: part.line})
			case "arguments":
				args = p.mapping("configurations: ", part)
			default:
				p.wrong(part.line, fmt.Errorf("configurations: %w", unknown("key", part.key, []string{"name", "arguments"})))
			}
		}
		if _, ok := find(item, "name"); !ok {
			p.wrong(line, errors.New("configurations: name is missing: give the action that the arguments are for"))
		}
		r := framework.Args(arguments(args)).Read()
		r.Bool("predicateErrorCacheEnable", true)
		at := place{where, line, args}
		env := framework.Env{Idle: func(key, because string) { p.idle(at.lineOf(key), where+": argument "+key, because) }}
		r.Idle(env, "predicateErrorCacheEnable", "verdicts are remembered in any case, until what they depend on changes")
		if name, ok := find(item, "name"); ok {
			p.tell(name.value.Value, arguments(args), r, env)
		}
		p.spread(r.Err(), at)
	}
}

// tell hands an action its arguments, also when it is not among those that run.
func (p *parser) tell(name string, args framework.Args, r *framework.Reader, env framework.Env) {
	build, ok := p.actions[name]
	if !ok {
		return
	}
	reads, ok := build().(engine.Reads)
	if !ok {
		return
	}
	if p.told[name] = reads.Read(r, env); len(args) > 0 {
		if p.config.Given == nil {
			p.config.Given = map[string]framework.Args{}
		}
		p.config.Given[name] = args
	}
}

// flatten joins the keys of nested mappings by dots.
func flatten(prefix string, in []field) []field {
	var out []field
	for _, f := range in {
		f.key = prefix + f.key
		if f.value.Kind == yaml.MappingNode {
			out = append(out, flatten(f.key+".", fields(f.value))...)
		} else {
			out = append(out, f)
		}
	}
	return out
}

// mapping returns the fields of a mapping, which is part of where; an empty value has none.
func (p *parser) mapping(where string, f field) []field {
	if f.value.Kind != yaml.MappingNode {
		if !null(f.value) {
			p.wrong(f.line, wrong(where+f.key, f.value, "give a mapping"))
		}
		return nil
	}
	return fields(f.value)
}

// list returns the fields of each item of a list of mappings; remedy says what an
// item has. Items that are none are noted, and left out.
func (p *parser) list(f field, remedy string) [][]field {
	if f.value.Kind != yaml.SequenceNode {
		if !null(f.value) {
			p.wrong(f.line, wrong(f.key, f.value, "give a list, each item with "+remedy))
		}
		return nil
	}
	var items [][]field
	for _, item := range f.value.Content {
		item = resolve(item)
		if item.Kind != yaml.MappingNode || len(item.Content) == 0 {
			p.wrong(item.Line, wrong("an item of "+f.key, item, "give a mapping with "+remedy))
			continue
		}
		items = append(items, fields(item))
	}
	return items
}
