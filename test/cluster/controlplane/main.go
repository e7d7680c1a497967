// Command controlplane is etcd, kube-apiserver, kube-controller-manager and kwok
// in one binary: its first argument says which it is, the rest are that
// component's own flags. One binary links once and shares its pages. As
// "stages" it prints the kwok stages that simulate nodes and pods.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	node "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	pod "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: controlplane etcd|kube-apiserver|kube-controller-manager|kwok|stages [flags]")
	}
	component := os.Args[1]
	os.Args = append([]string{component}, os.Args[2:]...)
	switch component {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	case "kwok":
		runKwok()
	case "stages":
		fmt.Println(strings.Join([]string{
			node.DefaultNodeInit, heartbeat.DefaultNodeHeartbeatWithLease, pod.DefaultPodReady, pod.DefaultPodDelete,
		}, "\n---\n"))
	default:
		fail(fmt.Sprintf("controlplane: component %q is unknown", component))
	}
}

// runKwok does what kwok's own main does. The other components put flags into
// the set for all commands that clash with kwok's, so that set is made anew.
func runKwok() {
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ExitOnError)
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		fail(fmt.Sprintf("kwok: read configuration: %v", err))
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil {
		fail(fmt.Sprintf("kwok: %v", err))
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(1)
}
