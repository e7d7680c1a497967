package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// claim tells of a claim for devices, or of a template for them.
func (s *Sim) claim(w words) error {
	class, asks := w.named["class"], resourcev1.ExactDeviceRequest{}
	if class == "" {
		return errors.New("write class=NAME, the class of devices that it asks for")
	}
	var err error
	if asks.Count, err = w.number("count"); err != nil {
		return err
	}
	for _, key := range w.order {
		dimension, ok := strings.CutPrefix(key, "capacity.")
		if !ok {
			continue
		}
		n, err := amount(key, w.named[key])
		if err != nil {
			return err
		}
		if asks.Capacity == nil {
			asks.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]apiresource.Quantity{}}
		}
		asks.Capacity.Requests[resourcev1.QualifiedName(dimension)] = *apiresource.NewQuantity(n, apiresource.BinarySI)
	}
	asks.DeviceClassName = class
	spec := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "devices", Exactly: &asks}}}}
	if w.at(0) == "template" {
		s.engine.Apply(engine.ObjectSet{Object: &resourcev1.ResourceClaimTemplate{
			ObjectMeta: named(w.at(1)), Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec},
		}})
		return nil
	}
	s.engine.Apply(engine.ObjectSet{Object: &resourcev1.ResourceClaim{ObjectMeta: named(w.at(1)), Spec: spec}})
	return nil
}

// devices tells of a class and of its devices, all of one pool.
func (s *Sim) devices(w words) error {
	class := w.at(1)
	n, err := amount(class, w.at(2))
	if err != nil {
		return err
	}
	capacity := map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}
	for _, key := range w.order {
		each, err := amount(key, w.named[key])
		if err != nil {
			return err
		}
		capacity[resourcev1.QualifiedName(key)] = resourcev1.DeviceCapacity{Value: *apiresource.NewQuantity(each, apiresource.BinarySI)}
	}
	slice := &resourcev1.ResourceSlice{ObjectMeta: named(class), Spec: resourcev1.ResourceSliceSpec{
		Driver: class, AllNodes: new(true), Pool: resourcev1.ResourcePool{Name: class, ResourceSliceCount: 1},
	}}
	for i := range n {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint(i), Capacity: capacity})
	}
	s.engine.Apply(engine.ObjectSet{Object: &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec:       resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: class}}}},
	}}, engine.ObjectSet{Object: slice})
	return nil
}

// ofClass reports whether a device is one of the class that each selector names.
func ofClass(driver string, _ *resourcev1.Device, selectors []resourcev1.DeviceSelector) bool {
	return !slices.ContainsFunc(selectors, func(s resourcev1.DeviceSelector) bool { return s.CEL.Expression != driver })
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "sim", Name: name}
}

// claims reads the claims of a task: those that it shares, and one of its own by a template.
func (w words) claims(uid string) *model.Claims {
	var refs []model.ClaimRef
	for name := range strings.SplitSeq(w.named["claims"], ",") {
		if name != "" {
			refs = append(refs, model.ClaimRef{Key: "sim/" + name})
		}
	}
	if template := w.named["template"]; template != "" {
		refs = append(refs, model.ClaimRef{Key: uid + "/" + template, Template: "sim/" + template})
	}
	if refs == nil {
		return nil
	}
	return &model.Claims{Refs: refs}
}
