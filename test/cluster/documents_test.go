package cluster_test

import (
	"slices"
	"testing"

	"github.com/muster-sh/muster/test/cluster"
)

func TestDocuments(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"nothing":                           {"\n\n", nil},
		"one object":                        {"apiVersion: v1\nkind: A", []string{"apiVersion: v1\nkind: A"}},
		"dashes begin another":              {"apiVersion: v1\n---\nkind: B", []string{"apiVersion: v1", "kind: B"}},
		"a second apiVersion does too":      {"apiVersion: v1\nkind: A\napiVersion: v2\nkind: B", []string{"apiVersion: v1\nkind: A", "apiVersion: v2\nkind: B"}},
		"an apiVersion further in does not": {"apiVersion: v1\nref:\n  apiVersion: v2", []string{"apiVersion: v1\nref:\n  apiVersion: v2"}},
		"a comment goes with what follows":  {"# a\napiVersion: v1", []string{"# a\napiVersion: v1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cluster.Documents(tt.text); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
