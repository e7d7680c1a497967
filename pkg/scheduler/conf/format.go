package conf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Format writes a configuration as volcano-scheduler.conf, from which [Parse]
// makes the same again, but for the source of metrics: what it says comes as facts, and
// its address may hold a password.
func Format(config engine.Config) (string, error) {
	tiers := make([]map[string]any, len(config.Tiers))
	for i, tier := range config.Tiers {
		plugins := make([]map[string]any, len(tier))
		for j, p := range tier {
			plugins[j] = formatPlugin(p)
		}
		tiers[i] = map[string]any{"plugins": plugins}
	}
	top := map[string]any{keyActions: actionsOf(config), keyTiers: tiers}
	var given []map[string]any
	for _, name := range slices.Sorted(maps.Keys(config.Given)) {
		given = append(given, map[string]any{"name": name, "arguments": map[string]any(config.Given[name])})
	}
	if given != nil {
		top[keyConfigurations] = given
	}
	if config.NodesToScorePercent != 0 {
		top[keyPercentage] = config.NodesToScorePercent
	}
	text, err := yaml.Marshal(top)
	if err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return string(text), nil
}

func formatPlugin(p engine.PluginConfig) map[string]any {
	item := map[string]any{"name": p.Name}
	args := maps.Clone(map[string]any(p.Args))
	switches := framework.Switches()
	for _, name := range framework.SwitchNames() {
		s := switches[name]
		if on, given := args[name].(bool); given && s.Argument {
			item[name] = on
			delete(args, name)
		}
		if p.Off&s.Ability != 0 {
			item[name] = false
		}
	}
	if len(args) > 0 {
		item["arguments"] = args
	}
	return item
}

// Summary says in one line which actions and plugins a configuration has.
func Summary(config engine.Config) string {
	var plugins []string
	for _, p := range slices.Concat(config.Tiers...) {
		plugins = append(plugins, p.Name)
	}
	return "actions " + actionsOf(config) + "; plugins " + strings.Join(plugins, ", ")
}

// actionsOf is the comma list of a configuration's actions.
func actionsOf(config engine.Config) string {
	names := make([]string, len(config.Actions))
	for i, a := range config.Actions {
		names[i] = a.Name()
	}
	return strings.Join(names, ", ")
}
