package nodeorder

import (
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Below smallImages an image is fetched in no time; above largeImage per container more does not count.
const (
	smallImages = 23 << 20
	largeImage  = 1000 << 20
)

// RateNodes rates nodes by what of them placements do not change.
func (p *plugin) RateNodes(c *model.Class) func(n *model.Node) int64 {
	affinity := preferences(c.Shape.Affinity)
	images := imageNames(c.Shape.Images)
	tolerations := c.Shape.Tolerations
	return func(n *model.Node) int64 {
		var sum int64
		if p.affinity > 0 {
			sum += p.affinity * affinity.score(n)
		}
		if p.taints > 0 {
			sum += p.taints * taintScore(tolerations, n.Taints)
		}
		if p.images > 0 && n.Object != nil {
			sum += p.images * imageScore(images, n.Object.Status.Images)
		}
		return p.whole * sum
	}
}

// preferred is the preferred terms of a node affinity.
type preferred struct {
	terms *nodeaffinity.PreferredSchedulingTerms
	total int64 // of all weights
}

// preferences reads the preferred terms. Terms that can't be read, which no API
// server lets in, count for nothing.
func preferences(a *corev1.NodeAffinity) preferred {
	if a == nil {
		return preferred{}
	}
	list := a.PreferredDuringSchedulingIgnoredDuringExecution
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(list)
	if err != nil {
		return preferred{}
	}
	p := preferred{terms: terms}
	for _, t := range list {
		if len(t.Preference.MatchExpressions)+len(t.Preference.MatchFields) > 0 { // an empty term matches nothing
			p.total += int64(t.Weight)
		}
	}
	return p
}

// score is the part of the weights whose terms the node meets.
func (p preferred) score(n *model.Node) int64 {
	if p.total <= 0 {
		return 0
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	return framework.Share(p.terms.Score(node), p.total)
}

// taintScore is full for a node without a taint that asks in vain to be avoided,
// and else a tenth of that, divided by how many there are: the first weighs most.
func taintScore(tolerations []corev1.Toleration, taints []corev1.Taint) int64 {
	var untolerated int64
	for i := range taints {
		if taints[i].Effect == corev1.TaintEffectPreferNoSchedule &&
			!schedulinghelpers.TolerationsTolerateTaint(logr.Discard(), tolerations, &taints[i], true) {
			untolerated++
		}
	}
	if untolerated == 0 {
		return framework.FullScore
	}
	return framework.FullScore / 10 / untolerated
}

// imageNames writes image names as nodes report them: with a tag.
func imageNames(images []string) []string {
	names := make([]string, 0, len(images))
	for _, name := range images {
		if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
			name += ":latest"
		}
		names = append(names, name)
	}
	return names
}

// imageScore grows with the size of a task's images that are on the node, one count
// for each container. How many other nodes have them too is not looked at: what
// keeps tasks from crowding one node is its room.
func imageScore(names []string, there []corev1.ContainerImage) int64 {
	var size int64
	for _, name := range names {
		size = resource.Add(size, sizeOf(name, there))
	}
	return framework.Share(size-smallImages, largeImage*int64(len(names))-smallImages)
}

func sizeOf(name string, there []corev1.ContainerImage) int64 {
	for i := range there {
		if slices.Contains(there[i].Names, name) {
			return there[i].SizeBytes
		}
	}
	return 0
}
