package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Source says where the configuration is read from, and watched; at most one of
// them. Without any, [Options.Config] holds for good.
type Source struct {
	File      string               // path of a volcano-scheduler.conf
	ConfigMap types.NamespacedName // whose data has one
}

func (s Source) String() string {
	if s.File != "" {
		return s.File
	}
	return "ConfigMap " + s.ConfigMap.String()
}

// update is what came of reading the source again.
type update struct {
	config engine.Config
	err    error // why it can't be used
}

// configs reads the source and hands what is new in it to the loop.
type configs struct {
	*Scheduler
	updates chan update // at most one: the latest
	file    confFile
	data    map[string]string // of the ConfigMap, as last seen
	seen    bool              // the ConfigMap was there
	running engine.Config     // what the engine decides by

	metered       framework.Metrics // what is read how busy nodes are from
	unmeter       func()            // ends that
	reads, faults atomic.Int64
}

// Meter reads how busy nodes are, in the background, until ctx ends, and tells each time
// what it read or why it could not.
type Meter func(ctx context.Context, from framework.Metrics, tell func(*framework.Usage, error))

// readSource returns the configuration of a file, in place of the one in o.
func readSource(o Options) (engine.Config, confFile, error) {
	file := confFile{path: o.Source.File}
	if file.path == "" {
		return o.Config, file, nil
	}
	if _, err := file.look(); err != nil {
		return engine.Config{}, file, err
	}
	config, err := conf.Parse(file.text, o.Actions, o.Registry)
	if err != nil {
		err = fmt.Errorf("configuration %s:\n%w", file.path, err)
	}
	return config, file, err
}

// watchOnly limits the watch of ConfigMaps to the one that counts, so that no
// right to read others is needed.
func (s Source) watchOnly() map[client.Object]cache.ByObject {
	if s.ConfigMap.Name == "" {
		return nil
	}
	only := cache.Config{FieldSelector: fields.OneTermEqualSelector("metadata.name", s.ConfigMap.Name)}
	return map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{s.ConfigMap.Namespace: only}}}
}

// begin configures the engine as the ConfigMap says. It is not an error when there is none yet.
func (c *configs) begin(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	at := c.options.Source.ConfigMap
	if at.Name == "" {
		log.Info("configured", "source", cmp.Or(c.options.Source.File, "default"), "configuration", conf.Summary(c.options.Config))
		return nil
	}
	found, err := c.pods.CoreV1().ConfigMaps(at.Namespace).Get(ctx, at.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		log.Info("the ConfigMap of the configuration does not exist; the default holds until it does", "configMap", at, "configuration", conf.Summary(c.options.Config))
		return nil
	}
	if err != nil {
		return fmt.Errorf("configuration: %w; may the scheduler get, list and watch it?", err)
	}
	c.data, c.seen = found.Data, true
	u := c.parse(found.Data)
	if u.err == nil {
		u.err = c.engine.Reconfigure(u.config)
		c.running = u.config
	}
	if u.err != nil {
		return fmt.Errorf("configuration %s:\n%w", c.options.Source, u.err)
	}
	log.Info("configured", "source", c.options.Source.String(), "configuration", conf.Summary(u.config))
	return nil
}

func (c *configs) parse(data map[string]string) update {
	config, err := conf.FromConfigMap(data, c.options.Actions, c.options.Registry)
	return update{config, err}
}

// watchMap tells of the ConfigMap's changes from now on.
func (c *configs) watchMap(ctx context.Context) error {
	if c.options.Source.ConfigMap.Name == "" {
		return nil
	}
	informer, err := c.cache.GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		return fmt.Errorf("watch %s: %w; may the scheduler get, list and watch it?", c.options.Source, err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    c.note,
		UpdateFunc: func(_, o any) { c.note(o) },
		DeleteFunc: func(any) {
			logr.FromContextOrDiscard(ctx).Info("the ConfigMap of the configuration is gone; the configuration that runs stays", "configMap", c.options.Source.ConfigMap)
		},
	})
	return err
}

// note takes notice of the ConfigMap. Only its data counts.
func (c *configs) note(o any) {
	m, ok := o.(*corev1.ConfigMap)
	if !ok || (c.seen && maps.Equal(m.Data, c.data)) {
		return
	}
	c.data, c.seen = m.Data, true
	c.offer(c.parse(m.Data))
}

// watchFile tells of the file's changes until ctx ends.
func (c *configs) watchFile(ctx context.Context) {
	if c.file.path == "" {
		return
	}
	c.file.watch(ctx, func(text []byte, err error) {
		u := update{err: err}
		if err == nil {
			u.config, u.err = conf.Parse(text, c.options.Actions, c.options.Registry)
		}
		c.offer(u)
	})
}

// offer hands an update to the loop, in place of one that it has not taken yet.
func (c *configs) offer(u update) {
	for {
		select {
		case c.updates <- u:
			return
		default:
		}
		select {
		case <-c.updates:
		default:
		}
	}
}

// apply makes the engine decide by what was read, or says what is wrong with it.
// Only the loop may call it.
func (c *configs) apply(ctx context.Context, u update, snapshot *Snapshot) {
	log := logr.FromContextOrDiscard(ctx).WithValues("source", c.options.Source.String())
	err := u.err
	if err == nil {
		err = c.engine.Reconfigure(u.config)
	}
	if err != nil {
		snapshot.ConfigInvalid = true
		snapshot.ConfigErrors++
		for _, fault := range faults(err) {
			log.Error(fault, "the configuration is invalid; the one that runs stays")
		}
		c.recorder.Event(c.subject(ctx), corev1.EventTypeWarning, "InvalidConfiguration", clip(c.options.Source.String()+", the configuration that runs stays: "+err.Error()))
		return
	}
	snapshot.ConfigInvalid = false
	snapshot.ConfigReloads++
	summary := conf.Summary(u.config)
	log.Info("configured anew", "configuration", summary)
	c.running = u.config
	c.meter(ctx)
	if text, err := conf.Format(u.config); err == nil {
		log.V(1).Info("the whole configuration", "text", text)
		if c.record != nil {
			c.record.Configured(text)
		}
	}
	c.recorder.Event(c.subject(ctx), corev1.EventTypeNormal, "Configured", clip(c.options.Source.String()+": "+summary))
	c.sayIdle(ctx)
}

// sayIdle says, once for each configuration, what in it means nothing here.
func (c *configs) sayIdle(ctx context.Context) {
	idle := c.running.Idle
	if len(idle) == 0 {
		return
	}
	source := c.options.Source.String()
	for _, said := range idle {
		logr.FromContextOrDiscard(ctx).Info("a setting has no effect", "source", source, "said", said)
	}
	c.recorder.Event(c.subject(ctx), corev1.EventTypeWarning, "SettingWithoutEffect", clip(source+": "+strings.Join(idle, "\n")))
}

// meter has it read how busy nodes are, from where the configuration says. Only the loop
// may call it, or who starts that.
func (c *configs) meter(ctx context.Context) {
	from := c.running.Metrics
	if c.options.Meter == nil || from == c.metered {
		return
	}
	if c.unmeter != nil {
		c.unmeter()
		c.unmeter = nil
	}
	if c.metered = from; from.Type == "" {
		c.mailbox.put(engine.ObjectSet{Object: &framework.Usage{ObjectMeta: metav1.ObjectMeta{Name: framework.UsageName}}, Gone: true})
		return
	}
	ctx, c.unmeter = context.WithCancel(ctx)
	go c.options.Meter(ctx, from, c.told(ctx))
}

// told hands on what a meter tells. That it can't read is said once, and when it can again.
func (c *configs) told(ctx context.Context) func(*framework.Usage, error) {
	log := logr.FromContextOrDiscard(ctx)
	failing := false
	return func(usage *framework.Usage, err error) {
		switch {
		case err != nil:
			c.faults.Add(1)
			if !failing {
				log.Error(err, "it can't be read how busy nodes are; what was read last counts for a while, then plugins go without", "for", framework.UsageFor)
				c.recorder.Event(c.subject(ctx), corev1.EventTypeWarning, "MetricsUnavailable", clip(fmt.Sprintf("it can't be read how busy nodes are, which counts for nothing after %v: %v", framework.UsageFor, err)))
			}
		default:
			c.reads.Add(1)
			if failing {
				log.Info("it is read again how busy nodes are", "nodes", len(usage.Nodes))
			}
			c.mailbox.put(engine.ObjectSet{Object: usage})
		}
		failing = err != nil
	}
}

// faults lists what is wrong with a configuration, one thing each.
func faults(err error) []error {
	if all, ok := errors.AsType[conf.Faults](err); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// clip bounds a message.
func clip(text string) string {
	if len(text) > messageLimit {
		return strings.ToValidUTF8(text[:messageLimit-3], "") + "..."
	}
	return text
}

// subject is what events about the configuration are about: the ConfigMap; for a
// file the pod that reads it, or, when that is not known, the queue above all others.
func (c *configs) subject(ctx context.Context) runtime.Object {
	find := func(key types.NamespacedName, o client.Object) bool {
		return key.Name != "" && c.cache.Get(ctx, key, o) == nil
	}
	configMap, pod, queue := &corev1.ConfigMap{}, &corev1.Pod{}, &schedulingv1beta1.Queue{}
	switch {
	case find(c.options.Source.ConfigMap, configMap):
		return configMap
	case find(c.options.Pod, pod):
		return pod
	case find(types.NamespacedName{Name: schedulingv1beta1.RootQueue}, queue):
		return queue
	}
	return &corev1.ObjectReference{APIVersion: schedulingv1beta1.GroupVersion().String(), Kind: "Queue", Name: schedulingv1beta1.RootQueue}
}
