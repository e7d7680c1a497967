// Package cdp (cooldown protection) keeps tasks from being victims for some time
// after they were placed, so that elastic jobs don't lose the same pods again and
// again: volcano.sh/cooldown-time on the pod, as annotation or label, or else on its
// PodGroup, is a duration such as 10m.
package cdp

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "cdp"

// cooldown on a pod or PodGroup is how long a task is protected.
const cooldown = "volcano.sh/cooldown-time"

type plugin struct{}

var (
	_ framework.ProtectsTasks = plugin{}
	_ framework.Notices       = plugin{}
)

// New makes the plugin. It has no arguments.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	return plugin{}, args.Read().Err()
}

func (plugin) Name() string { return Name }

// Protects a task until its cooldown has passed since it was placed. One that is
// placed, but not yet known to be, has it all before it.
func (plugin) Protects(t *model.Task, now time.Time) (string, bool) {
	text := textOf(t)
	if text == "" || t.Pod == nil {
		return "", false
	}
	d, err := parse(text)
	if err != nil || d == 0 {
		return "", false
	}
	since, ok := placed(t.Pod)
	if !ok {
		return fmt.Sprintf("it was placed just now, and its %s is %s", cooldown, d), true
	}
	if left := since.Add(d).Sub(now); left > 0 {
		return fmt.Sprintf("of its %s of %s %s are left", cooldown, d, left.Round(time.Second)), true
	}
	return "", false
}

// Notices names values that are no durations; they protect nobody.
func (plugin) Notices(g *model.Gang) []string {
	var notices []string
	seen := map[string]bool{}
	for _, t := range g.Tasks {
		text := textOf(t)
		if text == "" || seen[text] {
			continue
		}
		seen[text] = true
		if _, err := parse(text); err != nil {
			notices = append(notices, fmt.Sprintf("pod %s: %s is %s and protects nobody: give a duration such as 10m", t.Name, cooldown, text))
		}
	}
	return notices
}

// textOf is a task's cooldown as written; empty when it has none.
func textOf(t *model.Task) string {
	if t.Pod != nil {
		if text, ok := t.Pod.Annotations[cooldown]; ok {
			return strings.TrimSpace(text)
		}
		if text, ok := t.Pod.Labels[cooldown]; ok {
			return strings.TrimSpace(text)
		}
	}
	if t.Gang != nil {
		return strings.TrimSpace(t.Gang.Annotations[cooldown])
	}
	return ""
}

func parse(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is below 0", d)
	}
	return d, err
}

// placed is when a pod was given its node; false while nobody said so.
func placed(p *corev1.Pod) (time.Time, bool) {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}
