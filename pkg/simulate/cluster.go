package simulate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/intake"
)

// Bounds and defaults of clusters.
const (
	mostNodes   = 100_000
	podsPerNode = 110 // the kubelet's own default
)

// clusterReader gathers a cluster.
type clusterReader struct {
	reader
	nodes  []model.NodeSpec
	queues []schedulingv1beta1.Queue
	at     map[string]place // of nodes, "node/NAME", and queues, "queue/NAME"
	given  bool
}

// ParseCluster reads a cluster: a document with the keys nodes and queues, and Node and Queue
// objects as kubectl prints them, each in a document of its own or in a List.
func ParseCluster(file string, text []byte) (Cluster, Faults) {
	r := clusterReader{reader: reader{file: file}, at: map[string]place{}}
	for _, doc := range r.documents(text) {
		r.document(field{node: doc, line: doc.Line})
	}
	if len(r.nodes) == 0 && len(r.faults) == 0 {
		r.faults = append(r.faults, Fault{File: file, Field: "nodes", What: "are not given", Remedy: "name at least one group, as in nodes: [{name: gpu, count: 4, resources: {nvidia.com/gpu: 8}}]"})
	}
	r.checkQueues()
	c := Cluster{Nodes: r.nodes, given: r.given}
	if !slices.ContainsFunc(r.queues, func(q schedulingv1beta1.Queue) bool { return q.Name == schedulingv1beta1.RootQueue }) {
		r.queues = slices.Insert(r.queues, 0, schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: schedulingv1beta1.RootQueue}, Spec: schedulingv1beta1.QueueSpec{Weight: 1}})
	}
	for i := range r.queues {
		c.Queues = append(c.Queues, intake.Queue(&r.queues[i]))
	}
	return c, r.faults
}

func (r *clusterReader) document(f field) {
	if f.node.Kind == yaml.MappingNode && slices.ContainsFunc(f.node.Content, func(n *yaml.Node) bool { return n.Value == "kind" }) {
		r.object(f)
		return
	}
	fields := r.fields(f, "nodes", "queues")
	if nodes, ok := fields["nodes"]; ok {
		for _, item := range r.items(nodes) {
			r.group(item)
		}
	}
	if queues, ok := fields["queues"]; ok {
		r.given = true
		for _, item := range r.items(queues) {
			r.queue(item)
		}
	}
}

// object reads an object of the API.
func (r *clusterReader) object(f field) {
	fields := r.fields(f)
	switch kind := fields["kind"].node.Value; kind {
	case "List", "NodeList", "QueueList":
		if items, ok := fields["items"]; ok {
			for _, item := range r.items(items) {
				r.document(item)
			}
		}
	case "Node":
		var n corev1.Node
		if r.into(f, &n) && r.named(f, "node", n.Name) {
			r.nodes = append(r.nodes, intake.Node(&n))
		}
	case "Queue":
		r.given = true
		var q schedulingv1beta1.Queue
		if spec, ok := fields["spec"]; ok {
			r.fields(spec, specKeys()...)
		}
		if r.into(f, &q) && r.named(f, "queue", q.Name) {
			r.queues = append(r.queues, q)
		}
	default:
		r.wrong(fields["kind"], "give Node, Queue or a List of them; or leave kind out and write nodes and queues")
	}
}

// named notes where a name is used, which may be only once.
func (r *clusterReader) named(f field, what, name string) bool {
	key := what + "/" + name
	before, twice := r.at[key]
	switch {
	case name == "":
		r.lacks(f, "name", "give every "+what+" one")
		return false
	case twice:
		r.faults = append(r.faults, Fault{File: r.file, Line: f.line, What: fmt.Sprintf("%s %q is there already, at line %d", what, name, before.line), Remedy: "keep one, or give it another name"})
		return false
	}
	r.at[key] = place{r.file, f.line}
	return true
}

// group reads nodes that are alike.
func (r *clusterReader) group(f field) {
	fields := r.fields(f, "name", "count", "resources", "labels", "taints")
	if fields == nil {
		return
	}
	name, count := "", int64(1)
	if f, ok := fields["name"]; ok {
		name = text(&r.reader, f, func(s string) (string, string) { return s, jobName(s) })
	}
	if f, ok := fields["count"]; ok {
		count = text(&r.reader, f, func(s string) (int64, string) { return number(s, 1, mostNodes) })
	}
	n := model.NodeSpec{}
	if res, ok := fields["resources"]; ok {
		n.Allocatable = r.resources(res, map[string]int64{resource.Pods: podsPerNode})
	} else {
		r.lacks(f, "resources", "say what each node has, as in {nvidia.com/gpu: 8, cpu: 96, memory: 1Ti}")
	}
	if f, ok := fields["labels"]; ok {
		n.Labels = r.strings(f)
	}
	if f, ok := fields["taints"]; ok {
		r.into(f, &n.Taints)
	}
	for i := range count {
		n.Name = name
		if count > 1 {
			n.Name = fmt.Sprintf("%s-%0*d", name, len(fmt.Sprint(count-1)), i)
		}
		if !r.named(f, "node", n.Name) {
			return
		}
		r.nodes = append(r.nodes, n)
	}
}

// resources reads amounts by name, over those that hold when they are not named.
func (r *reader) resources(f field, amounts map[string]int64) resource.List {
	fields := r.fields(f)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		each, name := fields[key], resourceName(key)
		if !resource.IsName(name) {
			r.faults = append(r.faults, unknown(place{r.file, each.line}, "resource", key, []string{"cpu", "memory", "ephemeral-storage", "pods", "gpu", "and any name with a domain, as nvidia.com/gpu"}))
			continue
		}
		amounts[name] = text(r, each, func(s string) (int64, string) { return quantity(name, s) })
	}
	return resource.ListOf(amounts)
}

// queue reads a queue in short: the keys of a Queue's spec, a name and annotations.
func (r *clusterReader) queue(f field) {
	fields := r.fields(f, append([]string{"name", "annotations"}, specKeys()...)...)
	if fields == nil {
		return
	}
	q := schedulingv1beta1.Queue{Spec: schedulingv1beta1.QueueSpec{Weight: 1}}
	for _, key := range specKeys() {
		each, ok := fields[key]
		if !ok {
			continue
		}
		switch key {
		case "guarantee", "deserved", "capability":
			r.limit(each, &q.Spec)
		default:
			short := field{key: key, path: each.path, line: each.line, node: &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: key, Tag: "!!str"}, each.node}}}
			if !r.quietly(short, &q.Spec) {
				r.wrong(each, "give what a Queue has there; see `kubectl explain queue.spec."+key+"`")
			}
		}
	}
	if f, ok := fields["annotations"]; ok {
		q.Annotations = r.strings(f)
	}
	if f, ok := fields["name"]; ok {
		q.Name = text(&r.reader, f, func(s string) (string, string) { return s, jobName(s) })
	}
	if r.named(f, "queue", q.Name) {
		r.queues = append(r.queues, q)
	}
}

// limit reads one of a queue's limits.
func (r *clusterReader) limit(f field, spec *schedulingv1beta1.QueueSpec) {
	list := corev1.ResourceList{}
	if f.key == "guarantee" {
		if inner, ok := r.fields(f)["resource"]; ok {
			f = inner
		}
	}
	for _, a := range r.resources(f, map[string]int64{}) {
		list[corev1.ResourceName(a.Name)] = asQuantity(a)
	}
	switch {
	case strings.HasPrefix(f.key, "deserved"):
		spec.Deserved = list
	case strings.HasPrefix(f.key, "capability"):
		spec.Capability = list
	default:
		spec.Guarantee = schedulingv1beta1.Guarantee{Resource: list}
	}
}

// quietly is into without a word of what is wrong.
func (r *reader) quietly(f field, target any) bool {
	n := len(r.faults)
	ok := r.into(f, target)
	r.faults = r.faults[:n]
	return ok
}

// specKeys are the keys of a Queue's spec.
func specKeys() []string {
	var keys []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[schedulingv1beta1.QueueSpec]()) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	return keys
}

// checkQueues says what can't be right between queues.
func (r *clusterReader) checkQueues() {
	for i := range r.queues {
		q := &r.queues[i]
		at := r.at["queue/"+q.Name]
		for _, err := range q.Check(schedulingv1beta1.KinOf(q, r.queues)) {
			r.faults = append(r.faults, Fault{
				File: at.file, Line: at.line, Field: "queue " + q.Name + ": " + strings.TrimPrefix(err.Field, "spec."),
				What: strings.TrimPrefix(err.ErrorBody(), "Invalid value: "), Remedy: "it would be refused by the cluster",
			})
		}
	}
}
