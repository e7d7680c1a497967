// Package conformance_test holds Muster's wire API against facts about Volcano's
// that lie beside the source tree. Where they are absent its tests skip.
package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const (
	ours  = "../../config/crd"
	facts = "../../../shared/reference/crds"
)

// notOurs are upstream's CRDs of node agents and sharding, which Muster does not serve.
func notOurs(file string) bool {
	return file == "config.volcano.sh_colocationconfigurations.yaml" || file == "shard.volcano.sh_nodeshards.yaml"
}

func load(t *testing.T, path string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return crd
}

// TestEveryUpstreamFieldIsOurs compares names, columns, subresources and, field
// by field, types, defaults, enums, bounds and rules.
func TestEveryUpstreamFieldIsOurs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(facts, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no facts about upstream's CRDs in %s", facts)
	}
	for _, file := range files {
		base := filepath.Base(file)
		if notOurs(base) {
			continue
		}
		t.Run(base, func(t *testing.T) {
			want, have := load(t, file), load(t, filepath.Join(ours, base))
			if diff := names(want.Spec.Names, have.Spec.Names); diff != "" || want.Spec.Scope != have.Spec.Scope {
				t.Errorf("names: %s; scope %s, want %s", diff, have.Spec.Scope, want.Spec.Scope)
			}
			w, h := want.Spec.Versions[0], have.Spec.Versions[0]
			status := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
				return v.Subresources != nil && v.Subresources.Status != nil
			}
			if w.Name != h.Name || status(w) != status(h) {
				t.Errorf("version %s with status subresource %v, want %s with %v", h.Name, status(h), w.Name, status(w))
			}
			for _, column := range w.AdditionalPrinterColumns {
				if !slices.ContainsFunc(h.AdditionalPrinterColumns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
					return c.Name == column.Name && c.JSONPath == column.JSONPath && c.Type == column.Type && c.Priority == column.Priority
				}) {
					t.Errorf("printer column %+v is missing", column)
				}
			}
			compare(t, "", w.Schema.OpenAPIV3Schema, h.Schema.OpenAPIV3Schema)
		})
	}
}

func names(want, have apiextensionsv1.CustomResourceDefinitionNames) string {
	if want.Kind != have.Kind || want.Plural != have.Plural || want.Singular != have.Singular {
		return fmt.Sprintf("%+v, want %+v", have, want)
	}
	for _, short := range want.ShortNames {
		if !slices.Contains(have.ShortNames, short) {
			return "short name " + short + " is missing"
		}
	}
	return ""
}

func compare(t *testing.T, path string, want, have *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	if want.Type != have.Type || want.Format != have.Format || want.XIntOrString != have.XIntOrString {
		t.Errorf("%s: type %q format %q, want %q %q", path, have.Type, have.Format, want.Type, want.Format)
	}
	if want.Default != nil && (have.Default == nil || string(have.Default.Raw) != string(want.Default.Raw)) {
		t.Errorf("%s: default %v, want %s", path, have.Default, want.Default.Raw)
	}
	for _, value := range want.Enum {
		if !slices.ContainsFunc(have.Enum, func(v apiextensionsv1.JSON) bool { return string(v.Raw) == string(value.Raw) }) {
			t.Errorf("%s: enum lacks %s", path, value.Raw)
		}
	}
	if len(want.Enum) == 0 && len(have.Enum) > 0 {
		t.Errorf("%s: an enum that upstream does not have refuses what it takes", path)
	}
	bounds := func(s *apiextensionsv1.JSONSchemaProps) string {
		return fmt.Sprint(value(s.Minimum), value(s.Maximum), value(s.MinLength), value(s.MaxLength), value(s.MinItems), s.Pattern)
	}
	if w, h := bounds(want), bounds(have); w != h && !duration(path) {
		t.Errorf("%s: bounds %s, want %s", path, h, w)
	}
	compareRules(t, path, want, have)
	compareChildren(t, path, want, have)
}

// duration tells the fields that upstream takes any text for, though its own
// types, and ours, can read none but durations.
func duration(path string) bool {
	return strings.HasSuffix(path, ".policies[].timeout") || strings.HasSuffix(path, ".runningEstimate")
}

func compareRules(t *testing.T, path string, want, have *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for _, rule := range want.XValidations {
		if !slices.ContainsFunc(have.XValidations, func(r apiextensionsv1.ValidationRule) bool { return r.Rule == rule.Rule }) {
			t.Errorf("%s: rule %q is missing", path, rule.Rule)
		}
	}
	for _, name := range have.Required {
		if !slices.Contains(want.Required, name) {
			t.Errorf("%s: %s is required, upstream does not require it", path, name)
		}
	}
}

func compareChildren(t *testing.T, path string, want, have *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for name, w := range want.Properties {
		h, ok := have.Properties[name]
		if !ok {
			t.Errorf("%s.%s is missing", path, name)
			continue
		}
		compare(t, path+"."+name, &w, &h)
	}
	if want.Items != nil && want.Items.Schema != nil {
		if have.Items == nil || have.Items.Schema == nil {
			t.Errorf("%s[] is missing", path)
		} else {
			compare(t, path+"[]", want.Items.Schema, have.Items.Schema)
		}
	}
	if want.AdditionalProperties != nil && want.AdditionalProperties.Schema != nil {
		if have.AdditionalProperties == nil || have.AdditionalProperties.Schema == nil {
			t.Errorf("%s{} is missing", path)
		} else {
			compare(t, path+"{}", want.AdditionalProperties.Schema, have.AdditionalProperties.Schema)
		}
	}
}

func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
