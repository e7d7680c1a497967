package conf_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-sh/muster/pkg/scheduler/conf"
)

// FuzzParse feeds any bytes: no panic, faults in the text, and what parses is
// written as a text from which the same configuration comes again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		conf.DefaultText(),
		"actions: [allocate]\nconfigurations: [{name: allocate}]\nmetrics: {interval: 1s}\npercentageOfNodesToScore: '7'\n",
		tier("  - name: binpack\n    enableNodeOrder: 'false'\n    arguments: {binpack.weight: 0x10, binpack.resources: [a, b], binpack.resources.a: '3'}\n", "  - name: drf\n    enableHierarchy: true\n"),
		"tiers:\n- plugins: [&a {name: gang}]\n- plugins: [{<<: *a, name: nested, arguments: {block: {weight: !!str 1}}}]\n",
		"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: 5\n",
		"a: &a [*a]\n", "? {a: b}\n: c\n", "- |\n a\n-\t\"", "x: *y\n--- \xff\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := parse(string(text))
		if err != nil {
			if err.Error() == "" {
				t.Error("a fault says nothing")
			}
			return
		}
		written := show(t, config)
		again, err := parse(written)
		if err != nil {
			t.Fatalf("%q was written as\n%s\nwhich is not read: %v", text, written, err)
		}
		if diff := cmp.Diff(written, show(t, again)); diff != "" {
			t.Errorf("%q: -written +written again:\n%s", text, diff)
		}
		if diff := cmp.Diff(fmt.Sprint(config.Tiers), fmt.Sprint(again.Tiers)); diff != "" { // numbers are read by what they look like
			t.Errorf("%q: -read +read again:\n%s", text, diff)
		}
	})
}
