package conf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// hierarchy is the switch that is also an argument.
const hierarchy = "enableHierarchy"

// seen is a plugin that was read already.
type seen struct {
	line int
	// hierarchy is the line that switches fair shares along a tree on; 0: none does.
	hierarchy int
}

// place is where arguments stand.
type place struct {
	where string // what they are the arguments of
	line  int    // where that begins
	args  []field
}

func (p *parser) readTiers(f field) {
	p.config.Tiers = nil
	for _, tier := range p.list(f, "plugins") {
		var plugins []engine.PluginConfig
		for _, part := range tier {
			if part.key != "plugins" {
				p.wrong(part.line, fmt.Errorf("tiers: %w", unknown("key", part.key, []string{"plugins"})))
				continue
			}
			for _, item := range p.list(part, "name: a plugin, arguments and switches") {
				plugins = append(plugins, p.plugin(item))
			}
		}
		p.config.Tiers = append(p.config.Tiers, plugins)
	}
	p.exclude()
}

// plugin reads one item of a tier.
func (p *parser) plugin(item []field) engine.PluginConfig {
	name, ok := find(item, "name")
	if !ok || name.value.Kind != yaml.ScalarNode || name.value.Value == "" {
		known := strings.Join(slices.Sorted(maps.Keys(p.registry)), ", ")
		p.wrong(item[0].line, errors.New("a plugin has no name: give name, one of "+known))
		return engine.PluginConfig{}
	}
	config := engine.PluginConfig{Name: name.value.Value}
	at := place{fmt.Sprintf("plugin %q", config.Name), name.line, nil}
	known := append([]string{"name", "arguments"}, framework.SwitchNames()...)
	var switches []field
	for _, f := range item {
		switch {
		case f.key == "name":
		case f.key == "arguments":
			at.args = p.mapping(at.where+": ", f)
		case !slices.Contains(known, f.key):
			p.wrong(f.line, fmt.Errorf("%s: %w", at.where, unknown("key", f.key, known)))
		default:
			switches = append(switches, f)
		}
	}
	config.Args = framework.Args(arguments(at.args))
	p.switchAll(switches, &config, &at)
	p.note(config, at)
	p.build(&config, at)
	return config
}

// switchAll reads the switches beside a plugin's name.
func (p *parser) switchAll(switches []field, config *engine.PluginConfig, at *place) {
	for _, f := range switches {
		r := framework.Args{f.key: value(f.value)}.Read()
		on := r.Bool(f.key, true)
		if r.Err() != nil {
			p.wrong(f.line, fmt.Errorf("%s: %w", at.where, wrong(f.key, f.value, "give true or false")))
			continue
		}
		s := framework.Switches()[f.key]
		if s.Argument {
			config.Args[f.key] = on
			at.args = append(at.args, f)
		}
		if !on {
			config.Off |= s.Ability
		}
		if s == (framework.Switch{}) && !on {
			p.idle(f.line, at.where+": "+f.key, "Muster decides this for itself")
		}
	}
}

// note remembers a plugin, and refuses one that comes twice.
func (p *parser) note(config engine.PluginConfig, at place) {
	if first, ok := p.seen[config.Name]; ok {
		p.wrong(at.line, twin("plugin", field{key: config.Name, line: first.line}))
		return
	}
	s := seen{line: at.line}
	for _, f := range at.args {
		if (f.key == hierarchy || f.key == config.Name+"."+hierarchy) && (framework.Args{f.key: value(f.value)}).Read().Bool(f.key, false) {
			s.hierarchy = f.line
		}
	}
	p.seen[config.Name] = s
}

// build makes the plugin, to hear what it thinks of its arguments.
func (p *parser) build(config *engine.PluginConfig, at place) {
	env := p.env
	env.Idle = func(key, because string) { p.idle(at.lineOf(key), at.where+": argument "+key, because) }
	_, err := p.registry.Build(config.Name, config.Args, env)
	if on, given := config.Args[hierarchy].(bool); given && !on && err != nil {
		// The plugin may know nothing of a hierarchy: then there is nothing to switch off.
		without := maps.Clone(config.Args)
		delete(without, hierarchy)
		if _, err = p.registry.Build(config.Name, without, env); err == nil {
			config.Args = without
		}
	}
	if len(config.Args) == 0 {
		config.Args = nil
	}
	if unknown, ok := errors.AsType[*framework.UnknownError](err); ok && unknown.What == "plugin" {
		p.wrong(at.line, err)
		return
	}
	p.spread(err, at)
}

// exclude refuses plugins that contradict each other.
func (p *parser) exclude() {
	proportion, ok := p.seen["proportion"]
	if !ok {
		return
	}
	if capacity, ok := p.seen["capacity"]; ok {
		p.wrong(max(proportion.line, capacity.line), fmt.Errorf("plugins proportion (line %d) and capacity (line %d) both divide the cluster among queues: keep one of them", proportion.line, capacity.line))
	}
	if drf := p.seen["drf"]; drf.hierarchy > 0 {
		p.wrong(drf.hierarchy, fmt.Errorf("plugin \"drf\": %s is true, and plugin proportion (line %d) divides the cluster among queues as well: set it to false, or remove proportion", hierarchy, proportion.line))
	}
}

// spread notes each fault of arguments at its line.
func (p *parser) spread(err error, at place) {
	//nolint:errorlint // it walks the tree of errors itself, to keep what each level says
	switch e := err.(type) {
	case nil:
	case interface{ Unwrap() []error }:
		for _, each := range e.Unwrap() {
			p.spread(each, at)
		}
	case *framework.ArgError:
		p.wrong(at.lineOf(e.Key), fmt.Errorf("%s: %w", at.where, e))
	case *framework.UnknownError:
		p.wrong(at.lineOf(e.Name), fmt.Errorf("%s: %w", at.where, e))
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		if inner == nil || !placeable(inner) {
			p.wrong(at.line, fmt.Errorf("%s: %w", at.where, err))
			return
		}
		p.spread(inner, at.within(strings.TrimSuffix(strings.TrimSuffix(err.Error(), inner.Error()), ": ")))
	default:
		p.wrong(at.line, fmt.Errorf("%s: %w", at.where, err))
	}
}

// placeable reports whether an error names an argument.
func placeable(err error) bool {
	_, wrong := errors.AsType[*framework.ArgError](err)
	_, unknown := errors.AsType[*framework.UnknownError](err)
	return wrong || unknown
}

func (at place) lineOf(key string) int {
	if f, ok := find(at.args, key); ok {
		return f.line
	}
	return at.line
}

// within is the place that an error's prefix leads to: the block of that name, or
// the same place when the prefix is what the arguments are of.
func (at place) within(prefix string) place {
	switch f, ok := find(at.args, prefix); {
	case ok:
		at.where, at.line, at.args = at.where+": "+prefix, f.line, nil
		if f.value.Kind == yaml.MappingNode {
			at.args = fields(f.value)
		}
	case prefix != at.where:
		at.where += ": " + prefix
	}
	return at
}
