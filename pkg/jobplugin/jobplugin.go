// Package jobplugin is the list of job plugins: what wires the pods of a job together. They
// are pure: a job in, objects and changed pods out; who writes those is the job controller.
package jobplugin

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin/env"
	"github.com/muster-sh/muster/pkg/jobplugin/hcclrank"
	"github.com/muster-sh/muster/pkg/jobplugin/mpi"
	"github.com/muster-sh/muster/pkg/jobplugin/pytorch"
	"github.com/muster-sh/muster/pkg/jobplugin/ray"
	"github.com/muster-sh/muster/pkg/jobplugin/ssh"
	"github.com/muster-sh/muster/pkg/jobplugin/svc"
	"github.com/muster-sh/muster/pkg/jobplugin/tensorflow"
)

// Plugin wires the pods of a job.
type Plugin interface {
	// Objects are what its pods need besides themselves, without owners.
	Objects(job *batchv1alpha1.Job) ([]apis.Object, error)
	// Wire changes one pod of a job, by the numbers of its task and of itself.
	Wire(pod *corev1.Pod, job *batchv1alpha1.Job, task, index int) error
}

// MakesOnce is for plugins that need objects which must stay as they were first made. Once
// returns them, without owners; those that are there already are left as they are.
type MakesOnce interface {
	Once(job *batchv1alpha1.Job) ([]apis.Object, error)
}

// New makes a plugin from its arguments. The error names all that are wrong.
type New func(args []string) (Plugin, error)

// Builtin returns a fresh list of all plugins, so that a caller may add its own. Keys come
// from random.
func Builtin(random io.Reader) map[string]New {
	return map[string]New{
		env.Name:        making(env.New),
		svc.Name:        making(svc.New),
		hcclrank.Name:   making(hcclrank.New),
		mpi.Name:        making(mpi.New),
		pytorch.Name:    making(pytorch.New),
		ray.Name:        making(ray.New),
		ssh.Name:        making(ssh.New(random)),
		tensorflow.Name: making(tensorflow.New),
	}
}

func making[P Plugin](of func([]string) (P, error)) New {
	return func(args []string) (Plugin, error) { return of(args) }
}

// order is the order in which plugins see a pod: names first, then those that speak of them.
func order() []string { return []string{env.Name, svc.Name, ssh.Name, mpi.Name, pytorch.Name} }

// For makes the plugins that a job names, and those that these need, in a fixed order. A job
// that names none and whose pods refer to what env and svc tell gets those two. The error
// names all that is wrong.
func For(job *batchv1alpha1.Job, known map[string]New) ([]Plugin, error) {
	args := maps.Clone(job.Spec.Plugins)
	if args == nil {
		args = map[string][]string{}
	}
	imply := func(name string) {
		if _, named := args[name]; !named {
			args[name] = nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(job.Spec.Plugins)) {
		switch name {
		case mpi.Name:
			imply(ssh.Name)
			imply(svc.Name)
		case pytorch.Name, ray.Name, tensorflow.Name:
			imply(svc.Name)
		}
	}
	if refers(job) {
		imply(env.Name)
		imply(svc.Name)
	}
	rank := func(name string) int {
		if i := slices.Index(order(), name); i >= 0 {
			return i
		}
		return len(order())
	}
	names := slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(args))), func(a, b string) int { return rank(a) - rank(b) })
	var plugins []Plugin
	var errs []error
	for _, name := range names {
		construct, ok := known[name]
		if !ok {
			errs = append(errs, fmt.Errorf("plugin %q is unknown: there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
			continue
		}
		p, err := construct(args[name])
		errs = append(errs, err)
		plugins = append(plugins, p)
	}
	return plugins, errors.Join(errs...)
}

// refers reports whether a job names no plugins though its pods refer to their variables.
func refers(job *batchv1alpha1.Job) bool {
	if len(job.Spec.Plugins) > 0 {
		return false
	}
	for i := range job.Spec.Tasks {
		spec := &job.Spec.Tasks[i].Template.Spec
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			texts := slices.Concat(c.Command, c.Args)
			for _, e := range c.Env {
				texts = append(texts, e.Value)
			}
			if slices.ContainsFunc(texts, func(s string) bool {
				return strings.Contains(s, "$(VC_") || strings.Contains(s, "$VC_") || strings.Contains(s, "${VC_")
			}) {
				return true
			}
		}
	}
	return false
}
