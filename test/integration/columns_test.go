package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/muster-sh/muster/test/cluster"
)

// TestQueueColumnsShowGPUs asks for a table as kubectl does. A JSONPath with an
// escaped dot is easily wrong, and then the column is silently empty.
func TestQueueColumnsShowGPUs(t *testing.T) {
	crds, err := cluster.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.Start(t, cluster.Config{Nodes: 8, Operators: []cluster.Operator{{Name: "training"}}, CRDs: []string{crds}})
	core, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	const queues = "/apis/scheduling.volcano.sh/v1beta1/queues"
	rest := core.CoreV1().RESTClient()
	queue := `{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "columns"},
		"spec": {"weight": 3, "parent": "root", "deserved": {"nvidia.com/gpu": "16"}}}`
	if err := rest.Post().AbsPath(queues).SetHeader("Content-Type", "application/json").Body([]byte(queue)).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = rest.Delete().AbsPath(queues, "columns").Do(context.WithoutCancel(t.Context())).Error()
	})
	status := `{"status": {"state": "Open", "allocated": {"nvidia.com/gpu": "8"}}}`
	err = rest.Patch("application/merge-patch+json").AbsPath(queues, "columns", "status").Body([]byte(status)).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	text, err := rest.Get().AbsPath(queues, "columns").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for i, column := range table.ColumnDefinitions {
		if column.Type != "date" {
			have[column.Name] = fmt.Sprint(table.Rows[0].Cells[i])
		}
	}
	want := map[string]string{
		"Name": "columns", "PARENT": "root", "STATE": "Open", "WEIGHT": "3",
		"GPU-ALLOCATED": "8", "GPU-DESERVED": "16", "GPU-CAPABILITY": "<nil>",
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}
