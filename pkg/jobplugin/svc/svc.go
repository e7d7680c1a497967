// Package svc gives the pods of a job names under which they reach one another: a Service
// without an address, a ConfigMap with all hosts, and a NetworkPolicy that keeps others out.
package svc

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin/wiring"
)

// Name is the plugin's name in a job.
const Name = "svc"

// folder is where the hosts are mounted.
const folder = "/etc/volcano"

// mostBytes is how much of a ConfigMap hosts may fill: the API server takes one of a
// mebibyte, names and all.
const mostBytes = 1_000_000

// Plugin is the plugin.
type Plugin struct{ early, open, env bool }

// New makes it. Arguments: --publish-not-ready-addresses (false): names are known before pods
// are ready; --disable-network-policy (false); --inject-hosts-env (true): hosts are variables
// as well. Where all hosts together are too long for that, only files have them.
func New(args []string) (Plugin, error) {
	f := wiring.Read(Name, args)
	p := Plugin{
		early: f.Bool("publish-not-ready-addresses", false),
		open:  f.Bool("disable-network-policy", false),
		env:   f.Bool("inject-hosts-env", true),
	}
	return p, f.Err()
}

func configName(job *batchv1alpha1.Job) string { return job.Name + "-svc" }

// Objects are the Service, the ConfigMap and the NetworkPolicy. More hosts than a ConfigMap
// can hold are an error.
func (p Plugin) Objects(job *batchv1alpha1.Job) ([]apis.Object, error) {
	mine := map[string]string{batchv1alpha1.JobNameKey: job.Name, batchv1alpha1.JobNamespaceKey: job.Namespace}
	meta := metav1.ObjectMeta{Name: job.Name, Namespace: job.Namespace}
	hosts, err := p.hosts(job)
	if err != nil {
		return nil, err
	}
	objects := []apis.Object{
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: mine, PublishNotReadyAddresses: p.early}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: configName(job), Namespace: job.Namespace}, Data: hosts},
	}
	if p.open {
		return objects, nil
	}
	from := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: mine}}
	return append(objects, &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: mine},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{from}}},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}}), nil
}

// hosts are the files of the ConfigMap: of each task one with a host in each line, and what
// variables have.
func (p Plugin) hosts(job *batchv1alpha1.Job) (map[string]string, error) {
	data, size := map[string]string{}, 0
	for i := range job.Spec.Tasks {
		t := &job.Spec.Tasks[i]
		hosts := wiring.Hosts(job, t)
		data[strings.ReplaceAll(t.Name, "-", "_")+".host"] = strings.Join(hosts, "\n")
		data[number(t)] = strconv.Itoa(len(hosts))
		size += len(strings.Join(hosts, "\n"))
	}
	if size > mostBytes {
		return nil, fmt.Errorf("plugin %s: the hosts of all pods are %d bytes, and a ConfigMap holds %d: give shorter names, or fewer replicas", Name, size, mostBytes)
	}
	for i := range job.Spec.Tasks {
		if t := &job.Spec.Tasks[i]; p.inEnv(job) {
			data[list(t)] = strings.Join(wiring.Hosts(job, t), ",")
		}
	}
	return data, nil
}

// inEnv reports whether hosts are variables, too: they are in the ConfigMap once more then.
func (p Plugin) inEnv(job *batchv1alpha1.Job) bool {
	size := 0
	for i := range job.Spec.Tasks {
		t := &job.Spec.Tasks[i]
		size += len(wiring.Host(job, t, int(max(t.Replicas-1, 0)))) * int(t.Replicas)
	}
	return p.env && wiring.FitsInEnv(size)
}

func list(t *batchv1alpha1.TaskSpec) string   { return "VC_" + wiring.Key(t.Name) + "_HOSTS" }
func number(t *batchv1alpha1.TaskSpec) string { return "VC_" + wiring.Key(t.Name) + "_NUM" }

// Wire gives a pod its name in the Service, and the hosts of all. VC_<TASK>_HOST is the first
// of a task; where no task is called master, VC_MASTER_HOST is the first of the first.
func (p Plugin) Wire(pod *corev1.Pod, job *batchv1alpha1.Job, _, _ int) error {
	if pod.Spec.Hostname == "" {
		pod.Spec.Hostname = hostname(pod.Name)
	}
	if pod.Spec.Subdomain == "" {
		pod.Spec.Subdomain = job.Name
	}
	var vars []corev1.EnvVar
	for i := range job.Spec.Tasks {
		t := &job.Spec.Tasks[i]
		keys := []string{number(t)}
		if p.inEnv(job) {
			keys = append(keys, list(t))
		}
		for _, key := range keys {
			vars = append(vars, corev1.EnvVar{Name: key, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: configName(job)}, Key: key,
			}}})
		}
		vars = append(vars, wiring.Env("VC_"+wiring.Key(t.Name)+"_HOST", wiring.Host(job, t, 0)))
	}
	if _, _, there := wiring.Task(job, "master"); !there && len(job.Spec.Tasks) > 0 {
		vars = append(vars, wiring.Env("VC_MASTER_HOST", wiring.Host(job, &job.Spec.Tasks[0], 0)))
	}
	wiring.AddEnv(pod, vars...)
	name := configName(job)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "job-hosts", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}})
	wiring.Each(pod, func(c *corev1.Container) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "job-hosts", MountPath: folder})
	})
	return nil
}

// hostname is a pod's name as far as a host may be called so.
func hostname(pod string) string {
	const most = 63
	if len(pod) > most {
		pod = strings.TrimRight(pod[len(pod)-most:], "-.")
		pod = strings.TrimLeft(pod, "-.")
	}
	return pod
}
