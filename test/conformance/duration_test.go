package conformance_test

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// TestDurationsThatTheSchemaTakesCanBeRead guards every reader of jobs: one
// stored duration that does not parse would fail the whole list.
func TestDurationsThatTheSchemaTakesCanBeRead(t *testing.T) {
	crd := load(t, filepath.Join(ours, "batch.volcano.sh_jobs.yaml"))
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	policies := spec.Properties["policies"]
	fields := map[string]string{
		"runningEstimate": spec.Properties["runningEstimate"].Pattern,
		"timeout":         policies.Items.Schema.Properties["timeout"].Pattern,
	}
	tests := map[string]struct {
		text string
		want bool
	}{
		"nothing":                     {"0", true},
		"as Go writes it":             {"1h30m0s", true},
		"below a second":              {"1.5ms", true},
		"micro with its sign":         {"20µs", true},
		"a day in seconds":            {"86400s", true},
		"the longest there is":        {"99999h9999999m9999999s99999h99999h99999h", true},
		"in any order":                {"5m1h", true},
		"no unit":                     {"30", false},
		"a unit that Go has not":      {"2d", false},
		"words":                       {"soon", false},
		"no number":                   {"h", false},
		"empty":                       {"", false},
		"more than 292 years":         {"9999999h", false},
		"what a number cannot hold":   {"99999999999999999999s", false},
		"another unit after a space":  {"1h 30m", false},
		"a number and then something": {"0x", false},
	}
	for field, pattern := range fields {
		schema := regexp.MustCompile(pattern)
		for name, tt := range tests {
			t.Run(field+"/"+name, func(t *testing.T) {
				if have := schema.MatchString(tt.text); have != tt.want {
					t.Errorf("the schema takes %q: %v, want %v", tt.text, have, tt.want)
				}
				if _, err := time.ParseDuration(tt.text); err != nil && tt.want {
					t.Errorf("the schema takes what nobody can read: %v", err)
				}
			})
		}
	}
}
