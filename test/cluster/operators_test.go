package cluster_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/muster-sh/muster/test/cluster"
)

const pyTorchJob = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: torch}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: trainer}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: trainer}]}}}
`

const mpiJob = `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: mpi}
spec:
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [{name: main, image: trainer}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: main, image: trainer}]}}}
`

// makesPods applies the jobs and waits for the pods that the operators make of them.
func makesPods(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		manifest, selector string
		want               int
	}{
		"training-operator makes a master and two workers": {pyTorchJob, "training.kubeflow.org/job-name=torch", 3},
		"mpi-operator makes a launcher and two workers":    {mpiJob, "training.kubeflow.org/job-name=mpi", 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ns := c.Namespace(t)
			if err := c.ApplyYAML(t.Context(), ns, tt.manifest); err != nil {
				t.Fatal(err)
			}
			eventually(t, "pods are made", func() bool {
				pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: tt.selector})
				return err == nil && len(pods.Items) == tt.want
			})
		})
	}
}

func TestRealOperatorsMakePods(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 2, Operators: []cluster.Operator{{Name: "training"}, {Name: "mpi"}}})
	makesPods(t, c)
	for _, name := range []string{"training", "mpi"} {
		if err := c.StopOperator(name); err != nil {
			t.Fatal(err)
		}
		if err := c.StartOperator(t.Context(), cluster.Operator{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("after a restart", func(t *testing.T) { makesPods(t, c) })
	if err := c.StartOperator(t.Context(), cluster.Operator{Name: "spark"}); err == nil {
		t.Error("an unknown operator started")
	}
}
