package manifests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// crds adds the CRDs that controller-gen wrote, relaxed.
func crds(root string, files map[string][]byte) error {
	paths, err := filepath.Glob(filepath.Join(root, "config", "crd", "*.yaml"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relaxed, changed, err := relax(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !changed {
			relaxed = text
		}
		files[filepath.Join("config", "crd", filepath.Base(path))] = relaxed
	}
	return nil
}

// relax lets pod templates come without containers: a job may be written before
// they are known, and admission says more clearly than a schema what is missing.
func relax(text []byte) (relaxed []byte, changed bool, err error) {
	var crd any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, false, err
	}
	if changed = relaxSchema(crd); !changed {
		return nil, false, nil
	}
	out, err := yaml.Marshal(crd)
	return append([]byte("---\n"), out...), true, err
}

func relaxSchema(at any) (changed bool) {
	switch at := at.(type) {
	case []any:
		for _, child := range at {
			changed = relaxSchema(child) || changed
		}
	case map[string]any:
		for _, child := range at {
			changed = relaxSchema(child) || changed
		}
		properties, _ := at["properties"].(map[string]any)
		required, _ := at["required"].([]any)
		if properties["initContainers"] == nil || !slices.Contains(required, any("containers")) {
			return changed
		}
		required = slices.DeleteFunc(required, func(name any) bool { return name == "containers" })
		if at["required"] = required; len(required) == 0 {
			delete(at, "required")
		}
		return true
	}
	return changed
}
