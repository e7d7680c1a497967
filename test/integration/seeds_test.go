package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/test/cluster"
)

const (
	seeds    = "../../../shared/seed-manifests"
	examples = "../../../shared/upstream-examples"
)

// TestSeedsAreAcceptedWhole creates every object of the seed manifests on a real
// API server, reads it back, and finds every field that was written.
func TestSeedsAreAcceptedWhole(t *testing.T) {
	acceptedWhole(t, seeds, servedHere)
}

// TestUpstreamExamplesAreAcceptedWhole does the same for the objects of Volcano's
// own kinds among its examples, but for those that admission must deny.
func TestUpstreamExamplesAreAcceptedWhole(t *testing.T) {
	acceptedWhole(t, examples, func(o *unstructured.Unstructured) bool {
		return strings.HasSuffix(o.GroupVersionKind().Group, ".volcano.sh")
	})
}

func acceptedWhole(t *testing.T, dir string, ours func(*unstructured.Unstructured) bool) {
	t.Helper()
	files := manifestsIn(t, dir)
	if len(files) == 0 {
		t.Skipf("no manifests in %s", dir)
	}
	w := newWorld(t, cluster.Config{Nodes: 8, Operators: []cluster.Operator{{Name: "training"}}})
	for _, file := range files {
		name, err := filepath.Rel(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, doc := range cluster.Documents(string(text)) {
			want := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(doc), &want.Object); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !ours(want) {
				t.Logf("%s, document %d: kind %q is left out: it is a fragment or of another project", name, i+1, want.GetKind())
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", name, i+1), func(t *testing.T) { w.keepsWhole(t, want) })
		}
	}
}

// manifestsIn returns the YAML files below dir, but for those named as to be denied.
func manifestsIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, "-webhook-deny.yaml") {
			files = append(files, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// keepsWhole creates want in a namespace of its own, reads it back and compares.
func (w *world) keepsWhole(t *testing.T, want *unstructured.Unstructured) {
	t.Helper()
	if want.GetName() == "" {
		want.SetName("unnamed")
	}
	o := want.DeepCopy()
	if want.GetNamespace() != "volcano-system" {
		o.SetNamespace(w.Namespace(t))
	} else {
		o.SetNamespace("default")
	}
	clearScope(o)
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Delete(context.WithoutCancel(t.Context()), o) })
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(want.GroupVersionKind())
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(o), have); err != nil {
		t.Fatal(err)
	}
	want.SetNamespace(have.GetNamespace())
	lost := slices.DeleteFunc(missing("", normal(t, want.Object), normal(t, have.Object)), noSuchField)
	if len(lost) > 0 {
		t.Errorf("lost: %s", strings.Join(lost, "; "))
	}
}

// servedHere tells objects of the cluster's own kinds from fragments and kinds of other projects.
func servedHere(o *unstructured.Unstructured) bool {
	group := o.GroupVersionKind().Group
	return o.GetKind() != "" && group != "policy.karmada.io" && group != "monitoring.coreos.com"
}

// clearScope takes the namespace away from kinds of the whole cluster.
func clearScope(o *unstructured.Unstructured) {
	if kind := o.GetKind(); kind == "Queue" || kind == "PriorityClass" {
		o.SetNamespace("")
	}
}

// noSuchField tells what one of the examples misspells: a pod has a priorityClassName.
func noSuchField(lost string) bool {
	return strings.Contains(lost, ".template.spec.priorityClass:")
}

func normal(t *testing.T, o map[string]any) any {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// missing lists the paths whose value in want is not in have; have may hold more.
func missing(path string, want, have any) []string {
	var lost []string
	switch w := want.(type) {
	case map[string]any:
		h, _ := have.(map[string]any)
		for key, value := range w {
			lost = append(lost, missing(path+"."+key, value, h[key])...)
		}
	case []any:
		h, _ := have.([]any)
		for i, value := range w {
			var other any
			if i < len(h) {
				other = h[i]
			}
			lost = append(lost, missing(fmt.Sprintf("%s[%d]", path, i), value, other)...)
		}
	default:
		if !cmp.Equal(want, have) && (have != nil || want != false) { // built-in kinds leave out a false
			lost = append(lost, fmt.Sprintf("%s: wrote %v, read %v", path, want, have))
		}
	}
	return lost
}

// TestCRDNamesDoNotCollide asks the API server whether it took all names: a
// short name that another kind has is silently not served.
func TestCRDNamesDoNotCollide(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 8, Operators: []cluster.Operator{{Name: "training"}}})
	cs, err := apiextensions.NewForConfig(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	crds, err := cs.ApiextensionsV1().CustomResourceDefinitions().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for i := range crds.Items {
		crd := &crds.Items[i]
		if !strings.HasSuffix(crd.Spec.Group, "volcano.sh") {
			continue
		}
		checked++
		for _, c := range crd.Status.Conditions {
			if (c.Type == apiextensionsv1.NamesAccepted || c.Type == apiextensionsv1.Established) && c.Status != apiextensionsv1.ConditionTrue {
				t.Errorf("%s: %s: %s", crd.Name, c.Reason, c.Message)
			}
		}
		if diff := cmp.Diff(crd.Spec.Names.ShortNames, crd.Status.AcceptedNames.ShortNames); diff != "" {
			t.Errorf("%s: short names: %s", crd.Name, diff)
		}
	}
	if checked != 10 {
		t.Errorf("%d CRDs of volcano.sh are installed, want 10", checked)
	}
}
