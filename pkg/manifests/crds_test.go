package manifests_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/pkg/manifests"
)

func TestOnlyPodSpecsLoseTheirRequiredContainers(t *testing.T) {
	tests := map[string]struct{ schema, want string }{
		"a pod spec need not name containers": {
			`{properties: {containers: {type: array}, initContainers: {type: array}}, required: [containers]}`,
			`{properties: {containers: {type: array}, initContainers: {type: array}}}`,
		},
		"what else it requires stays required": {
			`{properties: {containers: {type: array}, initContainers: {type: array}}, required: [containers, nodeName]}`,
			`{properties: {containers: {type: array}, initContainers: {type: array}}, required: [nodeName]}`,
		},
		"however deep it stands": {
			`{versions: [{items: {properties: {containers: {}, initContainers: {}}, required: [containers]}}]}`,
			`{versions: [{items: {properties: {containers: {}, initContainers: {}}}}]}`,
		},
		"other things called containers are left alone": {
			`{properties: {containers: {type: array}}, required: [containers]}`,
			`{properties: {containers: {type: array}}, required: [containers]}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root, path := t.TempDir(), filepath.Join("config", "crd", "x.yaml")
			if err := os.MkdirAll(filepath.Join(root, "config", "crd"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, path), []byte(tt.schema), 0o600); err != nil {
				t.Fatal(err)
			}
			files, err := manifests.Files(root, manifests.Input{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, tt.want), parse(t, string(files[path]))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var parsed any
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}
