package conf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Keys of a ConfigMap.
const (
	mainKey = "volcano-scheduler.conf"
	kubeKey = "volcano-scheduler-kubeconfig" // a KubeSchedulerConfiguration
)

// FromConfigMap reads the data of a ConfigMap: the key volcano-scheduler.conf,
// else the one that ends in .conf, and what volcano-scheduler-kubeconfig adds to
// it. The error is [Faults], as with [Parse], each with its key.
func FromConfigMap(data map[string]string, actions map[string]func() engine.Action, registry framework.Registry) (engine.Config, error) {
	key, err := keyOf(data)
	if err != nil {
		return engine.Config{}, Faults{{Err: err}}
	}
	config, err := parseKey(key, data, actions, registry)
	if _, also := data[kubeKey]; !also || key == kubeKey {
		return config, err
	}
	kube, more := parseKey(kubeKey, data, actions, registry)
	if err = both(err, more); err != nil {
		return engine.Config{}, err
	}
	if kube.NodesToScorePercent != 0 {
		config.NodesToScorePercent = kube.NodesToScorePercent
	}
	return config, nil
}

// keyOf finds the key of the text that says most.
func keyOf(data map[string]string) (string, error) {
	if _, ok := data[mainKey]; ok {
		return mainKey, nil
	}
	keys := slices.Sorted(maps.Keys(data))
	candidates := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !strings.HasSuffix(key, ".conf") })
	_, kube := data[kubeKey]
	switch {
	case len(candidates) == 1:
		return candidates[0], nil
	case len(candidates) > 1:
		return "", fmt.Errorf("the ConfigMap has the keys %s: name the one that counts %s", strings.Join(candidates, ", "), mainKey)
	case kube:
		return kubeKey, nil
	case len(keys) == 0:
		return "", fmt.Errorf("the ConfigMap has no keys: give it the key %s", mainKey)
	default:
		return "", fmt.Errorf("the ConfigMap has the keys %s: give it the key %s", strings.Join(keys, ", "), mainKey)
	}
}

func parseKey(key string, data map[string]string, actions map[string]func() engine.Action, registry framework.Registry) (engine.Config, error) {
	config, err := Parse([]byte(data[key]), actions, registry)
	if faults, ok := errors.AsType[Faults](err); ok {
		for i := range faults {
			faults[i].Key = key
		}
	}
	return config, err
}

// both joins the faults of two texts.
func both(a, b error) error {
	var all Faults
	for _, err := range []error{a, b} {
		if faults, ok := errors.AsType[Faults](err); ok {
			all = append(all, faults...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
