package muster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-sh/muster/integrations"
	"github.com/muster-sh/muster/pkg/controllers"
	"github.com/muster-sh/muster/pkg/manifests"
	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/live"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
)

// generated walks the lists.
func generated() manifests.Input {
	ctl := manifests.Component{Name: "controllers"}
	for _, c := range controllers.All() {
		ctl.Rules = append(ctl.Rules, c.Rules...)
	}
	var kinds, names strings.Builder
	kinds.WriteString("| kind | API | made for it |\n|---|---|---|\n")
	for _, a := range integrations.Adapters(nil) {
		k := a.Kind()
		fmt.Fprintf(&kinds, "| %s | %s | PodGroup `podgroup-<uid>` |\n", k.Kind, k.GroupVersion())
	}
	names.WriteString("| name | what |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(actions.Builtin())) {
		fmt.Fprintf(&names, "| %s | action |\n", name)
	}
	for _, name := range slices.Sorted(maps.Keys(plugins.Builtin())) {
		fmt.Fprintf(&names, "| %s | plugin |\n", name)
	}
	return manifests.Input{
		Components: []manifests.Component{{Name: "scheduler", Rules: live.Rules()}, ctl},
		Tables: []manifests.Table{
			{Page: "docs/architecture.md", Name: "adapters", Text: kinds.String()},
			{Page: "docs/architecture.md", Name: "plugins", Text: names.String()},
		},
	}
}

func manifestsCommand() *cobra.Command {
	var root string
	var check bool
	cmd := &cobra.Command{
		Use:    "manifests",
		Short:  "Write roles, chart templates and docs tables from the lists in the code",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := manifests.Files(root, generated())
			if err != nil {
				return err
			}
			if !check {
				written, err := manifests.Write(root, files)
				for _, path := range written {
					cmd.Println("wrote", path)
				}
				return err
			}
			stale, err := manifests.Stale(root, files)
			if err == nil && len(stale) > 0 {
				err = fmt.Errorf("stale: %s; run `make generate`", strings.Join(stale, ", "))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "root of the source tree")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; fail when something is stale")
	return cmd
}
