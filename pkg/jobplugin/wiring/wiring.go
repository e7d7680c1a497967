// Package wiring is what job plugins have in common: reading their arguments, finding tasks
// and hosts, and adding to pods without taking anything of the user's away.
package wiring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
)

// Task returns the task of that name and its number; false when the job has none.
func Task(job *batchv1alpha1.Job, name string) (*batchv1alpha1.TaskSpec, int, bool) {
	i := slices.IndexFunc(job.Spec.Tasks, func(t batchv1alpha1.TaskSpec) bool { return t.Name == name })
	if i < 0 {
		return nil, -1, false
	}
	return &job.Spec.Tasks[i], i, true
}

// Host is under which name the pods of a job reach one of them.
func Host(job *batchv1alpha1.Job, t *batchv1alpha1.TaskSpec, index int) string {
	name, domain := t.Template.Spec.Hostname, t.Template.Spec.Subdomain
	if name == "" {
		name = batchv1alpha1.PodName(job.Name, t.Name, index)
	}
	if domain == "" {
		domain = job.Name
	}
	return name + "." + domain
}

// Hosts are those of all pods of a task, in order; of pods that share a name, one.
func Hosts(job *batchv1alpha1.Job, t *batchv1alpha1.TaskSpec) []string {
	if t.Template.Spec.Hostname != "" && t.Replicas > 0 {
		return []string{Host(job, t, 0)}
	}
	hosts := make([]string, 0, max(t.Replicas, 0))
	for i := range int(t.Replicas) {
		hosts = append(hosts, Host(job, t, i))
	}
	return hosts
}

// Key is a task's name as environment variables have it.
func Key(task string) string { return strings.ToUpper(strings.ReplaceAll(task, "-", "_")) }

// FitsInEnv reports whether so many bytes may be variables of a process: Linux starts none
// with one of 128 KiB.
func FitsInEnv(bytes int) bool { return bytes < 100_000 }

// Env is one environment variable with a plain value.
func Env(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

// AddEnv gives variables to the containers of a pod, and to those that run first. They stand
// before the pod's own, which may refer to them, and leave out those that it sets itself.
func AddEnv(pod *corev1.Pod, vars ...corev1.EnvVar) {
	Each(pod, func(c *corev1.Container) {
		var missing []corev1.EnvVar
		for _, v := range vars {
			if !slices.ContainsFunc(c.Env, func(own corev1.EnvVar) bool { return own.Name == v.Name }) {
				missing = append(missing, v)
			}
		}
		c.Env = slices.Concat(missing, c.Env)
	})
}

// Each calls change with every container of a pod, those that run first included.
func Each(pod *corev1.Pod, change func(*corev1.Container)) {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			change(&list[i])
		}
	}
}

// AddPort opens a port on the containers of a pod that do not open one of that number.
func AddPort(pod *corev1.Pod, name string, port int32) {
	for i := range pod.Spec.Containers {
		OpenPort(&pod.Spec.Containers[i], name, port)
	}
}

// OpenPort opens a port on a container, if there is one, that does not open one of that number.
func OpenPort(c *corev1.Container, name string, port int32) {
	if c != nil && !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == port }) {
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: name, ContainerPort: port})
	}
}

// Flags are the arguments of a plugin.
type Flags struct {
	plugin string
	given  map[string]string
	known  []string
	errs   []error
}

// Read takes arguments apart, such as --port=22, -port=22 or --port 22.
func Read(plugin string, args []string) *Flags {
	f := &Flags{plugin: plugin, given: map[string]string{}}
	for i := 0; i < len(args); i++ {
		name, value, assigned := strings.Cut(strings.TrimSpace(args[i]), "=")
		flag := strings.TrimLeft(name, "-")
		if flag == name || flag == "" {
			f.wrong("argument %q is no flag: give --name=value", args[i])
			continue
		}
		if !assigned {
			value = "true"
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				value = args[i]
			}
		}
		if _, twice := f.given[flag]; twice {
			f.wrong("--%s is given twice: give it once", flag)
		}
		f.given[flag] = value
	}
	return f
}

func (f *Flags) wrong(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("plugin %s: "+format, append([]any{f.plugin}, args...)...))
}

// Text reads a flag as it is written; fallback when it is not given.
func (f *Flags) Text(name, fallback string) string {
	f.known = append(f.known, name)
	if value, ok := f.given[name]; ok {
		return value
	}
	return fallback
}

// Task reads a flag that names a task.
func (f *Flags) Task(name, fallback string) string {
	value := f.Text(name, fallback)
	if value == "" {
		f.wrong("--%s is empty: name a task", name)
	}
	return value
}

// Bool reads a flag that is true or false.
func (f *Flags) Bool(name string, fallback bool) bool {
	switch value := f.Text(name, ""); strings.ToLower(value) {
	case "":
		return fallback
	case "true", "1", "t":
		return true
	case "false", "0", "f":
		return false
	default:
		f.wrong("--%s is %q: give true or false", name, value)
		return fallback
	}
}

// Int reads a flag that is a whole number between two.
func (f *Flags) Int(name string, fallback, least, most int) int {
	value := f.Text(name, "")
	if value == "" {
		return fallback
	}
	var n int
	if _, err := fmt.Sscanf(value, "%d", &n); err != nil || fmt.Sprint(n) != value || n < least || n > most {
		f.wrong("--%s is %q: give a whole number from %d to %d", name, value, least, most)
		return fallback
	}
	return n
}

// Port reads a flag that is a port.
func (f *Flags) Port(name string, fallback int) int32 {
	return int32(f.Int(name, fallback, 1, 65535))
}

// Err is all that is wrong, flags that nobody read included.
func (f *Flags) Err() error {
	var names []string
	//muster:anyorder sorted below
	for name := range f.given {
		if !slices.Contains(f.known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if len(f.known) == 0 {
			f.wrong("--%s is unknown: it has no arguments", name)
		} else {
			f.wrong("--%s is unknown: there are --%s", name, strings.Join(f.known, ", --"))
		}
	}
	return errors.Join(f.errs...)
}
