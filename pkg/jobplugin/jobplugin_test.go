package jobplugin_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin"
)

// job is one of a master and two workers, with a container that runs first.
func job(plugins map[string][]string) *batchv1alpha1.Job {
	j := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "bert"}}
	j.Spec.Plugins = plugins
	for i, name := range []string{"master", "worker"} {
		t := batchv1alpha1.TaskSpec{Name: name, Replicas: int32(i + 1)}
		t.Template.Spec = corev1.PodSpec{InitContainers: []corev1.Container{{Name: "first"}}, Containers: []corev1.Container{{Name: "main"}}}
		j.Spec.Tasks = append(j.Spec.Tasks, t)
	}
	return j
}

// wired is the pod of a task after all plugins of its job.
func wired(t *testing.T, j *batchv1alpha1.Job, task, index int) *corev1.Pod {
	t.Helper()
	plugins, err := jobplugin.For(j, jobplugin.Builtin(rand.Reader))
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: batchv1alpha1.PodName(j.Name, j.Spec.Tasks[task].Name, index)}, Spec: *j.Spec.Tasks[task].Template.Spec.DeepCopy()}
	for _, p := range plugins {
		if err := p.Wire(pod, j, task, index); err != nil {
			t.Fatal(err)
		}
	}
	return pod
}

// vars are the variables of a container with plain values.
func vars(c corev1.Container) map[string]string {
	plain := map[string]string{}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			plain[e.Name] = e.Value
		}
	}
	return plain
}

func TestPyTorchPodsKnowTheirRanks(t *testing.T) {
	for at, rank := range map[[2]int]string{{0, 0}: "0", {1, 0}: "1", {1, 1}: "2"} {
		pod := wired(t, job(map[string][]string{"pytorch": {"--port=29500"}}), at[0], at[1])
		for _, c := range []corev1.Container{pod.Spec.InitContainers[0], pod.Spec.Containers[0]} {
			want := map[string]string{
				"MASTER_ADDR": "bert-master-0.bert", "MASTER_PORT": "29500", "WORLD_SIZE": "3", "RANK": rank,
				"PET_MASTER_ADDR": "bert-master-0.bert", "PET_MASTER_PORT": "29500", "PET_NNODES": "3", "PET_NODE_RANK": rank,
				"VC_MASTER_HOST": "bert-master-0.bert", "VC_WORKER_HOST": "bert-worker-0.bert",
			}
			if diff := cmp.Diff(want, vars(c)); diff != "" {
				t.Errorf("%s of pod %s: %s", c.Name, pod.Name, diff)
			}
		}
		if p := pod.Spec.Containers[0].Ports; len(p) != 1 || p[0].ContainerPort != 29500 {
			t.Errorf("ports %v", p)
		}
	}
}

func TestWithoutAMasterTheFirstWorkerIs(t *testing.T) {
	j := job(map[string][]string{"pytorch": nil})
	j.Spec.Tasks = j.Spec.Tasks[1:]
	env := vars(wired(t, j, 0, 1).Spec.Containers[0])
	if env["MASTER_ADDR"] != "bert-worker-0.bert" || env["RANK"] != "1" || env["WORLD_SIZE"] != "2" || env["VC_MASTER_HOST"] != "bert-worker-0.bert" {
		t.Errorf("%v", env)
	}
}

func TestWorkersWaitForTheirMaster(t *testing.T) {
	plugins := map[string][]string{"pytorch": {"--wait-master-enabled=true", "--wait-master-timeout", "5", "--wait-master-image=alpine"}}
	if n := len(wired(t, job(plugins), 0, 0).Spec.InitContainers); n != 1 {
		t.Errorf("the master has %d containers that run first", n)
	}
	first := wired(t, job(plugins), 1, 0).Spec.InitContainers
	if len(first) != 2 || first[1].Image != "alpine" || !strings.Contains(first[1].Command[2], "+ 5 ") {
		t.Errorf("%+v", first)
	}
}

func TestTensorFlowPodsKnowTheirCluster(t *testing.T) {
	j := job(map[string][]string{"tensorflow": {"--ps=master"}})
	var config struct {
		Cluster map[string][]string
		Task    struct {
			Type  string
			Index int
		}
	}
	if err := json.Unmarshal([]byte(vars(wired(t, j, 1, 1).Spec.Containers[0])["TF_CONFIG"]), &config); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"ps": {"bert-master-0.bert:2222"}, "worker": {"bert-worker-0.bert:2222", "bert-worker-1.bert:2222"}}
	if diff := cmp.Diff(want, config.Cluster); diff != "" || config.Task.Type != "worker" || config.Task.Index != 1 {
		t.Errorf("%s %+v", diff, config.Task)
	}
}

func TestWhatAPodSetsItselfStays(t *testing.T) {
	j := job(map[string][]string{"pytorch": nil, "env": nil})
	j.Spec.Tasks[0].Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "RANK", Value: "mine"}}
	pod := wired(t, j, 0, 0)
	if got := vars(pod.Spec.Containers[0])["RANK"]; got != "mine" {
		t.Errorf("RANK is %s", got)
	}
	if got := vars(pod.Spec.InitContainers[0])["RANK"]; got != "0" {
		t.Errorf("RANK of the first container is %s", got)
	}
	if got := vars(pod.Spec.Containers[0])["VC_TASK_INDEX"]; got != "0" {
		t.Errorf("VC_TASK_INDEX is %q", got)
	}
}

func TestHostsAreInFilesAndVariables(t *testing.T) {
	j := job(map[string][]string{"svc": {"--publish-not-ready-addresses=true"}})
	plugins, err := jobplugin.For(j, jobplugin.Builtin(rand.Reader))
	if err != nil || len(plugins) != 1 {
		t.Fatal(plugins, err)
	}
	objects, err := plugins[0].Objects(j)
	if err != nil || len(objects) != 3 {
		t.Fatal(objects, err)
	}
	service, isService := objects[0].(*corev1.Service)
	hosts, isMap := objects[1].(*corev1.ConfigMap)
	if !isService || !isMap || !service.Spec.PublishNotReadyAddresses || service.Spec.ClusterIP != "None" {
		t.Fatalf("%+v", objects)
	}
	want := map[string]string{
		"master.host": "bert-master-0.bert", "VC_MASTER_HOSTS": "bert-master-0.bert", "VC_MASTER_NUM": "1",
		"worker.host": "bert-worker-0.bert\nbert-worker-1.bert", "VC_WORKER_HOSTS": "bert-worker-0.bert,bert-worker-1.bert", "VC_WORKER_NUM": "2",
	}
	if diff := cmp.Diff(want, hosts.Data); diff != "" {
		t.Error(diff)
	}
	pod := wired(t, j, 1, 0)
	if pod.Spec.Hostname != "bert-worker-0" || pod.Spec.Subdomain != "bert" {
		t.Errorf("%s.%s", pod.Spec.Hostname, pod.Spec.Subdomain)
	}
	for _, c := range []corev1.Container{pod.Spec.InitContainers[0], pod.Spec.Containers[0]} {
		if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].MountPath != "/etc/volcano" {
			t.Errorf("%s: %+v", c.Name, c.VolumeMounts)
		}
	}
}

// TestVeryManyHostsAreInFilesAlone: a ConfigMap holds a mebibyte, a variable an eighth of it.
func TestVeryManyHostsAreInFilesAlone(t *testing.T) {
	for replicas, want := range map[int32]int{2_000: 3, 10_000: 2, 30_000: 2} {
		j := job(map[string][]string{"svc": nil})
		j.Spec.Tasks = j.Spec.Tasks[1:]
		j.Spec.Tasks[0].Replicas = replicas
		plugins, err := jobplugin.For(j, jobplugin.Builtin(rand.Reader))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := plugins[0].Objects(j)
		if err != nil {
			t.Fatal(err)
		}
		hosts, size := objects[1].(*corev1.ConfigMap), 0
		for key, value := range hosts.Data {
			size += len(key) + len(value)
		}
		if size > 1<<20 {
			t.Errorf("%d hosts: a ConfigMap of %d bytes", replicas, size)
		}
		if n := len(hosts.Data); n != want {
			t.Errorf("%d hosts: %d keys, want %d", replicas, n, want)
		}
	}
	j := job(map[string][]string{"svc": nil})
	j.Spec.Tasks[1].Replicas = 100_000
	plugins, err := jobplugin.For(j, jobplugin.Builtin(rand.Reader))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plugins[0].Objects(j); err == nil || !strings.Contains(err.Error(), "fewer replicas") {
		t.Errorf("100,000 hosts: %v", err)
	}
}

func TestWrongArgumentsAreAllNamed(t *testing.T) {
	_, err := jobplugin.For(job(map[string][]string{
		"pytorch": {"--port=0", "--mastre=x", "loose"}, "svc": {"--disable-network-policy=maybe"}, "pytorsh": nil,
	}), jobplugin.Builtin(rand.Reader))
	for _, want := range []string{
		`plugin pytorch: --port is "0": give a whole number from 1 to 65535`, `plugin pytorch: --mastre is unknown: there are --master`,
		`plugin pytorch: argument "loose" is no flag: give --name=value`, `plugin svc: --disable-network-policy is "maybe": give true or false`,
		`plugin "pytorsh" is unknown: there are env, hcclrank`,
	} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}

// TestWhoRefersToHostsGetsThem: seed 10 names no plugin.
func TestWhoRefersToHostsGetsThem(t *testing.T) {
	j := job(nil)
	j.Spec.Tasks[1].Template.Spec.Containers[0].Command = []string{"torchrun", "--node_rank=$(VC_TASK_INDEX)", "--master_addr=$(VC_MASTER_HOST)"}
	env := vars(wired(t, j, 1, 1).Spec.Containers[0])
	if env["VC_TASK_INDEX"] != "1" || env["VC_MASTER_HOST"] != "bert-master-0.bert" {
		t.Errorf("%v", env)
	}
	if env := vars(wired(t, job(nil), 1, 1).Spec.Containers[0]); len(env) != 0 {
		t.Errorf("who does not gets %v", env)
	}
}

func TestTheMasterOfMPIKnowsItsHosts(t *testing.T) {
	j := job(map[string][]string{"mpi": nil})
	env := vars(wired(t, j, 0, 0).Spec.Containers[0])
	if env["MPI_HOST"] != "bert-worker-0.bert,bert-worker-1.bert" || env["OMPI_MCA_orte_default_hostfile"] != "/etc/mpi/hostfile" {
		t.Errorf("%v", env)
	}
	worker := wired(t, j, 1, 0)
	if _, told := vars(worker.Spec.Containers[0])["MPI_HOST"]; told || len(worker.Spec.Containers[0].Ports) != 1 {
		t.Errorf("%+v", worker.Spec.Containers[0])
	}
	plugins, err := jobplugin.For(j, jobplugin.Builtin(rand.Reader))
	if err != nil || len(plugins) != 3 {
		t.Fatalf("%d plugins (%v): mpi needs names and keys", len(plugins), err)
	}
}

func TestRanksOfHCCL(t *testing.T) {
	j := job(map[string][]string{"hcclrank": nil})
	j.Spec.Tasks[1].Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "OTHER", Value: "7"}}
	for at, rank := range map[[2]int]string{{0, 0}: "0", {1, 0}: "1", {1, 1}: "2"} {
		if got := wired(t, j, at[0], at[1]).Annotations["hccl/rankIndex"]; got != rank {
			t.Errorf("pod %v has rank %q, want %s", at, got, rank)
		}
	}
	j.Spec.Tasks[1].Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "RANK", Value: "7"}}
	if got := wired(t, j, 1, 0).Annotations["hccl/rankIndex"]; got != "7" {
		t.Errorf("with RANK 7 it is %q", got)
	}
}
