package relations

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"

	"github.com/muster-sh/muster/pkg/scheduler/plugins/predicates"
)

// handle is what kube-scheduler's plugins are made with. The rest of the interface
// serves plugins that are not in use here; nil.
type handle struct {
	fwk.Handle
	ctx     context.Context // of calls to them
	store   *store
	lister  lister
	csi     fwk.CSIManager
	devices *devices
	pad     *notepad
	binding fwk.PreBindPlugin            // of devices; it waits for nothing
	volumes *volumebinding.VolumeBinding // made once: it knows what was chosen; nil until then
}

func (h *handle) SnapshotSharedLister() fwk.SharedLister { return h.lister }

func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return h.store }

func (h *handle) SharedCSIManager() fwk.CSIManager { return h.csi }

func (h *handle) SharedDRAManager() fwk.SharedDRAManager { return h.devices }

func (h *handle) ClientSet() kubernetes.Interface { return h.pad }

func (*handle) ProfileName() string { return "muster" }

func (*handle) Parallelizer() fwk.Parallelizer { return serial{} }

// serial does the work piece by piece: who decides starts no goroutines.
type serial struct{}

func (serial) Until(_ context.Context, pieces int, do workqueue.DoWorkPieceFunc, _ string) {
	for i := range pieces {
		do(i)
	}
}

// quiet is the context that kube-scheduler's plugins run in: nothing is logged.
func quiet() context.Context {
	return klog.NewContext(context.Background(), logr.Discard()) //nolint:forbidigo // there is no caller with a context: nothing here can be cancelled
}

// features are those of kube-scheduler of this version as it comes, but for:
// anti-affinity between hosts is looked at host by host, which is faster and the
// same.
func features() feature.Features {
	f := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	f.EnableInterPodAffinityHostnameFastPath = true
	f.EnableStorageCapacityScoring = false
	return f
}

// part is one of kube-scheduler's plugins in use.
type part struct {
	fwk.PreFilterPlugin
	filter  fwk.FilterPlugin
	reserve fwk.ReservePlugin // nil when it has nothing to set aside
	pods    bool              // its verdict follows labels of nodes and pods alone, not the single node
}

// parts makes the plugins that are switched on, in kube-scheduler's order.
func (h *handle) parts(on predicates.Switches) ([]part, error) {
	fts := features()
	if on.Devices {
		waitless := fts
		waitless.EnableDRADeviceBindingConditions = false // the edge waits for them
		made, err := dynamicresources.New(h.ctx, deviceArgs(on.DeviceTimeout), h, waitless)
		if err != nil {
			return nil, err
		}
		h.binding, _ = made.(fwk.PreBindPlugin)
	}
	var parts []part
	for _, p := range []struct {
		on, pods bool
		args     runtime.Object
		make     func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)
	}{
		{on.Ports, false, nil, nodeports.New},
		{on.VolumeBinding, false, nil, volumerestrictions.New},
		{on.VolumeLimits, false, nil, nodevolumelimits.NewCSI},
		{on.VolumeBinding, false, nil, h.volumeBinding},
		{on.VolumeZone, false, nil, volumezone.New},
		{on.Spread, true, &config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting}, podtopologyspread.New},
		{on.PodAffinity, true, &config.InterPodAffinityArgs{HardPodAffinityWeight: 1}, interpodaffinity.New},
		{on.Devices, false, deviceArgs(on.DeviceTimeout), dynamicresources.New},
	} {
		if !p.on {
			continue
		}
		made, err := p.make(h.ctx, p.args, h, fts)
		if err != nil {
			return nil, err
		}
		pt := part{pods: p.pods}
		pt.PreFilterPlugin, _ = made.(fwk.PreFilterPlugin)
		pt.filter, _ = made.(fwk.FilterPlugin)
		pt.reserve, _ = made.(fwk.ReservePlugin)
		parts = append(parts, pt)
	}
	return parts, nil
}

// volumeBinding is the plugin that chooses volumes, the same one each time.
func (h *handle) volumeBinding(ctx context.Context, _ runtime.Object, _ fwk.Handle, fts feature.Features) (fwk.Plugin, error) {
	if h.volumes == nil {
		made, err := volumebinding.New(ctx, &config.VolumeBindingArgs{}, h, fts)
		if err != nil {
			return nil, err
		}
		h.volumes, _ = made.(*volumebinding.VolumeBinding)
	}
	return h.volumes, nil
}

func deviceArgs(timeout time.Duration) *config.DynamicResourcesArgs {
	return &config.DynamicResourcesArgs{FilterTimeout: &metav1.Duration{Duration: timeout}}
}
