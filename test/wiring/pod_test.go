// Package wiring_test starts a local process for each pod of a job, with the environment,
// files and hosts that job plugins give it, and sees from inside whether that wires them.
package wiring_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin"
)

// pod is a pod of a job as its container sees it.
type pod struct {
	host string   // the first part of its name
	addr string   // 127.0.0.x
	env  []string // KEY=value
	root string   // a folder with its files, laid over / where it runs
}

// lay shows a process its own /etc, /root and /run, with the pod's files in them, and its
// own host name; whatever it does to them is gone with it.
const lay = `set -e
top=$(mktemp -d); mount -t tmpfs tmpfs "$top"
for d in etc root run; do mkdir -p "$top/$d/up" "$top/$d/work"; mount -t overlay overlay -o "lowerdir=/$d,upperdir=$top/$d/up,workdir=$top/$d/work" "/$d"; done
cp -r --preserve=mode "$POD_ROOT/." /; hostname "$POD_HOST"; mkdir -p /run/sshd
exec "$@"`

// needs skips a test where a program of some Debian package is absent, or pods can't be laid out.
func needs(t *testing.T, programs map[string]string) {
	t.Helper()
	for program, of := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not here: install the package %s", program, of)
		}
	}
	probe := pod{host: "probe", root: t.TempDir()}
	if out, err := probe.command(t.Context(), "true").CombinedOutput(); err != nil {
		t.Skipf("no process can have files of its own here (%v): run it as root, with unshare and overlay mounts\n%s", err, out)
	}
}

// command runs in the place of the pod's container.
func (p *pod) command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"-m", "-u", "sh", "-c", lay, "lay"}, argv...)...)
	cmd.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "POD_ROOT=" + p.root, "POD_HOST=" + p.host}, p.env...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// output runs a command in a pod to its end.
func (p *pod) output(t *testing.T, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	out, err := p.command(ctx, argv...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s in %s: %v\n%s", argv, p.host, err, out)
	}
	return string(out)
}

// job is one of a task per name, with so many pods of each.
func job(plugins map[string][]string, tasks ...batchv1alpha1.TaskSpec) *batchv1alpha1.Job {
	j := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "bert"}}
	j.Spec.Plugins = plugins
	for _, task := range tasks {
		task.Template.Spec.Containers = []corev1.Container{{Name: "main"}}
		j.Spec.Tasks = append(j.Spec.Tasks, task)
	}
	return j
}

func tasks(name string, replicas int32) batchv1alpha1.TaskSpec {
	return batchv1alpha1.TaskSpec{Name: name, Replicas: replicas}
}

// tasksOf are a master and workers, those of which there are none left out.
func tasksOf(replicas []int32) (list []batchv1alpha1.TaskSpec) {
	for i, name := range []string{"master", "worker"} {
		if replicas[i] > 0 {
			list = append(list, tasks(name, replicas[i]))
		}
	}
	return list
}

// port is one on which nobody listens.
func port(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// start lays out the pods of a job, by task and index.
func start(t *testing.T, j *batchv1alpha1.Job) []*pod {
	t.Helper()
	plugins, err := jobplugin.For(j, jobplugin.Builtin(rand.Reader))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]map[string][]byte{} // of ConfigMaps and Secrets, by name
	for _, plugin := range plugins {
		objects, err := plugin.Objects(j)
		if err != nil {
			t.Fatal(err)
		}
		if once, has := plugin.(jobplugin.MakesOnce); has {
			more, err := once.Once(j)
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, more...)
		}
		for _, o := range objects {
			files[o.GetName()] = merged(files[o.GetName()], data(o))
		}
	}
	var pods []*pod
	hosts := "127.0.0.1 localhost\n"
	for task := range j.Spec.Tasks {
		for index := range int(j.Spec.Tasks[task].Replicas) {
			made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: batchv1alpha1.PodName(j.Name, j.Spec.Tasks[task].Name, index)}, Spec: *j.Spec.Tasks[task].Template.Spec.DeepCopy()}
			for _, plugin := range plugins {
				if err := plugin.Wire(made, j, task, index); err != nil {
					t.Fatal(err)
				}
			}
			p := &pod{host: made.Spec.Hostname, addr: fmt.Sprintf("127.0.0.%d", len(pods)+2), root: t.TempDir()}
			hosts += fmt.Sprintf("%s %s.%s %s\n", p.addr, p.host, made.Spec.Subdomain, p.host)
			p.furnish(t, made, files)
			pods = append(pods, p)
		}
	}
	for _, p := range pods {
		write(t, filepath.Join(p.root, "etc", "hosts"), []byte(hosts), 0o644)
	}
	return pods
}

func data(o any) map[string][]byte {
	switch o := o.(type) {
	case *corev1.ConfigMap:
		files := map[string][]byte{}
		for key, value := range o.Data {
			files[key] = []byte(value)
		}
		return files
	case *corev1.Secret:
		return o.Data
	default:
		return nil
	}
}

func merged(a, b map[string][]byte) map[string][]byte {
	if len(b) == 0 {
		return a
	}
	return b
}

// furnish gives a pod its variables and files, as kubelet does.
func (p *pod) furnish(t *testing.T, made *corev1.Pod, files map[string]map[string][]byte) {
	t.Helper()
	c := made.Spec.Containers[0]
	for _, e := range c.Env {
		value := e.Value
		if from := e.ValueFrom; from != nil {
			value = string(files[from.ConfigMapKeyRef.Name][from.ConfigMapKeyRef.Key])
		}
		p.env = append(p.env, e.Name+"="+value)
	}
	for _, m := range c.VolumeMounts {
		for _, v := range made.Spec.Volumes {
			if v.Name != m.Name {
				continue
			}
			name, mode, items := "", os.FileMode(0o644), []corev1.KeyToPath(nil)
			if s := v.Secret; s != nil {
				name, mode, items = s.SecretName, os.FileMode(*s.DefaultMode), s.Items
			} else {
				name, items = v.ConfigMap.Name, v.ConfigMap.Items
			}
			if len(items) == 0 {
				for key := range files[name] {
					items = append(items, corev1.KeyToPath{Key: key, Path: key})
				}
			}
			for _, item := range items {
				at := filepath.Join(p.root, m.MountPath, strings.TrimPrefix(strings.TrimPrefix(item.Path, m.SubPath), "/"))
				write(t, at, files[name][item.Key], mode)
			}
		}
	}
}

func write(t *testing.T, path string, text []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, mode); err != nil {
		t.Fatal(err)
	}
}
