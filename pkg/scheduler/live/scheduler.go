// Package live runs the engine against an API server: watches become events,
// decisions become bindings and status writes, and what came of those becomes
// events again. It decides nothing.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolsrecord "k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	topologyv1alpha1 "github.com/muster-sh/muster/apis/topology/v1alpha1"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/record"
)

// Options are the settings of a Scheduler. The zero value is usable but for Config and Registry.
type Options struct {
	SchedulerNames []string           // the pod.spec.schedulerName values it answers to; none: "volcano"
	BindWorkers    int                // bindings written at once; 0: 64
	DrainTimeout   time.Duration      // how long binds in flight may take after the end; 0: 30 s
	Config         engine.Config      // actions and plugins, unless Source says otherwise
	Registry       framework.Registry // the plugins there are
	// Actions are those there are; needed with a Source.
	Actions map[string]func() engine.Action
	Source  Source // of the configuration
	Meter   Meter  // nil: how busy nodes are is read nowhere
	// Nodes names the labels, as "key:value", of which a node must have one to be used; none: all are.
	Nodes []string
	// Took is told how long things took, for histograms; it must not block. Nil: nobody is.
	Took   func(span Span, of string, took time.Duration)
	Record io.Writer            // what the engine is told and decides is recorded there; nil: nowhere
	Pod    types.NamespacedName // it runs in; empty when not known
}

// Scheduler runs one engine. Start it once.
type Scheduler struct {
	options   Options
	engine    *engine.Engine
	cache     cache.Cache
	client    client.Client // writes only; reads go to the cache
	pods      kubernetes.Interface
	recorder  toolsrecord.EventRecorder
	events    toolsrecord.EventBroadcaster
	mailbox   *mailbox[engine.Event]
	binder    *binder
	evictor   *evictor
	nominator *nominator
	statuses  *statusWriter
	queues    *queueWriter
	configs   *configs
	record    *record.Writer

	preparer  *preparer
	gates     *gatekeeper
	dumps     chan func([]byte)
	questions chan question
	ended     chan struct{} // closed when nobody answers questions any more
	announcer *announcer

	ready  atomic.Bool
	asked  atomic.Bool // somebody looked at the last snapshot
	last   atomic.Pointer[Snapshot]
	groups sync.Mutex // held while gangs are told to the engine
	known  map[types.UID]*schedulingv1beta1.PodGroup

	mu      sync.Mutex
	waiting map[string]reason.Reason // by gang
}

// Snapshot is what the scheduler did up to its last cycle.
type Snapshot struct {
	Report       engine.Report
	Queues       []engine.QueueUse
	Cycles       int64
	CycleSeconds float64 // in all
	Tried        int64   // gangs looked at, in all
	Placed       int64   // tasks given a node, in all
	Plans        int64   // times that victims were looked for
	Victims      int     // tasks told to go to make room when that was last done
	// Idle is how long room that was made for gangs lay idle until they were placed: amounts
	// times seconds, by resource.
	Idle        map[string]float64
	Binds       int64                 // bindings the API server took
	BindErrors  int64                 // bindings it refused
	Evictions   map[reason.Code]int64 // pods that were told to go, whyever, by why
	EvictErrors int64                 // evictions that were given up
	// Transactions is how often pods were told to go for one gang, by action.
	Transactions map[string]int64
	Waiting      int // gangs with a reason to wait
	// Gangs are all that were told of, as they stand now; Figures are as of the first cycle
	// after somebody looked at a snapshot.
	Gangs   []GangUse
	Figures engine.Figures
	Faults  int64 // how often something broke over one thing, which was left out
	// Objectives are what gangs were promised, Missed is how many of them ran out of time.
	Objectives []engine.Objective
	Missed     int64
	// ConfigReloads and ConfigErrors are how often another configuration was
	// taken or refused since the start; ConfigInvalid: the last was refused.
	ConfigReloads, ConfigErrors int64
	// MetricsReads and MetricsErrors are how often it was read how busy nodes are, or could not be.
	MetricsReads, MetricsErrors int64
	ConfigInvalid               bool
}

// New makes a Scheduler for the API server of cfg. The error names what is wrong with the options.
func New(cfg *rest.Config, o Options) (*Scheduler, error) {
	if len(o.SchedulerNames) == 0 {
		o.SchedulerNames = []string{"volcano"}
	}
	if o.BindWorkers < 0 || o.BindWorkers > mostBindWorkers {
		return nil, fmt.Errorf("bind workers: %d; give 1 to %d, or 0 for the default", o.BindWorkers, mostBindWorkers)
	}
	if o.BindWorkers == 0 {
		o.BindWorkers = 64
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 30 * time.Second
	}
	var file confFile
	var err error
	if o.Config, file, err = readSource(o); err != nil {
		return nil, err
	}
	e, err := engine.New(o.Config, o.Registry)
	if err != nil {
		return nil, err
	}
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), schedulingv1beta1.AddToScheme(known), topologyv1alpha1.AddToScheme(known)); err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.DisableCompression = true // on a cluster's own network it costs both sides more than it saves
	watches, err := cache.New(cfg, cache.Options{Scheme: known, DefaultTransform: cache.TransformStripManagedFields(), ByObject: o.Source.watchOnly()})
	if err != nil {
		return nil, fmt.Errorf("make watch cache: %w", err)
	}
	writer, err := client.New(cfg, client.Options{Scheme: known})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	core := rest.CopyConfig(cfg)
	core.ContentType, core.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	pods, err := kubernetes.NewForConfig(core)
	if err != nil {
		return nil, fmt.Errorf("make pod client: %w", err)
	}
	broadcaster := toolsrecord.NewBroadcaster()
	s := &Scheduler{
		options: o, engine: e, cache: watches, client: writer, pods: pods,
		events:   broadcaster,
		recorder: broadcaster.NewRecorder(known, corev1.EventSource{Component: component}),
		mailbox:  newMailbox[engine.Event](),
		known:    map[types.UID]*schedulingv1beta1.PodGroup{},
		waiting:  map[string]reason.Reason{},
	}
	s.binder = newBinder(s)
	s.evictor = newEvictor(s)
	s.nominator = newNominator(s)
	s.statuses = newStatusWriter(s)
	s.queues = newQueueWriter(s)
	s.configs = &configs{Scheduler: s, running: o.Config, updates: make(chan update, 1), file: file}
	s.dumps = make(chan func([]byte), 1)
	s.questions, s.ended = make(chan question), make(chan struct{})
	s.preparer = newPreparer(s)
	s.gates = newGatekeeper(s)
	s.announcer = newAnnouncer(s)
	s.asked.Store(true)
	return s, nil
}

// mostBindWorkers is more than any API server takes at once.
const mostBindWorkers = 4096

// component is who says so in events.
const component = "muster"

// NeedLeaderElection says that two schedulers must not run at once.
func (s *Scheduler) NeedLeaderElection() bool { return true }

// Ready returns nil once everything has been seen and decisions are made.
func (s *Scheduler) Ready(*http.Request) error {
	if !s.ready.Load() {
		return errors.New("scheduler: not leading, or watches are not synced yet")
	}
	return nil
}

// Last returns what was done so far; nil before the first cycle.
func (s *Scheduler) Last() *Snapshot {
	last := s.last.Load()
	if last == nil {
		return nil
	}
	now := *last // binds go on after the cycle that asked for them
	now.Binds, now.BindErrors = s.binder.bound.Load(), s.binder.failed.Load()
	now.MetricsReads, now.MetricsErrors = s.configs.reads.Load(), s.configs.faults.Load()
	now.Evictions, now.EvictErrors = s.evictor.counts(), s.evictor.failed.Load()
	now.Gangs = s.gangs(time.Now())
	if s.asked.Store(true); s.ready.Load() {
		s.mailbox.ring() // for whoever looks next, though nothing happens meanwhile
	}
	return &now
}

// Start runs until ctx ends and all binds in flight are done.
func (s *Scheduler) Start(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx).WithName("scheduler")
	ctx = logr.NewContext(ctx, log)
	// What is under way when ctx ends is finished with a context of its own.
	drain, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.queues.ensure(ctx); err != nil {
		return err
	}
	if err := s.configs.begin(ctx); err != nil {
		return err
	}
	s.events.StartRecordingToSink(sink(s.pods))
	defer s.events.Shutdown()
	stopped := make(chan error, 1)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go func() { stopped <- s.cache.Start(watching) }()
	if err := errors.Join(s.watch(ctx), s.configs.watchMap(ctx)); err != nil {
		return err
	}
	log.Info("watches are synced", "schedulerNames", s.options.SchedulerNames)
	s.configs.sayIdle(ctx)
	var workers sync.WaitGroup
	workers.Go(func() { s.binder.run(drain) })
	workers.Go(func() { work(drain, evictWorkers, s.evictor.queue, s.evictor.write) })
	workers.Go(func() { work(ctx, 1, s.nominator.queue, s.nominator.write) })
	workers.Go(func() { work(drain, preparers, s.preparer.queue, s.preparer.write) })
	workers.Go(func() { work(drain, gateWorkers, s.gates.queue, s.gates.write) })
	workers.Go(func() { work(drain, statusWorkers, s.statuses.queue, s.statuses.write) })
	workers.Go(func() { work(drain, 1, s.queues.queue, s.queues.write) })
	workers.Go(func() { s.configs.watchFile(watching) })
	workers.Go(func() { s.announcer.run(ctx) })
	workers.Go(func() { work(ctx, 1, s.announcer.waiters, s.announcer.tellPods) })
	s.configs.meter(ctx)
	s.ready.Store(true)
	err := s.loop(ctx, stopped)
	s.ready.Store(false)
	stop()
	timer := time.AfterFunc(s.options.DrainTimeout, cancel)
	defer timer.Stop()
	s.announcer.waiters.ShutDown()
	s.nominator.queue.ShutDown() // the next scheduler decides anew
	s.gates.queue.ShutDownWithDrain()
	s.evictor.queue.ShutDown()  // who was not told to go stays; the next scheduler decides anew
	s.preparer.queue.ShutDown() // who is prepared but not bound is seen as waiting by the next scheduler
	s.binder.queue.ShutDownWithDrain()
	s.statuses.queue.ShutDownWithDrain()
	s.queues.queue.ShutDownWithDrain()
	workers.Wait()
	log.Info("scheduler stopped", "binds", s.binder.bound.Load())
	return err
}

func (s *Scheduler) answersTo(name string) bool {
	return slices.Contains(s.options.SchedulerNames, name)
}

// wait notes why a gang waits; nil: it does not. It returns the code of why it
// waited before, empty when it did not.
func (s *Scheduler) wait(gang string, why *reason.Reason) (before reason.Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.waiting[gang].Code
	if why == nil {
		delete(s.waiting, gang)
	} else {
		s.waiting[gang] = *why
	}
	return before
}

// waitsFor returns why a gang waits; false when it does not.
func (s *Scheduler) waitsFor(gang string) (reason.Reason, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	why, waits := s.waiting[gang]
	return why, waits
}

// watched returns one empty object of every kind that is watched.
func watched() []framework.Object {
	return append([]framework.Object{
		&schedulingv1.PriorityClass{}, &corev1.Node{}, &schedulingv1beta1.Queue{}, &schedulingv1beta1.PodGroup{}, &corev1.Pod{},
	}, framework.Learned()...)
}
